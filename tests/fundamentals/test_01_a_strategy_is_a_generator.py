"""1. A strategy is a generator that asks for things and is told what came of them.

It never searches, calls a model or reads a clock itself. It yields an *effect*, plain data that says what it wants, and
whoever drives it sends the reply back in. So a strategy can be read like the algorithm it is, and driven by hand.
"""

from __future__ import annotations

import pytest

from burnish import Answer, Outcome, Passage
from burnish.effects import Ask, Prompt, Reply, Retrieve, SearchQuery, Strategy, ask, retrieve

DANUBE = Passage("c1", "rivers", "Rivers", "The Danube is 2,850 km long.", 0, 28, "en", 1.0)


def look_it_up(question: str) -> Strategy:
    """The smallest strategy that is of use: search once, ask once."""
    passages = yield from retrieve(Retrieve((SearchQuery(question),), top_k=5, limit=5))
    if not passages:
        return Answer("I do not know.", Outcome.ABSTAINED)
    prompt = Prompt("answer", "Answer from the passage.", f"{passages[0].text}\n{question}", max_tokens=50)
    reply = yield from ask(Ask(prompt))
    return Answer(reply.text, Outcome.SUCCEEDED, evidence=passages)


def test_nothing_happens_until_it_is_asked_for_its_first_effect() -> None:
    strategy = look_it_up("How long is the Danube?")
    first = next(strategy)
    assert first == Retrieve((SearchQuery("How long is the Danube?"),), top_k=5, limit=5)


def test_the_reply_is_sent_in_and_the_next_effect_comes_out() -> None:
    strategy = look_it_up("How long is the Danube?")
    next(strategy)
    second = strategy.send((DANUBE,))
    assert isinstance(second, Ask)
    assert "2,850 km" in second.prompt.user


def test_its_last_word_is_an_answer() -> None:
    strategy = look_it_up("How long is the Danube?")
    next(strategy)
    strategy.send((DANUBE,))
    with pytest.raises(StopIteration) as finished:
        strategy.send(Reply("2,850 km"))
    answer: Answer = finished.value.value
    assert (answer.text, answer.outcome, answer.evidence) == ("2,850 km", Outcome.SUCCEEDED, (DANUBE,))


def test_told_the_same_things_it_asks_the_same_things() -> None:
    """This is all that resuming, auditing and replaying rest upon."""
    one, other = look_it_up("How long is the Danube?"), look_it_up("How long is the Danube?")
    assert next(one) == next(other)
    assert one.send((DANUBE,)) == other.send((DANUBE,))

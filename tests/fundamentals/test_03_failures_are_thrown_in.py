"""3. An effect that fails is thrown into the strategy, which may know what to do.

To fail is to raise `EffectFailed` or one of its kinds. Alone, the failure is thrown in where the effect was asked for;
among several that were asked for together it takes the place of the reply, so that one failure spoils no fan-out.
"""

from __future__ import annotations

from typing import Any

import pytest

from burnish import Answer, Outcome, StrategyConfig
from burnish.effects import Ask, Prompt, Reply, Retrieve, Strategy, Subquestion, ask, ask_together
from burnish.engine import run
from burnish.errors import BurnishError, EffectFailed, LanguageModelUnavailable


def ask_of(text: str) -> Ask:
    return Ask(Prompt("chat", "", text, max_tokens=10))


def fails_when_bad(effect: Retrieve | Ask) -> Reply:
    assert isinstance(effect, Ask)
    if "bad" in effect.prompt.user:
        raise LanguageModelUnavailable("it is overloaded")
    return Reply("fine")


def asked(question: str) -> Subquestion:
    return Subquestion(question, "toy", StrategyConfig(), depth=0)


def with_a_second_try(asked: Subquestion) -> Strategy:
    try:
        reply = yield from ask(ask_of(asked.question))
    except EffectFailed:
        reply = yield from ask(ask_of("something easier"))
    return Answer(reply.text, Outcome.SUCCEEDED)


def without(asked: Subquestion) -> Strategy:
    reply = yield from ask(ask_of(asked.question))
    return Answer(reply.text, Outcome.SUCCEEDED)


def several(asked: Subquestion) -> Strategy:
    replies = yield from ask_together(ask_of(word) for word in asked.question.split())
    shown = [type(reply).__name__ for reply in replies]
    return Answer(" ".join(shown), Outcome.SUCCEEDED)


def test_a_strategy_may_recover() -> None:
    assert run(asked("bad"), with_a_second_try, fails_when_bad).text == "fine"


def test_what_it_does_not_recover_from_ends_the_run() -> None:
    with pytest.raises(LanguageModelUnavailable, match="overloaded"):
        run(asked("bad"), without, fails_when_bad)


def test_among_several_a_failure_stands_in_its_place() -> None:
    assert run(asked("good bad good"), several, fails_when_bad).text == "Reply LanguageModelUnavailable Reply"


def test_running_again_with_the_journal_tries_again_what_ended_the_run() -> None:
    journal: dict[str, Any] = {}
    with pytest.raises(EffectFailed):
        run(asked("bad"), without, fails_when_bad, journal=journal)
    assert run(asked("bad"), without, lambda _effect: Reply("up again"), journal=journal).text == "up again"


def test_everything_that_burnish_raises_on_purpose_has_one_root() -> None:
    assert issubclass(EffectFailed, BurnishError)
    assert LanguageModelUnavailable.retryable
    assert not EffectFailed.retryable

"""2. The engine runs a strategy with a plain function, and keeps a journal.

`run` needs three things: what is asked, how to begin the strategy it names, and a function that performs effects. Every
reply goes into a journal, a dict, under a digest of the request. To resume a run is to run it again with its journal:
what is recorded is told to the strategy at once, and only what is missing is performed.
"""

from __future__ import annotations

from typing import Any

import pytest

from burnish import Answer, Outcome, StrategyConfig
from burnish.effects import Ask, Prompt, Reply, Retrieve, Strategy, Subquestion, ask, ask_together
from burnish.engine import run


def ask_of(text: str) -> Ask:
    return Ask(Prompt("chat", "", text, max_tokens=10))


def three_steps(asked: Subquestion) -> Strategy:
    """A first call, two at once, and an answer made of all three."""
    first = yield from ask(ask_of(f"first {asked.question}"))
    rest = yield from ask_together([ask_of(f"{first.text}, left"), ask_of(f"{first.text}, right")])
    texts = [reply.text for reply in rest if isinstance(reply, Reply)]
    return Answer(" + ".join([first.text, *texts]), Outcome.SUCCEEDED)


ASKED = Subquestion("q", "three steps", StrategyConfig(), depth=0)


class Echo:
    """Performs an Ask by shouting it back, and counts. It breaks off at the call whose number is given."""

    def __init__(self, breaks_at: int = -1) -> None:
        self.performed: list[str] = []
        self._breaks_at = breaks_at

    def __call__(self, effect: Retrieve | Ask) -> Reply:
        assert isinstance(effect, Ask)
        if len(self.performed) == self._breaks_at:
            self._breaks_at = -1
            raise KeyError("the process was killed here")
        self.performed.append(effect.prompt.user)
        return Reply(effect.prompt.user.upper())


def test_run_performs_what_the_strategy_asks_and_gives_its_answer() -> None:
    echo = Echo()
    answer = run(ASKED, three_steps, echo)
    assert answer.text == "FIRST Q + FIRST Q, LEFT + FIRST Q, RIGHT"
    assert sorted(echo.performed) == ["FIRST Q, left", "FIRST Q, right", "first q"]


def test_with_its_journal_a_finished_run_is_replayed_and_nothing_is_performed() -> None:
    journal: dict[str, Any] = {}
    answer = run(ASKED, three_steps, Echo(), journal=journal)
    again = Echo()
    assert run(ASKED, three_steps, again, journal=journal) == answer
    assert again.performed == []


def test_a_run_that_broke_off_goes_on_where_it_was() -> None:
    journal: dict[str, Any] = {}
    with pytest.raises(KeyError):
        run(ASKED, three_steps, Echo(breaks_at=1), journal=journal)
    resumed = Echo()
    assert run(ASKED, three_steps, resumed, journal=journal) == run(ASKED, three_steps, Echo())
    assert "first q" not in resumed.performed


def test_a_strategy_changed_under_way_keeps_the_replies_that_still_fit() -> None:
    """A journal is filed by request and not by position, so a step put in front of the others does not shift them."""

    def four_steps(asked: Subquestion) -> Strategy:
        yield from ask(ask_of("a new first step"))
        return (yield from three_steps(asked))

    journal: dict[str, Any] = {}
    run(ASKED, three_steps, Echo(), journal=journal)
    changed = Echo()
    run(ASKED, four_steps, changed, journal=journal)
    assert changed.performed == ["a new first step"]

"""Whoever asks to is told of each effect that it begins and ends, in the question's run and in those below it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from toys import CONFIG, asks_all, call, child, echo, note, search

from burnish.effects import Ask, Effect, Reply, Retrieve, Strategy, Subquestion, Together
from burnish.engine import arun
from burnish.errors import EffectFailed
from burnish.events import EffectBegun, EffectEnded

ROOT = Subquestion("root", "toy", CONFIG, 0)
Heard = list[EffectBegun | EffectEnded]


async def perform(effect: Retrieve | Ask) -> Reply:
    await asyncio.sleep(0)
    if isinstance(effect, Ask) and effect.prompt.user == "bad":
        raise EffectFailed("down")
    return echo(effect)


def asking(*effects: Effect) -> Callable[[Subquestion], Strategy]:
    return lambda _asked: asks_all(effects)


def heard(begin: Callable[[Subquestion], Strategy], journal: dict[str, Any] | None = None) -> Heard:
    events: Heard = []
    asyncio.run(arun(ROOT, begin, perform, journal=journal, observe=events.append))
    return events


def told(events: Heard) -> list[tuple[str, tuple[int, ...], int]]:
    return [(type(event).__name__[6:], event.path, event.position) for event in events]


def two_levels(asked: Subquestion) -> Strategy:
    return asks_all([call(asked.question)] if asked.depth else [search("q"), note(), child("below"), call("last")])


def test_effects_begin_and_end_in_their_order_with_where_they_stand() -> None:
    assert told(heard(two_levels)) == [
        *(("Begun", (), 0), ("Ended", (), 0), ("Begun", (), 1), ("Ended", (), 1)),
        *(("Begun", (), 2), ("Begun", (2,), 0), ("Ended", (2,), 0), ("Ended", (), 2)),
        *(("Begun", (), 3), ("Ended", (), 3)),
    ]


def test_an_effect_that_ends_brings_its_reply() -> None:
    ended = [event for event in heard(two_levels) if isinstance(event, EffectEnded)]
    assert [getattr(event.reply, "text", None) for event in ended] == ["Retrieve", None, "below", "below", "last"]


def test_what_is_asked_together_begins_before_any_of_it_ends() -> None:
    events = heard(asking(Together((call("a"), call("b"), call("c")))))
    assert [what for what, _, _ in told(events)] == ["Begun"] * 3 + ["Ended"] * 3


def test_a_failure_ends_an_effect_too() -> None:
    ended = [each for each in heard(asking(call("bad"))) if isinstance(each, EffectEnded)]
    assert isinstance(ended[0].reply, EffectFailed)


def test_what_the_journal_holds_is_not_told_again() -> None:
    journal: dict[str, Any] = {}
    assert heard(two_levels, journal)
    assert heard(two_levels, journal) == []


def test_an_effect_that_breaks_off_began_and_did_not_end() -> None:
    events: Heard = []

    async def broken(effect: Retrieve | Ask) -> Reply:
        raise KeyError(f"a fault of the caller's: {effect}")

    with pytest.raises(KeyError):
        asyncio.run(arun(ROOT, asking(call("a")), broken, observe=events.append))
    assert told(events) == [("Begun", (), 0)]

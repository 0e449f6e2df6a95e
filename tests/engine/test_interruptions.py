"""Wherever a run breaks off, and however often, it ends with the same answer and does nothing twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from toys import CONFIG, asks_all, call, child, echo, note, search

from burnish.effects import Effect, Reply, Strategy, Subquestion, Together
from burnish.engine import run
from burnish.errors import LanguageModelUnavailable

texts = st.sampled_from(["a", "b", "fails"])
calls = st.builds(call, texts, st.sampled_from([None, 1]))
children = st.builds(child, st.sampled_from(["x", "y"]))
togethers = st.lists(calls | children, max_size=3).map(lambda effects: Together(tuple(effects)))
plans = st.lists(calls | st.builds(search, texts) | st.just(note()) | children | togethers, max_size=6)
tree = st.fixed_dictionaries({"root": plans, "x": plans, "y": plans})


class Performer:
    """Echoes, and is killed before the calls whose numbers are given, counted over all runs."""

    def __init__(self, kills: set[int]) -> None:
        self.performed: Counter[str] = Counter()
        self._calls = 0
        self._kills = kills

    def __call__(self, effect: Any) -> Reply:
        self._calls += 1
        if self._calls in self._kills:
            raise InterruptedError
        self.performed[repr(effect)] += 1
        if "fails" in repr(effect):
            raise LanguageModelUnavailable("as it was told to")
        return echo(effect)


def beginning(plan: dict[str, list[Effect]]) -> Any:
    def begin(asked: Subquestion) -> Strategy:
        effects = plan[asked.question]
        too_deep = asked.depth >= 2
        return asks_all([effect for effect in effects if not (too_deep and _asks_children(effect))])

    return begin


def _asks_children(effect: Effect) -> bool:
    return isinstance(effect, Subquestion | Together)


def deeper(plan: dict[str, list[Effect]]) -> dict[str, list[Effect]]:
    """The plans of children ask children one deeper, so that the tree ends."""
    return plan | {name: [_deeper(effect) for effect in plan[name]] for name in ("x", "y")}


def _deeper(effect: Effect) -> Effect:
    if isinstance(effect, Together):
        return Together(
            tuple(child(each.question, 2) if isinstance(each, Subquestion) else each for each in effect.effects)
        )
    return child(effect.question, 2) if isinstance(effect, Subquestion) else effect


@given(tree, st.sets(st.integers(1, 30), max_size=6))
def test_interrupted_anywhere_a_run_ends_the_same_and_performs_nothing_twice(
    plan: dict[str, list[Effect]], kills: set[int]
) -> None:
    begin = beginning(deeper(plan))
    root = Subquestion("root", "toy", CONFIG, 0)
    undisturbed = Performer(set())
    expected = run(root, begin, undisturbed)

    journal: dict[str, Any] = {}
    performer = Performer(kills)
    answer = None
    while answer is None:
        try:
            answer = run(root, begin, performer, journal=journal, threads=2)
        except InterruptedError:
            continue
    assert answer == expected
    assert performer.performed == undisturbed.performed

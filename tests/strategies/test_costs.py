"""The fewest and the most calls and searches of every strategy, as its docstring states them.

Each is tried with a world that is kind and with one that is as bad as it may be, and compared with what the stated
formula gives for the configuration. The most is stated for replies that can be read, and with a model each of whose
replies can be read only when it is asked for once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

import pytest
from scripted import World, draft, judgement, passage, scores, sufficiency, support, use

from burnish.config import (
    AutoConfig,
    HyDEConfig,
    MultiHopConfig,
    RecursiveConfig,
    ReflectionConfig,
    SearchConfig,
    SelfIRAGConfig,
    StrategyConfig,
)
from burnish.effects import Ask, Retrieve
from burnish.errors import EffectFailed
from burnish.prompts.wording import once_more
from burnish.results import Passage
from burnish.strategies.registry import STRATEGY_NAMES

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "omicron")
PLAIN = "How long is alpha?"
HOPS = "How long is the river that alpha is built on?"
SEVERAL = "How long is alpha, and when and where and why does beta end?"
OPEN = "Up to how many kilometres a day did rowing boats once cover going down the long alpha?"


class Cost(NamedTuple):
    calls: int
    searches: int


class Case(NamedTuple):
    """A strategy, its configuration, a question, and the least, the most, and the most with unreadable replies."""

    strategy: str
    question: str
    config: StrategyConfig
    least: Cost
    most: Cost
    most_unreadable: Cost


def passages(request: Retrieve) -> list[Passage]:
    """Always something new, and always as much as is asked for."""
    stem = request.queries[0].text
    return [passage(f"{stem} {' '.join(WORDS)} {'x' * n}", n) for n in range(1, request.limit + 1)]


def kind() -> World:
    everything = draft("alpha", "alpha beta", **scores(5))
    return World(
        found=lambda request: passages(request)[:1],
        answer=everything,
        answer_and_judge=everything,
        judge=judgement(5),
        hypothesise="An imagined passage that is long enough to be searched with.",
        relevance="yes",
        support=support(),
        use=use(),
        sufficiency=sufficiency("yes"),
        think="So the answer is: alpha.",
    )


def as_bad_as_may_be(regenerations: int) -> dict[str, Callable[[Ask], str]]:
    """Replies that can be read and are never good enough, each unlike the one before it."""
    numbers = count()
    supports = iter([support("no")] * regenerations)

    def another(**more: Any) -> str:
        return draft(WORDS[next(numbers) % len(WORDS)], "alpha beta", **more)

    def told(each: str) -> Callable[[Ask], str]:
        return lambda _ask: each.replace("N", str(next(numbers)))

    def grow(ask: Ask) -> str:
        stem = ask.prompt.user.removeprefix("Question: ").partition("?")[0]
        return json.dumps({"sub_questions": [f"{stem} and how and why {n}?" for n in range(4)]})

    return {
        "answer": lambda _ask: another(),
        "rewrite": lambda _ask: another(),
        "answer_and_judge": lambda _ask: another(**scores(2), issues=["poor"], suggestions=[f"more {next(numbers)}"]),
        "judge": lambda _ask: judgement(2, issues=["poor"], suggestions=[f"more {next(numbers)}"]),
        "hypothesise": told("An imagined passage that is long enough to be searched with."),
        "relevance": told("yes"),
        "support": lambda _ask: next(supports, support()),
        "use": told(use("no")),
        "rephrase": told('{"query": "query N"}'),
        "sufficiency": told(sufficiency("no", "a fact", "query N")),
        "think": told("Thought number N goes on."),
        "decompose": grow,
        "merge": told('{"answer": "alpha"}'),
        "choose": told('{"reason": "", "strategy": "multi_hop"}'),
    }


def readable(regenerations: int) -> World:
    return World(found=passages, **as_bad_as_may_be(regenerations))


def unreadable_at_first(regenerations: int) -> World:
    """Every reply that is wanted as an object can be read only when it is asked for once more."""

    def slow(rule: Callable[[Ask], str]) -> Callable[[Ask], str]:
        def reply(ask: Ask) -> str:
            is_first = ask.prompt.schema is not None and ask.prompt.user != again(ask)
            return "Hmm {" if is_first else rule(ask)

        return reply

    return World(found=passages, **{name: slow(rule) for name, rule in as_bad_as_may_be(regenerations).items()})


def again(ask: Ask) -> str:
    """The user text of a prompt that is asked once more; its own, if it is that already."""
    ending = once_more(ask.prompt, "en").user.removeprefix(ask.prompt.user)
    return ask.prompt.user if ask.prompt.user.endswith(ending) else ask.prompt.user + ending


def direct() -> Case:
    return Case("direct", PLAIN, StrategyConfig(), Cost(1, 1), Cost(1, 1), Cost(2, 1))


def self_irag(n: int, *, fast: bool, early: bool = True) -> Case:
    config = SelfIRAGConfig(max_refinement_iterations=n, fast_mode=fast, early_stopping=early)
    each = 1 if fast else 2
    least = Cost(each, 1) if early else Cost(each * n, n)
    return Case(
        "self_irag",
        PLAIN,
        StrategyConfig(self_irag=config),
        least,
        Cost(each * n, n),
        Cost(5 * n if fast else 4 * n, n),
    )


def hyde(n: int) -> Case:
    config = StrategyConfig(hyde=HyDEConfig(num_hypothetical_docs=n))
    return Case("hyde", PLAIN, config, Cost(n + 1, 1), Cost(n + 1, 1), Cost(n + 2, 1))


def recursive(depth: int) -> Case:
    """Taken apart into four at each level; the questions of the last one are answered as they are."""
    config = StrategyConfig(recursive=RecursiveConfig(max_depth=depth, max_nodes=1000))
    apart, leaves = sum(4**level for level in range(depth)), 4**depth
    most = 2 * apart + leaves
    return Case("recursive", SEVERAL, config, Cost(1, 1), Cost(most, leaves), Cost(2 * most, leaves))


def self_rag(p: int, regenerations: int, rewrites: int) -> Case:
    config = StrategyConfig(
        search=SearchConfig(top_k=p, max_passages=50),
        self_rag=ReflectionConfig(max_regenerations=regenerations, max_rewrites=rewrites),
    )
    grades, others = p * (rewrites + 1), 4 * rewrites + 2 * regenerations + 3
    most, worst = Cost(grades + others, rewrites + 1), Cost(grades + 2 * others, rewrites + 1)
    return Case("self_rag", PLAIN, config, Cost(1 + 3, 1), most, worst)


def multi_hop(hops: int) -> Case:
    config = StrategyConfig(multi_hop=MultiHopConfig(max_hops=hops))
    return Case("multi_hop", PLAIN, config, Cost(1, 1), Cost(hops, hops), Cost(2 * hops, hops))


def interleaved(thoughts: int) -> Case:
    config = StrategyConfig(multi_hop=MultiHopConfig(mode="interleaved", max_thoughts=thoughts))
    least, most = Cost(2, 1), Cost(thoughts + 1, thoughts + 1)
    return Case("multi_hop", PLAIN, config, least, most, Cost(thoughts + 2, thoughts + 1))


def auto() -> Case:
    """The model chooses multi_hop; an unreadable choice is SelfIRAG, three iterations of five calls."""
    config = StrategyConfig(
        auto=AutoConfig(candidates=("self_irag", "multi_hop")), multi_hop=MultiHopConfig(trust_words=False)
    )
    return Case("auto", OPEN, config, Cost(1, 1), Cost(1 + 3, 3), Cost(1 + 15, 3))


CASES = [
    direct(),
    *(self_irag(n, fast=fast) for n in (1, 3, 4) for fast in (True, False)),
    self_irag(3, fast=True, early=False),
    *(hyde(n) for n in (1, 3, 16)),
    *(recursive(depth) for depth in (1, 2, 3)),
    *(self_rag(*each) for each in ((5, 2, 2), (3, 0, 0), (4, 3, 1), (1, 0, 4))),
    *(multi_hop(hops) for hops in (1, 3, 7)),
    *(interleaved(thoughts) for thoughts in (1, 6)),
    auto(),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.strategy} {case.most}")


def cost(world: World, case: Case, question: str) -> Cost:
    with suppress(EffectFailed):
        world.answer(question, case.strategy, case.config)
    return Cost(len(world.calls), len(world.searches))


@every_case
def test_the_least_is_as_stated(case: Case) -> None:
    assert cost(kind(), case, PLAIN) == case.least


@every_case
def test_the_most_is_as_stated(case: Case) -> None:
    question = HOPS if case.strategy == "multi_hop" else case.question
    assert cost(readable(case.config.self_rag.max_regenerations), case, question) == case.most


@every_case
def test_the_most_with_replies_that_can_be_read_only_the_second_time_is_as_stated(case: Case) -> None:
    question = HOPS if case.strategy == "multi_hop" else case.question
    assert cost(unreadable_at_first(case.config.self_rag.max_regenerations), case, question) == case.most_unreadable


def test_every_strategy_is_among_them() -> None:
    assert {case.strategy for case in CASES} == set(STRATEGY_NAMES)


def test_three_fast_iterations_take_three_calls_with_the_rewrites_folded_in_and_scored() -> None:
    world = readable(0)
    answer = world.answer(PLAIN, "self_irag")
    assert (len(world.calls), answer.trace["iterations"]) == (3, 3)
    assert world.kinds == ["answer_and_judge"] * 3
    assert all("<answer>" in user for user in world.shown("answer_and_judge")[1:]), "each is a rewrite of the last"


@pytest.mark.parametrize("part", [SEVERAL, "What and how and why is all of it, in the end?"])
def test_identical_sub_questions_at_every_level_take_no_more_than_six_calls(part: str) -> None:
    world = World(
        found=passages,
        answer=draft("alpha", "alpha beta"),
        decompose=json.dumps({"sub_questions": [part] * 4}),
        merge='{"answer": "alpha"}',
    )
    world.answer(SEVERAL, "recursive")
    assert len(world.calls) <= 6


@pytest.mark.parametrize("strategy", STRATEGY_NAMES)
def test_hyde_as_the_retriever_adds_its_passages_to_every_search_and_no_search(strategy: str) -> None:
    plain, chained = kind(), kind()
    plain.answer(PLAIN, strategy)
    config = StrategyConfig(search=SearchConfig(retriever="hyde"), hyde=HyDEConfig(num_hypothetical_docs=2))
    chained.answer(PLAIN, strategy, config)
    assert len(chained.searches) == len(plain.searches)
    if strategy != "hyde":
        assert len(chained.calls) == len(plain.calls) + 2 * len(plain.searches)

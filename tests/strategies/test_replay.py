"""A strategy is a function of the replies: the same replies, the same asks; and what was replied is not asked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from scripted import draft, passage, scores

from burnish.config import (
    HyDEConfig,
    MultiHopConfig,
    RecursiveConfig,
    ReflectionConfig,
    SearchConfig,
    SelfIRAGConfig,
    StrategyConfig,
)
from burnish.effects import Ask, Reply, Retrieve, Subquestion
from burnish.engine import request_digest, run
from burnish.errors import LanguageModelUnavailable
from burnish.results import Answer, Passage
from burnish.strategies.registry import begin

SEVERAL = "How long is the Danube, and when and where and why does it rise?"
HOPS = "How long is the river that the city of Vienna is built on?"
ARABIC = "ما طول النهر الذي تقع مدينة فيينا على ضفته في النمسا؟"
GRADED = StrategyConfig(self_rag=ReflectionConfig(mode="graded"))
RUNS: list[tuple[str, str, StrategyConfig]] = [
    ("direct", HOPS, StrategyConfig(search=SearchConfig(grade_passages=True))),
    ("self_irag", HOPS, StrategyConfig()),
    ("self_irag", ARABIC, StrategyConfig(self_irag=SelfIRAGConfig(fast_mode=False))),
    ("hyde", HOPS, StrategyConfig()),
    ("recursive", SEVERAL, StrategyConfig(recursive=RecursiveConfig(leaf="self_rag", max_depth=2))),
    ("self_rag", HOPS, StrategyConfig(search=SearchConfig(retriever="hyde"), hyde=HyDEConfig(num_hypothetical_docs=2))),
    ("self_rag", ARABIC, GRADED),
    ("multi_hop", HOPS, StrategyConfig()),
    ("multi_hop", ARABIC, StrategyConfig(multi_hop=MultiHopConfig(mode="interleaved"))),
    ("auto", SEVERAL + " And what of the river that it joins?", StrategyConfig()),
]
every_run = pytest.mark.parametrize(
    ("strategy", "question", "config"), RUNS, ids=[f"{n}-{run[0]}" for n, run in enumerate(RUNS)]
)


def perform(effect: Retrieve | Ask) -> Any:
    """A world without memory: what it replies depends on what is asked alone, and is not always of use."""
    digest = hashlib.sha256(request_digest(effect).encode()).digest()
    chance = digest[0]
    if isinstance(effect, Retrieve):
        return tuple(found(digest, n) for n in range(1, 4))
    if chance < 20:
        return Reply("Let me think.", truncated=True)
    says: dict[str, Callable[[int, int], str]] = {
        "relevance": lambda a, _b: "yes" if a % 4 else "no",
        "support": lambda a, b: json.dumps({"supported": ("yes", "no", "partly")[a % 3], "unsupported": [f"it {b}"]}),
        "use": lambda a, b: json.dumps({"useful": ("yes", "no")[a % 2], "utility": 1 + b % 5}),
        "rephrase": lambda a, b: json.dumps({"query": f"query {a} {b}"}),
        "sufficiency": lambda a, b: json.dumps({"sufficient": "no", "next_query": f"query {a} {b}"}),
        "think": lambda a, b: f"Thought {a} {b} leads on.",
        "hypothesise": lambda a, b: f"An imagined passage of more than forty characters, {a} {b}.",
        "decompose": lambda a, b: json.dumps(
            {"sub_questions": [f"How and when and why is part {a} so?", f"What {b}?"]}
        ),
        "merge": lambda a, b: json.dumps({"answer": f"text {a} or {b}"}),
        "choose": lambda _a, _b: json.dumps({"reason": "chance", "strategy": "self_irag"}),
    }
    judged = draft(f"text {digest[1]}", "text", **scores(1 + chance % 4), suggestions=[f"more {digest[2]}"])
    return Reply(says.get(effect.prompt.kind, lambda _a, _b: judged)(digest[1], digest[2]))


def found(digest: bytes, n: int) -> Passage:
    return passage(f"A text {digest[n] % 16} of several.", 1 + digest[n] % 16)


def answer(asked: Subquestion, act: Callable[[Retrieve | Ask], Any], journal: dict[str, Any]) -> Answer:
    return run(asked, begin, act, journal=journal, threads=1)


def all_of(strategy: str, question: str, config: StrategyConfig) -> tuple[Answer, list[str], dict[str, Any]]:
    """The answer, all that was asked (in no order: sub-questions run beside each other), and the journal."""
    asked, journal = list[str](), dict[str, Any]()

    def act(effect: Retrieve | Ask) -> Any:
        asked.append(request_digest(effect))
        return perform(effect)

    return answer(Subquestion(question, strategy, config, depth=0), act, journal), sorted(asked), journal


@every_run
def test_the_same_replies_give_the_same_asks_and_the_same_answer(
    strategy: str, question: str, config: StrategyConfig
) -> None:
    first, second = all_of(strategy, question, config), all_of(strategy, question, config)
    assert first == second
    assert len(first[1]) >= 2


@every_run
def test_a_finished_run_is_replayed_from_its_journal_without_an_ask(
    strategy: str, question: str, config: StrategyConfig
) -> None:
    expected, _, journal = all_of(strategy, question, config)

    def refuse(effect: Retrieve | Ask) -> Any:
        raise AssertionError(f"asked again: {effect}")

    assert answer(Subquestion(question, strategy, config, depth=0), refuse, journal) == expected


class Killed(BaseException):
    """The process is gone: nobody catches it."""


@every_run
def test_a_run_that_is_cut_off_anywhere_goes_on_and_asks_nothing_twice(
    strategy: str, question: str, config: StrategyConfig
) -> None:
    expected, asked, _ = all_of(strategy, question, config)
    asked_before, journal = list[str](), dict[str, Any]()
    step = max(1, len(asked) // 7)
    while True:
        limit = len(asked_before) + step

        def act(effect: Retrieve | Ask, limit: int = limit) -> Any:
            if len(asked_before) >= limit:
                raise Killed
            asked_before.append(request_digest(effect))
            return perform(effect)

        try:
            resumed = answer(Subquestion(question, strategy, config, depth=0), act, journal)
        except Killed:
            continue
        break
    assert resumed == expected
    assert sorted(asked_before) == asked


class FailingOnce:
    """Performs all but the ask of this number."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, effect: Retrieve | Ask) -> Any:
        self._left -= 1
        if self._left == -1:
            raise LanguageModelUnavailable("down")
        return perform(effect)


@every_run
def test_whatever_fails_it_ends_in_an_answer_or_in_that_failure(
    strategy: str, question: str, config: StrategyConfig
) -> None:
    _, asked, _ = all_of(strategy, question, config)
    endings: set[str] = set()
    for number in range(0, len(asked), max(1, len(asked) // 12)):
        try:
            ended = answer(Subquestion(question, strategy, config, depth=0), FailingOnce(number), {})
        except LanguageModelUnavailable:
            endings.add("failure")
        else:
            assert ended.text
            endings.add("answer")
    assert "answer" in endings, "it recovers from none"

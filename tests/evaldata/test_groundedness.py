"""Answers that people have called grounded or not: what comparison alone makes of them, and how a judge's word is read.

HaluEval QA pairs right answers with invented ones; BEGIN has labels by people for sentences of chat models. "Grounded"
is the positive class. Our share of words is compared with the data's own line of lexical code, which a grader must
beat to add anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.config import ReflectionConfig, SelfIRAGConfig, StrategyConfig
from burnish.prompts.wording import inert
from burnish.results import Evaluation, RefinementStep
from burnish.strategies.attempts import is_contradicted
from burnish.strategies.evidence import check, holds
from burnish.text.metrics import auroc
from burnish.verdicts import Draft
from tests.strategies.scripted import World, draft, judgement, passage, support, use

ONCE = StrategyConfig(self_irag=SelfIRAGConfig(max_refinement_iterations=1, fast_mode=False))
BINARY = StrategyConfig(self_rag=ReflectionConfig(mode="binary", max_regenerations=0, max_rewrites=0))
GRADED = StrategyConfig(self_rag=ReflectionConfig(mode="graded", max_regenerations=0, max_rewrites=0))
WRAPPED = "Here is my verdict:\n```json\n{}\n```\nI hope that this helps."


@dataclass(frozen=True)
class Case:
    context: str
    question: str
    response: str
    grounded: bool


def cases_of(evaldata: Path, name: str) -> list[Case]:
    lines = (evaldata / "dev" / f"grounding-{name}" / "cases.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Case(row["context"], row["question"], row["response"], row["grounded"]) for row in rows]


def compared(case: Case) -> Evaluation:
    """What the comparison with the evidence says of an answer whose quote stands in it."""
    words = " ".join(case.context.split()[:8])
    return check(Evaluation(), Draft(case.response, words, None), [passage(case.context)])


def share_right(cases: Sequence[Case], said: Sequence[bool]) -> float:
    return sum(each == case.grounded for case, each in zip(cases, said, strict=True)) / len(cases)


# A little below what is measured: .886, .858 and .681 for HaluEval, .933, .855 and .692 for BEGIN.
@pytest.mark.parametrize(
    ("name", "least_area", "least_when_overruling", "least_when_contradicting"),
    [("halueval-qa", 0.88, 0.845, 0.67), ("begin-wow", 0.928, 0.845, 0.685)],
)
def test_comparison_tells_grounded_answers_from_others(
    evaldata: Path, name: str, least_area: float, least_when_overruling: float, least_when_contradicting: float
) -> None:
    cases = cases_of(evaldata, name)
    evaluations = [compared(case) for case in cases]
    area = auroc((each.grounding or 0.0, case.grounded) for case, each in zip(cases, evaluations, strict=True))
    overruling = share_right(
        cases, [holds("x", Evaluation(supported=False, grounding=e.grounding)) for e in evaluations]
    )
    contradicting = share_right(cases, [not is_contradicted(each) for each in evaluations])
    theirs = lexical_area(evaldata, name)
    print(
        f"{name}: AUROC {area:.4f} (lexical reference {theirs}); right at what overrules a judge's no "
        f"{overruling:.4f}, at what contradicts a judge's yes {contradicting:.4f}, {len(cases)} cases"
    )
    assert area >= max(least_area, theirs)
    assert overruling >= least_when_overruling
    assert contradicting >= least_when_contradicting


def lexical_area(evaldata: Path, name: str) -> float:
    rows: list[dict[str, Any]] = json.loads((evaldata / "published/our_grounding_baseline.json").read_text("utf-8"))
    return next(row["auc_dev"] for row in rows if row["set"] == f"grounding-{name}")


@pytest.mark.parametrize("name", ["halueval-qa", "begin-wow"])
def test_a_judge_of_self_irag_is_asked_and_read_for_every_case(evaldata: Path, name: str) -> None:
    for case in cases_of(evaldata, name):
        said = json.loads(judgement(4, "yes" if case.grounded else "no")) | {"context_says": case.context}
        world = world_of(case, judge=said)
        world.answer(case.question, "self_irag", ONCE)
        assert_shown(world, "judge", case)
        evaluation = judged(world)
        assert evaluation.supported is case.grounded
        assert (evaluation.relevance, evaluation.clarity) == (0.8, 0.8)


@pytest.mark.parametrize(("config", "whole"), [(BINARY, "yes"), (GRADED, "fully")], ids=["binary", "graded"])
@pytest.mark.parametrize("name", ["halueval-qa", "begin-wow"])
def test_a_judge_of_self_rag_is_asked_and_read_for_every_case(
    evaldata: Path, name: str, config: StrategyConfig, whole: str
) -> None:
    for case in cases_of(evaldata, name):
        told = support(whole) if case.grounded else support("no", case.response)
        world = world_of(case, support=json.loads(told) | {"context_says": case.context})
        world.answer(case.question, "self_rag", config)
        assert_shown(world, "support", case)
        assert judged(world).supported is case.grounded


def world_of(case: Case, **judges: dict[str, Any]) -> World:
    """The case as a search, an answer and a judge's word, which comes amid chatter."""
    said = {kind: WRAPPED.format(json.dumps(value, ensure_ascii=False)) for kind, value in judges.items()}
    return World(found=[passage(case.context)], relevance="yes", answer=draft(case.response), use=use(), **said)


def assert_shown(world: World, kind: str, case: Case) -> None:
    [shown] = world.shown(kind)
    assert f"<answer>{inert(case.response)}</answer>" in shown
    assert inert(case.context) in shown
    assert inert(case.question) in shown


def judged(world: World) -> Evaluation:
    [step] = [record for record in world.records if isinstance(record, RefinementStep)]
    return step.evaluation

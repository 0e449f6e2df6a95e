from __future__ import annotations

import importlib.util
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from burnish.text.metrics import (
    Norm,
    all_at_k,
    auroc,
    average_precision,
    covers,
    exact_match,
    f1,
    mrr,
    ndcg_at_k,
    normalised_words,
    recall_at_k,
)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_best_of_several_gold_answers_counts() -> None:
    golds = ["New York", "NYC"]
    assert exact_match("nyc!", golds) == 1
    assert f1("York", golds) == pytest.approx(2 / 3)
    assert covers("It was in New York City.", golds, "squad") == 1
    assert exact_match("Boston", golds) == f1("Boston", golds) == covers("Boston", golds) == 0


def test_no_gold_answers_score_nothing() -> None:
    assert exact_match("a", []) == f1("a", []) == covers("a", []) == 0


def test_squad_joins_what_punctuation_parts_and_fold_parts_it() -> None:
    assert normalised_words("The  Eiffel-Tower, a.", "squad") == ["eiffeltower"]
    assert normalised_words("The  Eiffel-Tower, a.", "fold") == ["eiffel", "tower"]


def test_fold_reads_arabic_spellings_as_one() -> None:
    assert exact_match("الْقَاهِرَة", ["القاهره"]) == 1
    assert exact_match("الْقَاهِرَة", ["القاهره"], "squad") == 0
    assert exact_match("٤٠٠ عام", ["400 عام"]) == 1
    assert normalised_words("والكتاب رسالة", "fold") == ["وكتاب", "رساله"]


def test_covering_needs_whole_words_in_an_unbroken_run() -> None:
    assert covers("standard", ["and"]) == 0
    assert covers("New big York", ["New York"]) == 0
    assert covers("anything", ["..."]) == 0


def test_rankings_score_as_worked_out_by_hand() -> None:
    grades = {"a": 3, "b": 2, "c": 0, "d": 1, "e": 1}
    ranked = ["a", "c", "b", "x", "d"]
    assert ndcg_at_k(ranked, grades, 5) == pytest.approx((3 + 1 + 0.386853) / (3 + 1.261860 + 0.5 + 0.430677), abs=1e-5)
    assert recall_at_k(ranked, grades, 5) == 0.75
    assert recall_at_k(ranked, grades, 2) == 0.25
    assert all_at_k(ranked, grades, 5) == 0
    assert all_at_k([*ranked, "e"], grades, 6) == 1
    assert mrr(["c", "x", "b"], grades) == pytest.approx(1 / 3)
    assert mrr(["c", "x", "b"], grades, 2) == 0
    assert average_precision(ranked, grades) == pytest.approx((1 + 2 / 3 + 3 / 5) / 4)


def test_a_document_ranked_twice_earns_once() -> None:
    assert ndcg_at_k(["a", "a"], {"a": 1}, 2) == 1
    assert recall_at_k(["a", "a", "b"], {"a": 1, "b": 1}, 2) == 1


def test_nothing_relevant_scores_zero() -> None:
    assert ndcg_at_k(["a"], {"a": 0}, 3) == recall_at_k(["a"], {}, 3) == mrr(["a"], {}) == all_at_k(["a"], {}, 1) == 0


@pytest.mark.parametrize(
    ("scored", "area"),
    [
        ([(0.9, True), (0.1, False)], 1.0),
        ([(0.1, True), (0.9, False)], 0.0),
        ([(0.5, True), (0.5, False)], 0.5),
        ([(0.9, True), (0.4, True), (0.4, False), (0.6, False)], 0.625),
        ([(0.9, True), (0.4, True)], 0.5),
        ([], 0.5),
    ],
)
def test_the_area_under_the_curve_is_the_chance_to_rank_a_true_case_higher(
    scored: list[tuple[float, bool]], area: float
) -> None:
    assert auroc(scored) == area


def test_rankings_agree_with_the_published_cases(evaldata: Path) -> None:
    cases = read_lines(evaldata / "common" / "metric-conformity" / "cases.jsonl")
    assert len(cases) == 44
    for case in cases:
        ranked, grades = case["ranked"], case["grades"]
        k = len(ranked) + len(grades)
        scores = {
            "hit": float(mrr(ranked, grades) > 0),
            "mrr": mrr(ranked, grades),
            "recall": recall_at_k(ranked, grades, k),
            "map": average_precision(ranked, grades),
            "ndcg": ndcg_at_k(ranked, grades, k),
        }
        assert scores[case["metric"]] == pytest.approx(case["expected"], abs=1e-4), case["id"]


@pytest.mark.parametrize("norm", ["squad", "fold"])
@pytest.mark.parametrize("name", ["xquad", "arcd", "musique"])
def test_answers_score_as_the_reference_scorer_scores_them(evaldata: Path, norm: Norm, name: str) -> None:
    spec = importlib.util.spec_from_file_location("reference_scorer", evaldata / "score.py")
    assert spec is not None
    assert spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    normalise = reference.NORMS[norm]
    questions = read_lines(evaldata / "dev" / name / "questions.jsonl")[::4]
    for question, other in pairwise(questions):
        gold = question["answers"][0]
        for prediction in (other["answers"][0], question["question"], f"it is the {gold}، yes.", gold):
            ours = (
                exact_match(prediction, [gold], norm),
                f1(prediction, [gold], norm),
                covers(prediction, [gold], norm),
            )
            theirs = tuple(
                score(prediction, gold, normalise, "") for score in (reference.exact, reference.f1, reference.covers)
            )
            assert ours == pytest.approx(theirs)

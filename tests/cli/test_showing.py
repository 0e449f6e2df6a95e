"""What is shown: verdicts by the rule of the examples, pace, costs."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.commands.batches import left_alone
from burnish.commands.grading import Verdict, verdict_on
from burnish.commands.showing import cost_in_words, shortened
from burnish.commands.watching import Pace

ONE: dict[str, Any] = {"answers": ["20:00", "8 pm"]}
BOTH: dict[str, Any] = {"all_of": [["1958"], ["Leila Marwan"]]}
NOTHING: dict[str, Any] = {"answers": []}


@pytest.mark.parametrize(
    ("gold", "outcome", "answer", "verdict"),
    [
        (ONE, "succeeded", "At 8 pm.", Verdict.RIGHT),
        (ONE, "succeeded", "At 18 pm.", Verdict.WRONG),
        (ONE, "abstained", "The documents hold no answer to this question.", Verdict.WRONGLY_ABSTAINED),
        (ONE, "failed", "20:00", Verdict.NO_ANSWER),
        (ONE, None, None, Verdict.NO_ANSWER),
        (BOTH, "succeeded", "In 1958; by LEILA MARWAN", Verdict.RIGHT),
        (BOTH, "succeeded", "In 1958", Verdict.WRONG),
        (NOTHING, "abstained", "", Verdict.RIGHTLY_ABSTAINED),
        (NOTHING, "succeeded", "It is blue", Verdict.WRONG),
        ({"answers": ["30"]}, "succeeded", "٣٠ يومًا", Verdict.RIGHT),
        ({"answers": ["القمر"]}, "succeeded", "بسبب جاذبية القَمَر", Verdict.RIGHT),
    ],
)
def test_an_answer_is_judged_by_whole_words_after_folding(
    gold: dict[str, Any], outcome: str | None, answer: str | None, verdict: Verdict
) -> None:
    assert verdict_on(gold, outcome, answer) is verdict


def test_a_pace_counts_only_what_was_done_while_watching() -> None:
    pace = Pace(began=100.0, before=10)
    assert pace.a_minute(10, now=130.0) is None
    assert pace.a_minute(15, now=130.0) == 10
    assert pace.seconds_left(15, total=25, now=130.0) == 60
    assert pace.seconds_left(25, total=25, now=130.0) == 0


@pytest.mark.parametrize(
    ("cost", "calls", "unpriced", "words"),
    [
        (0, 0, 0, "$0.00"),
        (0, 3, 0, "$0.00"),
        (0.00123, 3, 0, "$0.0012"),
        (12.5, 3, 0, "$12.50"),
        (0, 3, 3, "price unknown"),
        (0.5, 3, 1, "$0.5000 and calls of unknown price"),
    ],
)
def test_a_cost_says_what_is_not_known_of_it(cost: float, calls: int, unpriced: int, words: str) -> None:
    assert cost_in_words({"cost_usd": cost, "calls": calls, "unpriced_calls": unpriced}) == words


def test_a_long_text_is_cut_at_a_word_and_put_in_one_line() -> None:
    assert shortened("one\n two  three", 100) == "one two three"
    assert shortened("one two three", 9) == "one two …"


def test_a_retry_tells_what_it_left_alone() -> None:
    job = {"counts": {"queued": 3, "succeeded": 4, "failed": 0, "cancelled": 2, "expired": 0, "budget_exceeded": 1}}
    assert left_alone(job, ["failed"]).startswith("not asked again: 2 cancelled, 1 budget_exceeded;")
    assert left_alone(job, ["failed", "cancelled"]).startswith("not asked again: 1 budget_exceeded;")
    assert left_alone(job, ["cancelled", "budget_exceeded"]) == ""

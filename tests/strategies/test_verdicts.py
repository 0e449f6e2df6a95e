"""What a model wrote is read where it can be, and is unknown where it cannot; it never raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.verdicts import (
    Draft,
    read_draft,
    read_evaluation,
    read_merged,
    read_object,
    read_score,
    read_sub_questions,
    read_texts,
    read_yes_or_no,
)

GOOD = '{"quote": "q", "answer": "a", "supported": "yes"}'
A = Draft("a", "q", True)


@pytest.mark.parametrize(
    ("given", "score"),
    [
        *((5, 1.0), (4, 0.8), (0, 0.0), (4.5, 0.9), ("4", 0.8), (" 4 ", 0.8), ("4.5", 0.9), ("4,5", 0.9)),
        *(("٤", 0.8), ("٤٫٥", 0.9), ("۴", 0.8), ("+4", 0.8)),
        *(
            ("90%", 0.9),
            ("90 %", 0.9),
            ("٩٠٪", 0.9),
            ("9/10", 0.9),
            ("9 out of 10", 0.9),
            ("٩ من ١٠", 0.9),
            ("٩/١٠", 0.9),
        ),
        *((6, None), (-1, None), ("-1", None), (90, None), ("110%", None), ("11/10", None), ("1/0", None)),
        *((True, None), (False, None), (None, None), ([4], None), ({"score": 4}, None), ("", None), ("good", None)),
        *((float("nan"), None), (float("inf"), None), (float("-inf"), None), ("NaN", None), (10**400, None)),
        *(("9" * 400, None), ("On a scale of 10: 2", None), ("4 5", None), ("0.9.1", None), (".", None), ("½", None)),
    ],
)
def test_a_score_on_a_scale_of_five(given: Any, score: float | None) -> None:
    assert read_score(given, 5) == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(("given", "scale", "score"), [(9, 10, 0.9), (0.9, 1, 0.9), (90, 100, 0.9), (1, 0, None)])
def test_a_score_is_taken_on_its_stated_scale(given: float, scale: float, score: float | None) -> None:
    assert read_score(given, scale) == score


def test_marks_between_0_and_1_show_that_all_of_them_are_shares() -> None:
    evaluation = read_evaluation('{"relevance": 0.9, "accuracy": "0.5", "completeness": 1.0, "clarity": 4}')
    assert evaluation
    assert (evaluation.relevance, evaluation.accuracy, evaluation.completeness) == (0.9, 0.5, 1.0)
    assert evaluation.clarity is None, "four shares of one are none"


def test_the_lowest_mark_is_not_taken_for_a_share() -> None:
    evaluation = read_evaluation('{"relevance": 1, "accuracy": 1, "completeness": 1, "clarity": 1}')
    assert evaluation
    assert evaluation.confidence == pytest.approx(0.2)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here you are: {GOOD} I hope it helps {{really}}.",
        f"Of the set {{1, 2}} I say {GOOD}",
        f'<think>perhaps {{"answer": "b"}}?</think>\n{GOOD}',
        f"{GOOD}\n\nQuestion: Another?\n{GOOD.replace('a', 'b')}",
        f"[{GOOD}]",
        "{'quote': 'q', 'answer': 'a', 'supported': 'yes'}",
        "{quote: 'q', answer: 'a', supported: yes}",
        '{"quote": "q", "answer": "a", "supported": "yes",}',
        '{"quote": "q", "answer": "a", "supported": "yes"',
        '{"quote": "q", "answer": "a", "supported": true}',
        '{"Quote": "q", "ANSWER": " a\\n", " Supported": "Yes."}',
        '{"result": {"quote": "q", "answer": "a", "supported": "yes"}}',
        '{"answer": "a", "evaluation": {"supported": "yes"}, "quote": "q"}',
        "{“quote”: “q”, “answer”: “a”, “supported”: “yes”}",
    ],
)
def test_a_draft_is_read_through_what_models_put_around_it(text: str) -> None:
    assert read_draft(text) == A


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "null",
        "5",
        "[]",
        "{}",
        '{"quote": "q"}',
        '{"answer": ["a"]}',
        '{"answer": {"b": 1}}',
        '{"answer": true}',
    ],
)
def test_what_holds_no_answer_is_no_draft(text: str) -> None:
    assert read_draft(text) is None


def test_answers_may_be_numbers_and_no_answer_may_be_null() -> None:
    for text, answer in (('{"answer": 1900}', "1900"), ('{"answer": 3.5}', "3.5"), ('{"answer": null}', "")):
        assert read_draft(text) == Draft(answer, "", None)
    assert read_draft('{"answer": NaN}') == read_draft('{"answer": Infinity}') == Draft("", "", None)


def test_what_no_store_can_hold_is_taken_out() -> None:
    assert read_draft('{"answer": "a\\u0000b\\ud800c", "quote": "q\\u0001"}') == Draft("abc", "q", None)
    assert read_texts(["x\u0000", "\ud800"]) == ("x",)
    assert read_sub_questions('["who\\u0000 is it?", "\\u0000"]') == ("who is it?",)
    assert read_merged('{"answer": "a\\ud800"}') == read_merged("a\ud800") == "a"


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        *(
            ("yes", True),
            ("Yes, fully.", True),
            ("fully supported", True),
            ("true", True),
            ("نعم", True),
            ("نَعَمْ", True),
        ),
        *(("no", False), ("No: the number differs", False), ("not supported", False), ("unsupported", False)),
        *(("none", False), ("لا", False), ("كلا", False), (True, True), (False, False)),
        *(("partly", None), ("not sure", None), ("", None), ("maybe", None), (1, None), (None, None), ([], None)),
        *(("yesterday", None), ("notable", None), ("nothing", None), ("?!", None)),
    ],
)
def test_yes_and_no_are_plain_or_unknown(text: Any, supported: bool | None) -> None:
    assert read_yes_or_no(text) is supported


@pytest.mark.parametrize("text", ["", "good", "[]", "3", '{"score": 5}', '{"answer": "a", "quote": "q"}'])
def test_what_judges_nothing_is_no_evaluation(text: str) -> None:
    assert read_evaluation(text) is None


def test_scores_that_cannot_be_read_are_unknown_one_by_one() -> None:
    evaluation = read_evaluation(
        '{"relevance": 5, "accuracy": "high", "clarity": null, "issues": "one", "supported": 3}'
    )
    assert evaluation
    assert (evaluation.relevance, evaluation.accuracy, evaluation.completeness, evaluation.clarity) == (
        1,
        None,
        None,
        None,
    )
    assert (evaluation.supported, evaluation.issues, evaluation.suggestions) == (None, ("one",), ())
    assert evaluation.confidence is None


def test_lists_keep_their_texts_and_no_more_than_a_few() -> None:
    assert read_texts(["a", 1, None, " b ", "", ["c"], {"d": 1}, "e", "f", "g"]) == ("a", "b", "e", "f")
    assert read_texts(None) == read_texts(7) == read_texts({"a": "b"}) == ()


@pytest.mark.parametrize(
    "text",
    [
        '["Who is it?", "Where is it?"]',
        '{"sub_questions": ["Who is it?", "Where is it?"]}',
        '{"questions": ["Who is it?", "Where is it?"], "count": 2}',
        '{"q1": "Who is it?", "q2": "Where is it?"}',
        '[{"id": "1", "question": "Who is it?"}, {"id": "2", "question": "Where is it?"}]',
        '```json\n["Who is it?", "Where is it?"]\n```',
        'Sure! Here they are: ["Who is it?", "Where is it?"]',
        '["Who is it?", "Where is it?"',
        "['Who is it?', 'Where is it?']",
        "1. Who is it?\n2. Where is it?",
        "1) Who is it?\n2) Where is it?",
        "Here they are:\n\n- Who is it?\n- Where is it?\n",
        "* Who is it?\n* Where is it?",
        "• Who is it?\n• Where is it?",
        "**1.** Who is it?\n**2.** Where is it?",
        "**1. Who is it?**\n**2. Where is it?**",
        "Q1: Who is it?\nQ2: Where is it?",
        "Question 1: Who is it?\nQuestion 2: Where is it?",
        "السؤال 1: Who is it?\nالسؤال ٢: Where is it?",
        '١. "Who is it?"\n٢. "Where is it?"',
    ],
)
def test_sub_questions_are_read_in_all_the_ways_models_list_them(text: str) -> None:
    assert read_sub_questions(text) == ("Who is it?", "Where is it?")


def test_brackets_within_a_listed_question_are_no_list() -> None:
    text = "1. What is the [first] part of {it}?\n2. And the second?"
    assert read_sub_questions(text) == ("What is the [first] part of {it}?", "And the second?")


@pytest.mark.parametrize(
    ("text", "found"), [("", None), ("prose alone", None), ('{"sub_questions": []}', ()), ("[[1], 2]", ())]
)
def test_no_sub_questions_are_told_from_an_unreadable_reply(text: str, found: tuple[str, ...] | None) -> None:
    assert read_sub_questions(text) == found


def test_a_merged_answer_is_in_an_object_or_in_plain_words() -> None:
    assert read_merged('{"answer": " a "}') == read_merged('{"Answer": "a"}') == read_merged(" a ") == "a"
    assert [read_merged(text) for text in ("", '{"answer": ""}', '{"other": "a"}', "{broken", '{"answer": null}')] == [
        None
    ] * 5


READERS = (read_object, read_draft, read_evaluation, read_sub_questions, read_merged)
fragments = st.sampled_from(
    [*'{}[]",:\\\n', '"answer"', '"supported": "no"', "1e999", "NaN", "null", "</think>", "- ", "\ud800"]
)


@given(st.lists(fragments | st.text(max_size=5), max_size=25).map("".join))
def test_nothing_that_a_model_writes_makes_a_reader_raise(text: str) -> None:
    for read in READERS:
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 5000,
        "[" * 5000,
        '{"a":' * 5000,
        '{"a"' * 5000,
        '[{"a":"' * 5000,
        '{"n": ' + "9" * 9000 + "}",
        '{"a": "' + 'x"y' * 9000,
    ],
    ids=lambda text: text[:8],
)
def test_nor_does_a_reply_made_to_exhaust_it(text: str) -> None:
    for read in READERS:
        read(text)


def test_malformed_json_of_published_repair_tools_is_mostly_repaired(evaldata: Path) -> None:
    """The repair tools' own cases; what they expect of bare strings and numbers differs, so objects are scored."""
    lines = (evaldata / "dev" / "malformed-json" / "cases.jsonl").read_text("utf-8").splitlines()
    cases = [case for line in lines if isinstance((case := json.loads(line))["expected"], dict)]
    cases = [case for case in cases if case["expected"] and "__nothing__" not in case["expected"]]
    repaired = sum(read_object(case["input"]) == case["expected"] for case in cases)
    print(f"repaired {repaired} of {len(cases)} objects")
    assert len(cases) > 100
    assert repaired / len(cases) >= 0.85

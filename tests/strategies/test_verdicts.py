"""What a model wrote is read where it can be, and is unknown where it cannot; it never raises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.verdicts import (
    Draft,
    Sufficiency,
    Support,
    Thought,
    read_choice,
    read_draft,
    read_evaluation,
    read_merged,
    read_object,
    read_query,
    read_score,
    read_sub_questions,
    read_sufficiency,
    read_support,
    read_texts,
    read_thought,
    read_use,
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


MARKS = '"relevance": 5, "accuracy": 5, "completeness": 5, "clarity": 5'


@pytest.mark.parametrize(
    "text",
    [
        f"{{{MARKS}}}",
        f"```json\n{{{MARKS}}}\n```",
        f"My verdict: {{{MARKS}, }} as I said.",
        f"{{{MARKS.upper()}}}",
        f'{{"scores": {{{MARKS}}}, "issues": []}}',
        f'{{"result": {{"evaluation": 1}}, {MARKS}}}',
        "{" + MARKS.replace('"', "'") + "}",
        "Scores {" + MARKS.replace("5", '"100%"') + "}",
        "{" + MARKS.replace("5", '"10/10"') + "}",
        "{" + MARKS.replace("5", "٥") + "}",
    ],
)
def test_marks_are_read_through_what_models_put_around_them(text: str) -> None:
    evaluation = read_evaluation(text)
    assert evaluation
    assert evaluation.confidence == 1.0


def test_what_stands_within_an_answer_stays_as_it_is() -> None:
    fenced = "Run:\n```python\nprint({'a': 1})\n```\nand wait."
    for text in (json.dumps({"answer": fenced}), f"```json\n{json.dumps({'answer': fenced})}\n```"):
        draft = read_draft(text)
        assert draft
        assert draft.answer == fenced
    draft = read_draft('{"answer": "one\ntwo", "quote": "q"}')
    assert draft
    assert draft.answer == "one\ntwo"


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


@pytest.mark.parametrize(
    ("said", "degree"),
    [
        *(("yes", 1.0), ("fully", 1.0), ("Fully supported", 1.0), ("نعم", 1.0), ("partly", 0.5), ("Partially.", 0.5)),
        *(("no", 0.0), ("not supported", 0.0), ("no, not partly", 0.0), ("maybe", None), ("", None)),
    ],
)
def test_support_has_three_degrees_or_is_unknown(said: str, degree: float | None) -> None:
    read = read_support(json.dumps({"supported": said, "unsupported": ["a", 1, "b"]}))
    assert read == (None if degree is None else Support(degree, ("a", "b")))


@pytest.mark.parametrize("text", ["", "yes", "{}", '{"supported": null}', '{"supported": ["yes"]}', '{"supported": 5}'])
def test_what_does_not_say_whether_it_is_supported_is_unknown(text: str) -> None:
    assert read_support(text) is None


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        *(
            ('{"useful": "yes"}', 1.0),
            ('{"useful": "no"}', -1.0),
            ('{"useful": true}', 1.0),
            ('{"useful": "لا"}', -1.0),
        ),
        *((f'{{"utility": {mark}}}', (mark - 3) / 2) for mark in (1, 2, 3, 4, 5)),
        *(('{"utility": "٤"}', 0.5), ('{"utility": "4/5"}', 0.5), ('{"Utility": "80%"}', 0.5)),
        *(
            ('{"useful": "partly"}', None),
            ('{"utility": 0}', None),
            ('{"utility": 6}', None),
            ('{"utility": NaN}', None),
        ),
        *(("yes", None), ("{}", None), ('{"utility": true}', None), ("[]", None)),
    ],
)
def test_use_lies_between_minus_one_and_one_or_is_unknown(text: str, degree: float | None) -> None:
    assert read_use(text) == (None if degree is None else pytest.approx(degree))


def test_a_verdict_of_sufficiency_is_read_with_what_to_search_for() -> None:
    text = '{"known": "k", "sufficient": "no", "missing": " a\\n fact ", "next_query": "find\\tit"}'
    assert read_sufficiency(text) == Sufficiency(False, "a fact", "find it")
    assert read_sufficiency('{"sufficient": true}') == Sufficiency(True, "", "")
    assert read_sufficiency('{"sufficient": "perhaps", "next_query": "it"}') == Sufficiency(None, "", "it")
    for nothing in ("", "no", "{}", '{"sufficient": "perhaps"}', '{"sufficient": null, "missing": 5}', "[]"):
        assert read_sufficiency(nothing) is None


def test_a_query_is_one_line_in_an_object_or_in_plain_words() -> None:
    assert read_query('{"query": "the  length\\nof it"}') == read_query("the length\nof it") == "the length of it"
    assert [read_query(text) for text in ("", '{"query": ""}', '{"query": 5.5}', '{"other": "a"}', "{broken")] == [
        None,
        None,
        "5.5",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        ("Emma is by Jane Austen. She was born in Steventon.", Thought("Emma is by Jane Austen.", False)),
        ("So the answer is: Steventon.", Thought("So the answer is: Steventon.", True)),
        ("SO THE ANSWER\nIS Steventon", Thought("SO THE ANSWER", False)),
        ("<think>the answer is 5</think>It is not known yet.", Thought("It is not known yet.", False)),
        ("إذن الجواب هو: أفشنة.", Thought("إذن الجواب هو: أفشنة.", True)),
        ("إِذَن الإجابة هي أفشنة", Thought("إِذَن الإجابة هي أفشنة", True)),
        ("The answers islands give.", Thought("The answers islands give.", False)),
        *((nothing, None) for nothing in ("", " \n", "?!", "...", "<think>on</think>")),
    ],
)
def test_a_thought_is_the_first_sentence_and_concludes_or_not(text: str, thought: Thought | None) -> None:
    assert read_thought(text) == thought


def test_a_choice_is_one_of_the_names_or_none() -> None:
    names = ("self_rag", "hyde")
    for written in ("self_rag", "Self-RAG", " self rag.", "SELF_RAG"):
        assert read_choice(json.dumps({"strategy": written, "reason": "so"}), names) == ("self_rag", "so")
    for nothing in (
        "hyde",
        "{}",
        '{"strategy": "hyde or self_rag"}',
        '{"strategy": ["hyde"]}',
        '{"strategy": "direct"}',
    ):
        assert read_choice(nothing, names) is None


READERS: tuple[Callable[[str], Any], ...] = (
    read_object,
    read_draft,
    read_evaluation,
    read_sub_questions,
    read_merged,
    read_support,
    read_use,
    read_sufficiency,
    read_query,
    read_thought,
    lambda text: read_choice(text, ("hyde", "direct")),
)
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


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects with anything in them that the repair tools expect: the value itself, or those in a list."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    objects = [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
    return [item for item in objects if item and "__nothing__" not in item]


def test_malformed_json_of_published_repair_tools_never_raises_and_is_read_as_well_as_they_read_it(
    evaldata: Path,
) -> None:
    """The repair tools' own 283 cases. They disagree on bare strings and numbers, which are no objects to us."""
    import json_repair

    cases = [json.loads(line) for line in (evaldata / "dev/malformed-json/cases.jsonl").read_text("utf-8").splitlines()]
    for case in cases:
        for read in READERS:
            read(case["input"])
    objects = [case for case in cases if objects_in(case["expected"]) == [case["expected"]]]
    ours = [read_object(case["input"]) == case["expected"] for case in objects]
    theirs = [json_repair.loads(case["input"]) == case["expected"] for case in objects]
    others = [case for case in cases if case not in objects]
    told_apart = [read_object(case["input"]) in (None, *objects_in(case["expected"])) for case in others]
    print(f"objects: {sum(ours)} of {len(objects)}, by json_repair {sum(theirs)}; others: {sum(told_apart)}")
    assert len(cases) == 283
    assert not any(their and not our for our, their in zip(ours, theirs, strict=True))
    assert sum(ours) / len(objects) >= 0.85
    assert sum(told_apart) / len(others) >= 0.97

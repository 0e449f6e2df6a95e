"""RecursiveRAG does what its documents say, step by step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from users import Shelf, Speaker, asked_in, draft, judged, parts

from burnish import Outcome, RecursiveRAG, RecursiveRAGConfig, RecursiveRAGResult, SubAnswer

COMPOUND = "How long is the Danube and how long is the Rhine, and why are they so?"
PLAIN = "How long is the Danube?"
TWO = parts("How long is the Danube?", "How long is the Rhine?")
TEXTS = {"Danube": "The Danube is 2,850 km long.", "Rhine": "The Rhine is 1,233 km long."}


def finds(query: str) -> list[str]:
    return [text for river, text in TEXTS.items() if river in query]


def told(prompt: str) -> str:
    """The length of the river that is asked about."""
    asked = asked_in(prompt).rpartition("Question: ")[2]
    river = next((river for river in TEXTS if river in asked), "Danube")
    return draft(TEXTS[river].partition(" is ")[2].removesuffix(" long."), TEXTS[river])


def asked(question: str = COMPOUND, config: RecursiveRAGConfig | None = None, **rules: Any) -> tuple[Any, Speaker]:
    speaker = Speaker(**{"parts": TWO, "answer": told, **rules})
    return RecursiveRAG(Shelf(finds=finds), speaker, config).query(question), speaker


def test_a_plain_question_is_answered_directly() -> None:
    result, speaker = asked(PLAIN)
    assert isinstance(result, RecursiveRAGResult)
    assert (result.answer, result.depth, result.decomposed) == ("2,850 km", 0, False)
    assert (result.sub_questions, result.sub_answers, result.sub_results) == ([], [], [])
    assert speaker.kinds == ["answer"]


def test_a_compound_question_is_taken_apart_and_put_together() -> None:
    result, speaker = asked()
    assert speaker.kinds == ["parts", "answer", "answer", "merge"]
    assert (result.decomposed, result.depth) == (True, 0)
    assert result.sub_questions == ["How long is the Danube?", "How long is the Rhine?"]
    assert [(each.question, each.answer, each.depth) for each in result.sub_answers] == [
        ("How long is the Danube?", "2,850 km", 1),
        ("How long is the Rhine?", "1,233 km", 1),
    ]
    assert result.answer == "2,850 km 1,233 km"
    assert isinstance(result.sub_answers[0], SubAnswer)


def test_the_tree_is_there_in_full_with_its_counts_and_sources() -> None:
    result, _ = asked()
    assert [(part.answer, part.depth, part.llm_calls, part.retrieval_calls) for part in result.sub_results] == [
        ("2,850 km", 1, 1, 1),
        ("1,233 km", 1, 1, 1),
    ]
    assert (result.llm_calls, result.retrieval_calls) == (4, 2)
    assert {source.text for source in result.sources} == set(TEXTS.values())
    assert [part["answer"] for part in result.to_dict()["sub_results"]] == ["2,850 km", "1,233 km"]


@pytest.mark.parametrize(("length", "decomposed"), [(40, True), (41, False)])
def test_a_question_is_long_enough_from_min_query_length_on(length: int, decomposed: bool) -> None:
    question = "Length of Danube and Rhine, how and why?"
    assert len(question) == 40
    result, _ = asked(question, RecursiveRAGConfig(min_query_length=length))
    assert result.decomposed is decomposed


@pytest.mark.parametrize(
    ("question", "decomposed"),
    [
        ("What is the length of the Danube and that of the Rhine?", False),
        ("What is the length of the Danube and how long is the Rhine?", True),
        ("كم يبلغ طول نهر الدانوب وكيف يقارن بطول نهر الراين في أوروبا؟", True),
    ],
)
def test_it_takes_two_keywords_of_either_language(question: str, decomposed: bool) -> None:
    assert asked(question)[0].decomposed is decomposed


def test_the_keywords_are_those_of_the_config() -> None:
    question = "Is the Danube longer than the Rhine, versus all others?"
    config = RecursiveRAGConfig(complexity_keywords=["versus", "longer"])
    assert not asked(question)[0].decomposed
    assert asked(question, config)[0].decomposed


def test_a_question_at_the_greatest_depth_is_answered_directly_whatever_it_looks_like() -> None:
    result, speaker = asked(config=RecursiveRAGConfig(max_depth=0))
    assert (result.decomposed, speaker.kinds) == (False, ["answer"])
    deep = RecursiveRAG(Shelf(finds=finds), Speaker(parts=TWO, answer=told)).query(COMPOUND, None, 3)
    assert (deep.decomposed, deep.depth) == (False, 3)


def test_a_question_below_another_knows_its_depth() -> None:
    result = RecursiveRAG(Shelf(finds=finds), Speaker(parts=TWO, answer=told)).query(COMPOUND, _depth=2)
    assert (result.depth, result.sub_answers[0].depth) == (2, 3)


def test_parts_are_taken_apart_again_until_the_greatest_depth() -> None:
    deeper = [f"How long is the Danube and how was part {n} of it made, and why?" for n in (1, 2)]
    config = RecursiveRAGConfig(max_depth=2)
    result, speaker = asked(config=config, parts=[parts(*deeper), TWO, TWO])
    assert speaker.kinds.count("parts") == 3
    assert [part.decomposed for part in result.sub_results] == [True, True]
    assert {leaf.depth for part in result.sub_results for leaf in part.sub_results} == {2}


@pytest.mark.parametrize("said", [parts(), parts(PLAIN), "I cannot.", '{"sub_questions": null}'])
def test_with_one_part_or_none_the_question_is_answered_directly(said: str) -> None:
    assert not asked(parts=said)[0].decomposed


def test_no_more_parts_are_kept_than_allowed() -> None:
    five = parts(*(f"How long is the Danube at place {n}?" for n in range(5)))
    result, _ = asked(config=RecursiveRAGConfig(max_sub_questions=3), parts=five)
    assert len(result.sub_questions) == 3


@pytest.mark.parametrize(
    "said",
    [
        '["How long is the Danube?", "How long is the Rhine?"]',
        'Here they are: ["How long is the Danube?", "How long is the Rhine?"]',
        "1. How long is the Danube?\n2. How long is the Rhine?",
        "- How long is the Danube?\n- How long is the Rhine?",
        "* How long is the Danube?\n* How long is the Rhine?",
        "Q1: How long is the Danube?\nQ2: How long is the Rhine?",
        "١. How long is the Danube?\n٢. How long is the Rhine?",
        '[{"question": "How long is the Danube?"}, {"question": "How long is the Rhine?"}]',
    ],
)
def test_parts_are_read_from_lists_of_any_kind(said: str) -> None:
    assert asked(parts=said)[0].sub_questions == ["How long is the Danube?", "How long is the Rhine?"]


def test_with_nothing_found_there_is_not_enough_information() -> None:
    result, speaker = asked("How long is the Nile?")
    assert (result.answer, result.decomposed, result.status) == (
        "There is not enough information.",
        False,
        Outcome.ABSTAINED,
    )
    assert speaker.prompts == []


def test_where_the_answers_cannot_be_put_together_they_follow_one_another() -> None:
    result, _ = asked(merge=ValueError("no"))
    assert result.answer == "2,850 km\n\n1,233 km"


def test_a_part_that_fails_is_told_and_the_others_stand() -> None:
    def answer(prompt: str) -> Any:
        return told(prompt) if "is the Danube?" in asked_in(prompt) else ValueError("no")

    result, _ = asked(answer=answer)
    first, second = result.sub_answers
    assert (first.answer, first.status) == ("2,850 km", Outcome.SUCCEEDED)
    assert (second.answer, second.status) == ("error in generating answer", Outcome.FAILED)
    assert result.sub_results[1].error == "LanguageModelRefused: generate raised ValueError"
    assert "2,850 km" in result.answer


def test_a_context_reaches_the_searches_of_all_parts() -> None:
    seen: list[Any] = []

    class Shelves(Shelf):
        def retrieve(self, query: str, top_k: int, context: Any = None) -> Any:
            seen.append(context)
            return finds(query)

    RecursiveRAG(Shelves(), Speaker(parts=TWO, answer=told)).query(COMPOUND, {"user": 7})
    assert seen == [{"user": 7}, {"user": 7}]


FAST = judged("2,850 km", 5, "The Danube is 2,850 km long.")


@pytest.mark.parametrize("by", ["argument", "config"])
def test_another_strategy_may_answer_the_leaves(by: str) -> None:
    speaker, shelf = Speaker(parts=TWO, fast=FAST), Shelf(finds=finds)
    rag = RecursiveRAG(shelf, speaker, leaf="self_irag")
    if by == "config":
        rag = RecursiveRAG(shelf, speaker, RecursiveRAGConfig(leaf="self_irag"))
    result = rag.query(COMPOUND)
    assert speaker.kinds.count("fast") >= 2
    assert [len(part.history) >= 1 for part in result.sub_results] == [True, True]
    assert json.dumps(result.to_dict())


def test_the_argument_for_the_leaf_goes_before_the_config() -> None:
    rag = RecursiveRAG(Shelf(finds=finds), Speaker(), RecursiveRAGConfig(leaf="hyde"), leaf="direct")
    assert rag.query(PLAIN).llm_calls == 1

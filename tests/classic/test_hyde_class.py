"""HyDERAG does what its documents say, step by step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from users import LONG_ENOUGH, AsyncSpeaker, Pauses, Shelf, Speaker, asked_in

from burnish import HyDERAG, Outcome

QUESTION = "How long is the Danube?"
DANUBE = "The Danube is 2,850 km long."


def numbered(prompt: str) -> str:
    return f"{LONG_ENOUGH}{hash(prompt)}"


def test_it_imagines_as_many_passages_as_it_is_told_and_searches_with_each_and_the_question() -> None:
    shelf, speaker = Shelf(DANUBE), Speaker(passage=numbered)
    result = HyDERAG(shelf, speaker, num_hypothetical_docs=4, top_k=7).query(QUESTION)
    assert speaker.kinds == ["passage"] * 4 + ["answer"]
    assert sorted(shelf.queries) == sorted([QUESTION, *result.hypothetical_docs])
    assert (len(set(result.hypothetical_docs)), set(shelf.top_ks)) == (4, {7})
    assert (result.llm_calls, result.retrieval_calls) == (5, 5)


def test_the_question_is_left_out_where_it_is_not_wanted() -> None:
    shelf = Shelf(DANUBE)
    result = HyDERAG(shelf, Speaker(passage=numbered), use_original_query=False).query(QUESTION)
    assert sorted(shelf.queries) == sorted(result.hypothetical_docs)


def test_the_answer_comes_from_the_real_passages_alone() -> None:
    speaker = Speaker(passage=lambda prompt: f"The Danube is exactly 1,234 km long, so it says here. {len(prompt)}")
    result = HyDERAG(Shelf(DANUBE), speaker).query(QUESTION)
    assert result.answer == DANUBE
    assert "1,234" not in speaker.shown("answer")[0]


@pytest.mark.parametrize(("length", "kept"), [(39, 0), (40, 3), (41, 3)])
def test_an_imagined_passage_of_fewer_than_forty_characters_is_discarded(length: int, kept: int) -> None:
    result = HyDERAG(Shelf(DANUBE), Speaker(passage="x" * length)).query(QUESTION)
    assert len(result.hypothetical_docs) == kept
    assert result.answer == DANUBE


def test_the_imagined_passages_stand_in_the_order_in_which_they_were_asked_for() -> None:
    orders = set[tuple[str, ...]]()
    for _ in range(5):
        orders.add(tuple(HyDERAG(Shelf(DANUBE), Speaker(passage=numbered)).query(QUESTION).hypothetical_docs))
    assert len(orders) == 1


def test_a_search_that_fails_is_left_out_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    def finds(query: str) -> Any:
        return [DANUBE] if query == QUESTION else ConnectionError("down")

    result = HyDERAG(Shelf(finds=finds), Speaker()).query(QUESTION)
    assert (result.answer, result.status, result.num_retrieved) == (DANUBE, Outcome.SUCCEEDED, 1)
    assert "left out" in caplog.text


def test_where_all_searches_fail_the_result_says_so() -> None:
    speaker = Speaker()
    result = HyDERAG(Shelf(finds=ConnectionError("key=sk-SECRET")), speaker).query(QUESTION)
    assert (result.status, result.error) == (Outcome.FAILED, "RetrievalFailed: retrieve raised ConnectionError")
    assert "answer" not in speaker.kinds
    assert "SECRET" not in repr(result)


def test_with_nothing_found_there_is_insufficient_information() -> None:
    speaker = Speaker()
    result = HyDERAG(Shelf(), speaker).query(QUESTION)
    assert (result.answer, result.status) == ("There is insufficient information.", Outcome.ABSTAINED)
    assert (speaker.kinds, result.num_retrieved, result.num_ranked) == (["passage"] * 3, 0, 0)


def test_where_a_passage_cannot_be_imagined_the_others_are_searched_with() -> None:
    speaker = Speaker(passage=[ValueError("no"), LONG_ENOUGH + "second", LONG_ENOUGH + "third"])
    result = HyDERAG(Shelf(DANUBE), speaker, max_workers=1).query(QUESTION)
    assert result.hypothetical_docs == [LONG_ENOUGH + "second", LONG_ENOUGH + "third"]


def test_as_many_passages_reach_the_model_as_were_ranked() -> None:
    def finds(query: str) -> list[str]:
        return [f"Passage {n} found by {hash(query) % 1000}." for n in range(5)]

    speaker = Speaker(passage=numbered)
    result = HyDERAG(Shelf(finds=finds), speaker, max_final_docs=12).query(QUESTION)
    assert (result.num_retrieved, result.num_ranked, len(result.sources)) == (20, 12, 12)
    assert asked_in(speaker.prompts[-1]).count("<passage ") == 12


def test_a_passage_that_several_searches_find_counts_once() -> None:
    result = HyDERAG(Shelf(DANUBE), Speaker(passage=numbered)).query(QUESTION)
    assert (result.num_retrieved, result.num_ranked) == (1, 1)


@pytest.mark.parametrize("max_workers", [1, 2, 4])
def test_no_more_calls_are_in_flight_than_there_are_workers(max_workers: int) -> None:
    speaker = AsyncSpeaker(passage=numbered)
    rag = HyDERAG(Shelf(DANUBE), speaker, num_hypothetical_docs=4, max_workers=max_workers)
    assert asyncio.run(rag.aquery(QUESTION)).answer == DANUBE
    assert speaker.most_in_flight == max_workers


def test_calls_that_fail_are_sent_again_as_often_as_told() -> None:
    pauses = Pauses()
    speaker = Speaker(passage=LONG_ENOUGH, answer=[TimeoutError(), TimeoutError(), TimeoutError()])
    result = HyDERAG(Shelf(DANUBE), speaker, llm_retries=2, sleep=pauses).query(QUESTION)
    assert (result.status, result.answer) == (Outcome.FAILED, "error in generating answer")
    assert (result.llm_calls, len(speaker.prompts), len(pauses.seconds)) == (6, 6, 2)

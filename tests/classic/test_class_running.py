"""A question alone, on a loop, in a batch and as a stream: the same results, bounded, cancelled and closed well."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from users import AsyncSpeaker, Pauses, Shelf, Speaker, asked_in, judged, parts

from burnish import (
    BurnishError,
    EffectBegun,
    EffectEnded,
    Finished,
    HyDERAG,
    HypotheticalDocument,
    LLMCallError,
    Outcome,
    RAGSystemError,
    Recorded,
    RecursiveRAG,
    RefinementStep,
    RetrievalError,
    SelfIRAG,
    SelfRAGConfig,
    StrategyConfig,
    SubAnswer,
)
from burnish.effects import Ask, Retrieve, Subquestion

QUESTION = "How long is the Danube?"
DANUBE = "The Danube is 2,850 km long."
COMPOUND = "How long is the Danube and how long is the Rhine, and why are they so?"
TWO = parts("How long is the Danube?", "How long is the Rhine?")


def streamed(rag: Any, question: str) -> list[Any]:
    async def listen() -> list[Any]:
        return [event async for event in rag.astream(question)]

    return asyncio.run(listen())


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "query": lambda rag, question: rag.query(question),
    "aquery": lambda rag, question: asyncio.run(rag.aquery(question)),
    "abatch": lambda rag, question: asyncio.run(rag.abatch([question]))[0],
    "astream": lambda rag, question: streamed(rag, question)[-1].result,
}
every_way = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())
every_class = pytest.mark.parametrize("kind", [SelfIRAG, HyDERAG, RecursiveRAG])
Asking = Callable[[Any, str], Any]


@every_way
@every_class
def test_every_way_gives_the_same(ask: Asking, kind: Any) -> None:
    result = ask(kind(Shelf(DANUBE), Speaker(parts=TWO)), COMPOUND)
    expected = kind(Shelf(DANUBE), Speaker(parts=TWO)).query(COMPOUND)
    result.elapsed_seconds = expected.elapsed_seconds = 0.0
    for part in (*result.sub_results, *expected.sub_results):
        part.elapsed_seconds = 0.0
    assert result == expected


@every_way
@every_class
@pytest.mark.parametrize("question", ["", " \n", None, 5, b"bytes"])
def test_a_question_that_is_none_is_a_value_error(ask: Asking, kind: Any, question: Any) -> None:
    with pytest.raises(ValueError, match="not empty"):
        ask(kind(Shelf(), Speaker()), question)


def test_a_blocking_model_does_not_block_the_loop() -> None:
    async def answer() -> str:
        loop = asyncio.get_running_loop()

        def wait_for_the_loop(_prompt: str) -> str:
            free = threading.Event()
            loop.call_soon_threadsafe(free.set)
            assert free.wait(timeout=30)
            return judged("2,850 km", 5, DANUBE)

        return (await SelfIRAG(Shelf(DANUBE), Speaker(fast=wait_for_the_loop)).aquery(QUESTION)).answer

    assert asyncio.run(answer()) == "2,850 km"


def test_query_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def inside() -> Any:
        return SelfIRAG(Shelf(DANUBE), Speaker()).query(QUESTION)

    assert asyncio.run(inside()).answer == DANUBE


def test_query_serves_a_model_that_can_only_be_awaited() -> None:
    class OnlyAwaited:
        async def agenerate(self, prompt: str) -> str:
            await asyncio.sleep(0)
            return Speaker().generate(prompt)

    assert SelfIRAG(Shelf(DANUBE), OnlyAwaited()).query(QUESTION).answer == DANUBE


def test_one_object_serves_many_threads() -> None:
    rag = RecursiveRAG(Shelf(DANUBE), Speaker(parts=TWO))
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(rag.query, [COMPOUND] * 32))
    assert {(result.answer, result.llm_calls) for result in results} == {(f"{DANUBE} {DANUBE}", 4)}


def test_a_batch_keeps_its_order_whichever_question_ends_first() -> None:
    async def late(prompt: str) -> str:
        number = int(asked_in(prompt).rpartition("number ")[2].rstrip("?"))
        for _ in range(20 - number):
            await asyncio.sleep(0)
        return judged(f"{number}", 5, DANUBE)

    rag = SelfIRAG(Shelf(DANUBE + " 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"), late)
    results = asyncio.run(rag.abatch([f"What is number {n}?" for n in range(20)]))
    assert [result.answer for result in results] == [str(n) for n in range(20)]


@pytest.mark.parametrize("cap", [1, 3, 8])
@every_class
def test_one_cap_holds_over_the_calls_of_the_whole_batch(kind: Any, cap: int) -> None:
    speaker = AsyncSpeaker(parts=TWO)
    results = asyncio.run(kind(Shelf(DANUBE), speaker).abatch([COMPOUND] * 12, max_concurrency=cap))
    assert (len(results), speaker.most_in_flight) == (12, cap)


def test_the_cap_holds_for_a_blocking_model_too_and_is_used() -> None:
    meeting = threading.Barrier(5)
    together = threading.Semaphore(5)

    def generate(prompt: str) -> str:
        assert together.acquire(blocking=False), "more than five at once"
        meeting.wait(timeout=30)
        together.release()
        return Speaker().generate(prompt)

    results = asyncio.run(SelfIRAG(Shelf(DANUBE), generate).abatch([QUESTION] * 20, max_concurrency=5))
    assert {result.answer for result in results} == {DANUBE}


def test_an_empty_batch_is_done_at_once() -> None:
    assert asyncio.run(SelfIRAG(Shelf(), Speaker()).abatch([])) == []


def test_a_batch_is_checked_before_anything_is_asked() -> None:
    speaker = Speaker()
    with pytest.raises(ValueError, match="not empty"):
        asyncio.run(SelfIRAG(Shelf(DANUBE), speaker).abatch([QUESTION, ""]))
    with pytest.raises(ValueError, match="max_concurrency"):
        asyncio.run(SelfIRAG(Shelf(DANUBE), speaker).abatch([QUESTION], max_concurrency=0))
    assert speaker.prompts == []


def test_a_question_that_fails_leaves_the_rest_of_the_batch_alone() -> None:
    def generate(prompt: str) -> str:
        if "bad" in asked_in(prompt):
            raise ValueError("no")
        return Speaker().generate(prompt)

    results = asyncio.run(SelfIRAG(Shelf(DANUBE), generate).abatch(["A bad one?", QUESTION]))
    assert [result.status for result in results] == [Outcome.FAILED, Outcome.SUCCEEDED]


def test_a_batch_that_is_to_raise_ends_with_its_first_failure() -> None:
    rag = SelfIRAG(Shelf(DANUBE), Speaker(fast=ValueError("no")), raise_on_error=True)
    with pytest.raises(LLMCallError):
        asyncio.run(rag.abatch([QUESTION] * 5))


def test_a_stream_tells_each_effect_its_records_and_last_the_result() -> None:
    weak = judged("Black Sea", 0.4, DANUBE, issues=["no length"])
    events = streamed(SelfIRAG(Shelf(DANUBE), Speaker(fast=[weak, judged("2,850 km", 5, DANUBE)])), QUESTION)
    told = [(type(event).__name__, type(getattr(event, "effect", None)).__name__) for event in events]
    iteration = [
        ("EffectBegun", "Retrieve"),
        ("EffectEnded", "Retrieve"),
        ("EffectBegun", "Ask"),
        ("EffectEnded", "Ask"),
    ]
    recorded = ("Recorded", "NoneType")
    assert told == [*iteration, recorded, *iteration, recorded, ("Finished", "NoneType")]
    steps = [event.record for event in events if isinstance(event, Recorded)]
    assert all(isinstance(step, RefinementStep) for step in steps)
    assert steps == events[-1].result.history


def test_a_stream_tells_where_in_the_tree_something_happens() -> None:
    events = streamed(RecursiveRAG(Shelf(DANUBE), Speaker(parts=TWO)), COMPOUND)
    begun = [event for event in events if isinstance(event, EffectBegun)]
    below = [event.position for event in begun if isinstance(event.effect, Subquestion)]
    assert sorted({event.path for event in begun if isinstance(event.effect, Retrieve)}) == [(n,) for n in below]
    calls = [(event.path, event.effect.prompt.kind) for event in begun if isinstance(event.effect, Ask)]
    assert [path for path, kind in calls if kind in ("decompose", "merge")] == [(), ()]
    assert {type(event.record) for event in events if isinstance(event, Recorded)} == {SubAnswer}


def test_a_stream_of_hyde_tells_what_was_imagined() -> None:
    events = streamed(HyDERAG(Shelf(DANUBE), Speaker()), QUESTION)
    assert [type(each.record) for each in events if isinstance(each, Recorded)] == [HypotheticalDocument] * 3


def test_a_stream_that_fails_ends_with_the_failed_result() -> None:
    events = streamed(SelfIRAG(Shelf(DANUBE), Speaker(fast=ValueError("no"))), QUESTION)
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.result.status is Outcome.FAILED


def test_a_stream_that_is_to_raise_raises_after_what_happened() -> None:
    rag = SelfIRAG(Shelf(DANUBE), Speaker(fast=ValueError("no")), raise_on_error=True)

    heard: list[Any] = []

    async def listen() -> None:
        async for event in rag.astream(QUESTION):
            heard.append(event)  # noqa: PERF401 what was heard before the error counts

    with pytest.raises(LLMCallError):
        asyncio.run(listen())
    assert [type(event) for event in heard] == [EffectBegun, EffectEnded] * 2


def test_leaving_a_stream_cancels_the_question() -> None:
    cancelled = asyncio.Event()

    async def never(prompt: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return prompt

    async def leave() -> bool:
        stream = SelfIRAG(Shelf(DANUBE), never).astream(QUESTION)
        async for event in stream:
            if isinstance(event, EffectBegun) and isinstance(event.effect, Ask):
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                break
        await stream.aclose()
        return cancelled.is_set()

    assert asyncio.run(leave())


def test_cancelling_a_question_cancels_its_call() -> None:
    async def cancel() -> bool:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def never(prompt: str) -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return prompt

        task = asyncio.create_task(SelfIRAG(Shelf(DANUBE), never).aquery(QUESTION))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled() and cancelled.is_set()

    assert asyncio.run(cancel())


@every_way
def test_a_question_whose_time_runs_out_has_expired(ask: Asking) -> None:
    async def never(prompt: str) -> str:
        await asyncio.Event().wait()
        return prompt

    result = ask(SelfIRAG(Shelf(DANUBE), never, timeout=0.01), QUESTION)
    assert (result.status, result.answer) == (Outcome.EXPIRED, "error in generating answer")
    assert result.error.startswith("TimeoutError")
    with pytest.raises(RAGSystemError, match="ran out"):
        ask(SelfIRAG(Shelf(DANUBE), never, timeout=0.01, raise_on_error=True), QUESTION)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        SelfIRAG(Shelf(), Speaker(), timeout=timeout)


@every_way
@every_class
def test_a_model_that_is_down_gives_a_failed_result_and_keeps_its_secrets(ask: Asking, kind: Any) -> None:
    speaker = Speaker(**dict.fromkeys(["fast", "answer", "parts", "passage"], PermissionError("key=sk-SECRET")))
    result = ask(kind(Shelf(DANUBE), speaker), QUESTION)
    assert (result.status, result.answer) == (Outcome.FAILED, "error in generating answer")
    assert result.error == "LanguageModelRefused: generate raised PermissionError"
    assert "SECRET" not in repr(result)
    assert "SECRET" not in str(result.to_dict())


@every_way
@every_class
def test_a_failure_is_raised_where_it_is_to_be(ask: Asking, kind: Any) -> None:
    speaker = Speaker(**dict.fromkeys(["fast", "answer", "parts", "passage"], ValueError("their words")))
    with pytest.raises(LLMCallError, match="generate raised ValueError: their words") as raised:
        ask(kind(Shelf(DANUBE), speaker, raise_on_error=True), QUESTION)
    assert isinstance(raised.value, BurnishError)
    with pytest.raises(RetrievalError, match="retrieve raised ConnectionError: their words"):
        ask(kind(Shelf(finds=ConnectionError("their words")), Speaker(), raise_on_error=True), QUESTION)
    with pytest.raises(RetrievalError, match="retrieve gave int, which cannot be read"):
        ask(kind(Shelf(finds=5), Speaker(), raise_on_error=True), QUESTION)


@every_way
def test_a_shape_that_is_unknown_is_told_by_its_name(ask: Asking, caplog: pytest.LogCaptureFixture) -> None:
    result = ask(SelfIRAG(Shelf(finds=[5]), Speaker()), QUESTION)
    assert result.status is Outcome.FAILED
    assert result.error.startswith("UnknownShape: a found thing is int, which cannot be read")
    assert "UnknownShape" in caplog.text


def test_an_abstention_is_no_error() -> None:
    assert SelfIRAG(Shelf(), Speaker(), raise_on_error=True).query(QUESTION).status is Outcome.ABSTAINED


def test_a_failure_that_the_strategy_recovers_from_is_not_raised() -> None:
    """A failed rewrite leaves the answer before it standing."""
    weak = judged("2,850 km", 0.6, DANUBE, issues=["unit"])
    result = SelfIRAG(Shelf(DANUBE), Speaker(fast=[weak, ValueError("no")]), raise_on_error=True).query(QUESTION)
    assert (result.answer, result.trace["stopped_by"]) == ("2,850 km", "LanguageModelRefused")


def test_calls_are_sent_again_as_often_as_the_config_says_and_nobody_waits_here() -> None:
    pauses, speaker = Pauses(), Speaker(fast=[TimeoutError(), ConnectionError(), judged("2,850 km", 5, DANUBE)])
    result = SelfIRAG(Shelf(DANUBE), speaker, SelfRAGConfig(llm_retries=2), sleep=pauses).query(QUESTION)
    assert (result.answer, result.llm_calls, len(pauses.seconds)) == ("2,850 km", 3, 2)
    once = SelfIRAG(Shelf(DANUBE), Speaker(fast=TimeoutError()), SelfRAGConfig(llm_retries=0), sleep=pauses)
    assert (once.query(QUESTION).llm_calls, len(pauses.seconds)) == (1, 2)


@every_way
def test_the_cap_on_calls_ends_a_question(ask: Asking) -> None:
    weak = judged("Black Sea", 0.4, DANUBE, issues=["no length"])
    rag = SelfIRAG(Shelf(DANUBE), Speaker(fast=weak), settings=StrategyConfig(max_calls=2))
    result = ask(rag, QUESTION)
    assert (result.status, result.llm_calls) == (Outcome.BUDGET_EXCEEDED, 2)
    assert [step.answer for step in result.history] == ["Black Sea", "Black Sea"]


def test_what_was_found_out_before_a_cap_is_in_the_tree() -> None:
    rag = RecursiveRAG(Shelf(DANUBE), Speaker(parts=TWO), settings=StrategyConfig(max_calls=2))
    result = rag.query(COMPOUND)
    assert (result.status, result.decomposed) == (Outcome.BUDGET_EXCEEDED, True)
    assert result.sub_questions == ["How long is the Danube?", "How long is the Rhine?"]
    assert Outcome.SUCCEEDED in {part.status for part in result.sub_results}


@every_class
def test_it_closes_and_serves_again(kind: Any) -> None:
    async def within() -> str:
        async with kind(Shelf(DANUBE), Speaker()) as rag:
            assert await rag.aadd_document("Another.") == 2
            return (await rag.aquery(QUESTION)).answer

    assert asyncio.run(within()) == DANUBE
    with kind(Shelf(DANUBE), Speaker()) as rag:
        assert rag.query(QUESTION).answer == DANUBE
    assert rag.query(QUESTION).answer == DANUBE


def test_no_questions_text_is_logged_below_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="burnish"):
        SelfIRAG(Shelf(DANUBE), Speaker()).query(QUESTION)
    assert "Danube" not in caplog.text

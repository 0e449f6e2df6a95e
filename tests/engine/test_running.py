from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from toys import CONFIG, asks_all, call, child, echo, never, note, search

from burnish.effects import Ask, Reply, Retrieve, Strategy, Subquestion, Together
from burnish.engine import arun, run
from burnish.errors import EffectFailed, LanguageModelUnavailable, RetrievalFailed
from burnish.results import Answer, Outcome

ROOT = Subquestion("root", "toy", CONFIG, 0)


def everything(asked: Subquestion) -> Strategy:
    """Every kind of effect; a child is a plain call."""
    if asked.depth:
        return asks_all([call(asked.question)])
    return asks_all([search("q"), note(), call("a"), child("alone"), Together((child("b"), call("c"), child("b")))])


def chain_of(depth: int) -> Any:
    """A strategy that asks a sub-question of itself until it is that deep."""

    def begin(asked: Subquestion) -> Strategy:
        return asks_all([call("bottom")] if asked.depth == depth else [child("down", asked.depth + 1)])

    return begin


async def aecho(effect: Retrieve | Ask) -> Reply:
    return echo(effect)


def test_both_drivers_agree() -> None:
    text = "Retrieve None a <alone> <b> c <b>"
    assert run(ROOT, everything, echo) == asyncio.run(arun(ROOT, everything, aecho)) == Answer(text, Outcome.SUCCEEDED)


def test_only_searches_and_calls_are_performed() -> None:
    asked: list[Any] = []
    run(ROOT, everything, lambda effect: (asked.append(effect), echo(effect))[1])
    assert {type(effect) for effect in asked} == {Retrieve, Ask}


def test_a_chain_of_sub_questions_a_thousand_deep_needs_no_stack() -> None:
    answer = run(ROOT, chain_of(1000), echo)
    assert answer.text == "<" * 1000 + "bottom" + ">" * 1000


def test_run_works_inside_a_running_loop_and_in_a_plain_thread() -> None:
    async def inside() -> Answer:
        return run(ROOT, everything, echo)

    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(run(ROOT, everything, echo)))
    thread.start()
    thread.join()
    assert answers == [asyncio.run(inside())]


def test_run_asks_together_in_several_threads() -> None:
    barrier = threading.Barrier(3)

    def meet(effect: Retrieve | Ask) -> Reply:
        barrier.wait(timeout=30)
        return echo(effect)

    answer = run(ROOT, lambda _asked: asks_all([Together((call("a"), call("b"), call("c")))]), meet, threads=3)
    assert answer.text == "a b c"


def test_a_failed_sub_question_is_told_to_its_parent() -> None:
    def begin(asked: Subquestion) -> Strategy:
        if asked.depth:
            return careless(asked.question)
        return asks_all([Together((child("good"), child("bad"))), child("bad")])

    def careless(question: str) -> Strategy:
        reply = yield call(question)
        return Answer(reply.text, Outcome.SUCCEEDED)

    def perform(effect: Any) -> Reply:
        if effect.prompt.user == "bad":
            raise LanguageModelUnavailable("down")
        return echo(effect)

    assert run(ROOT, begin, perform).text == "<good> !down !down"


def test_what_was_begun_is_recorded_before_an_error_beside_it_is_raised() -> None:
    """A call that is paid for is not thrown away because of its neighbour."""
    journal: dict[str, Any] = {}

    async def perform(effect: Any) -> Reply:
        if effect.prompt.user == "broken":
            raise KeyError("a fault of the caller's")
        for _ in range(5):
            await asyncio.sleep(0)
        return echo(effect)

    with pytest.raises(KeyError):
        asyncio.run(
            arun(
                ROOT,
                lambda _asked: asks_all([Together((call("broken"), call("slow")))]),
                perform,
                journal=journal,
            )
        )
    assert [reply.text for reply in journal.values()] == ["slow"]


def test_a_journal_keeps_a_failure_that_was_recovered_from_and_forgets_one_that_ended_the_run() -> None:
    def recovers_then_fails(_asked: Subquestion) -> Strategy:
        yield Together((call("bad"), call("good")))
        yield search("down")
        return Answer("unreached", Outcome.SUCCEEDED)

    def recovers(_asked: Subquestion) -> Strategy:
        return asks_all([call("bad"), call("good")])

    def perform(effect: Any) -> Reply:
        if isinstance(effect, Retrieve):
            raise RetrievalFailed("down")
        if effect.prompt.user == "bad":
            raise LanguageModelUnavailable("bad")
        return echo(effect)

    failed: dict[str, Any] = {}
    with pytest.raises(RetrievalFailed):
        run(ROOT, recovers_then_fails, perform, journal=failed)
    assert [reply.text for reply in failed.values()] == ["good"]

    recovered: dict[str, Any] = {}
    run(ROOT, recovers, perform, journal=recovered)
    assert [type(reply) for reply in recovered.values()] == [LanguageModelUnavailable, Reply]
    assert run(ROOT, recovers, never, journal=recovered).text == "!bad good"


def test_a_run_that_is_cancelled_cancels_what_it_began() -> None:
    async def cancel() -> list[str]:
        ended: list[str] = []
        begun = asyncio.Event()

        async def never(effect: Any) -> Reply:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(effect.prompt.user)
            return Reply("")

        task = asyncio.create_task(arun(ROOT, lambda _asked: asks_all([Together((call("a"), call("b")))]), never))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        return sorted(ended)

    assert asyncio.run(cancel()) == ["a", "b"]


def test_an_unrecovered_failure_is_raised_as_it_is() -> None:
    def careless(_asked: Subquestion) -> Strategy:
        yield call("a")
        return Answer("unreached", Outcome.SUCCEEDED)

    failure = EffectFailed("as it is")

    def perform(_effect: Any) -> Reply:
        raise failure

    with pytest.raises(EffectFailed) as raised:
        run(ROOT, careless, perform)
    assert raised.value is failure

"""An answer in pieces, whatever a model's stream is made of, and however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import (
    FAILED,
    SECRET,
    always,
    counts,
    fails,
    streamed,
    system_of_cats,
)


def streaming(stream: Any) -> RAGSystem:
    return system_of_cats(SimpleNamespace(generate=always("whole"), astream=stream))


async def generator(prompt: str) -> AsyncIterator[str]:
    for piece in ("one ", "two\n", "", "three"):
        yield piece


async def to_text(prompt: str) -> str:
    return "one  two\n\nthree "


async def to_generator(prompt: str) -> AsyncIterator[str]:
    return generator(prompt)


async def to_other(prompt: str) -> int:
    return 42


def numbers(prompt: str) -> Iterator[Any]:
    yield from ("one", 2)


async def chunks(prompt: str) -> AsyncIterator[Any]:
    yield SimpleNamespace(content="one ")
    yield {"text": "two"}
    yield None
    yield 3


@pytest.mark.parametrize(
    ("astream", "pieces"),
    [
        (generator, ["one ", "two\n", "three"]),
        (to_generator, ["one ", "two\n", "three"]),
        (to_text, ["one  ", "two\n\n", "three "]),
        (to_other, ["42"]),
        (numbers, ["one", "2"]),
        (always(["one", "two"]), ["one", "two"]),
        (always("a whole text"), ["a whole text"]),
        (always({"text": "held"}), ["held"]),
        (always(7), ["7"]),
        (chunks, ["one ", "two", "3"]),
    ],
    ids=[
        *("async generator", "coroutine of a generator", "coroutine of a text", "coroutine of anything else"),
        *("generator", "list", "text", "dict", "anything else", "pieces of other kinds"),
    ],
)
def test_every_form_of_a_stream_comes_in_pieces(astream: Any, pieces: list[str]) -> None:
    rag = streaming(astream)
    assert asyncio.run(streamed(rag, "cats")) == pieces
    assert counts(rag) == (1, 1, 0)


def test_a_model_without_a_stream_gives_its_answer_whole() -> None:
    assert asyncio.run(streamed(system_of_cats(), "cats")) == ["fourteen days"]


async def breaks(prompt: str) -> AsyncIterator[str]:
    yield "half "
    raise ConnectionError(SECRET)


async def gives_error(prompt: str) -> AsyncIterator[Any]:
    yield "half "
    yield {"error": SECRET}


def breaks_plainly(prompt: str) -> Iterator[str]:
    yield "half "
    raise ConnectionError(SECRET)


@pytest.mark.parametrize("astream", [breaks, gives_error, breaks_plainly])
def test_a_stream_that_breaks_ends_with_a_message(astream: Any) -> None:
    rag = streaming(astream)
    assert asyncio.run(streamed(rag, "cats", include_sources=True)) == ["half ", FAILED]
    assert counts(rag) == (1, 0, 1)


async def error_text(prompt: str) -> str:
    return f"Error: {SECRET}"


@pytest.mark.parametrize(
    "astream",
    [
        fails,
        error_text,
        always({"error": SECRET}),
        always([]),
        always([" ", "\n"]),
    ],
)
def test_a_stream_of_nothing_or_of_an_error_is_a_failure(astream: Any) -> None:
    rag = streaming(astream)
    assert asyncio.run(streamed(rag, "cats"))[-1] == FAILED
    assert counts(rag) == (1, 0, 1)


def test_a_listener_who_leaves_closes_the_models_stream() -> None:
    closed: list[bool] = []

    async def endless(prompt: str) -> AsyncIterator[str]:
        try:
            while True:
                yield "more "
        finally:
            closed.append(True)

    async def leave() -> None:
        stream = streaming(endless).astream("cats")
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(leave())
    assert closed == [True]


def test_the_loop_is_free_while_a_blocking_stream_waits() -> None:
    import threading

    go = threading.Event()

    def blocking(prompt: str) -> Iterator[str]:
        assert go.wait(timeout=30)
        yield "done"

    async def both() -> list[str]:
        stream = asyncio.create_task(streamed(streaming(blocking), "cats"))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, go.set)
        return await stream

    assert asyncio.run(both()) == ["done"]

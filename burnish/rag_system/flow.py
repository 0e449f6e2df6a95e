"""One description of what is to be done, for two ways of doing it.

A flow is a generator. It yields batches of Work, calls of the caller's own objects, and is sent their outcomes in the
order asked: a value, or the Exception that came in its place. `run` does a batch in this thread, or in a few where the
batch allows it; `arun` does all of it at once on the event loop, awaiting what is native there and putting what blocks
into threads. So a search or an answer is written once, and its two forms cannot drift apart.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, cast

T = TypeVar("T")

# The event loop's own pool has the number of cores and four more, which a handful of slow calls would fill.
THREADS = 64


@dataclass(frozen=True)
class Work:
    """A call of somebody's code: `call` blocks; `acall`, where there is one, is awaited in its place."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]] | None = None


@dataclass(frozen=True)
class Batch:
    """Works that do not need each other. threads: how many of them `run` may do at once."""

    works: tuple[Work, ...]
    threads: int = 1


Flow: TypeAlias = Generator[Batch, list[Any], T]


def do(work: Work) -> Flow[Any]:
    """What the work gives; what it raises is raised here."""
    [outcome] = yield Batch((work,))
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def do_all(works: Iterable[Work], threads: int = 1) -> Flow[list[Any]]:
    """What each gives, or the Exception in its place. Nothing is yielded where there is nothing to do."""
    batch = Batch(tuple(works), threads)
    return (yield batch) if batch.works else []


def run(flow: Flow[T]) -> T:
    """Do all that the flow asks for, here, and give what it comes to."""
    try:
        batch = next(flow)
        while True:
            batch = flow.send(_outcomes(batch))
    except StopIteration as ended:
        return cast("T", ended.value)


async def arun(flow: Flow[T]) -> T:
    """As `run`, on the event loop."""
    try:
        batch = next(flow)
        while True:
            batch = flow.send(list(await asyncio.gather(*(_aoutcome(work) for work in batch.works))))
    except StopIteration as ended:
        return cast("T", ended.value)
    finally:
        flow.close()


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """What a blocking call gives, with the event loop free meanwhile."""
    within = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_threads(), lambda: within.run(call, *arguments))


def _outcomes(batch: Batch) -> list[Any]:
    threads = min(batch.threads, len(batch.works))
    if threads <= 1:
        return [_outcome(work) for work in batch.works]
    with ThreadPoolExecutor(threads, thread_name_prefix="burnish-rag") as pool:
        return [each.result() for each in [pool.submit(_outcome, work) for work in batch.works]]


def _outcome(work: Work) -> Any:
    try:
        value = work.call()
        return _waited_for(value) if inspect.isawaitable(value) else value
    except Exception as error:
        return error


async def _aoutcome(work: Work) -> Any:
    try:
        value = await (work.acall() if work.acall is not None else in_thread(work.call))
        return await value if inspect.isawaitable(value) else value
    except Exception as error:
        return error


def _waited_for(value: Awaitable[Any]) -> Any:
    """What a coroutine comes to. A thread of its own, since this one may be running an event loop already."""

    async def awaited() -> Any:
        return await value

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, awaited()).result()


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="burnish-rag")

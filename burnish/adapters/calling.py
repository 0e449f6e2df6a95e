"""Calling somebody's function from an event loop, whether it blocks or is awaited."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterable, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from burnish.adapters.signatures import Arguments


@contextmanager
def threads(most: int) -> Generator[ThreadPoolExecutor]:
    """A pool that is let go at the end without waiting: a call under way cannot be stopped, and nobody wants it."""
    pool = ThreadPoolExecutor(most, thread_name_prefix="burnish")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class Caller:
    """Awaits what can be awaited, and runs what blocks in the pool's threads.

    blocking: prefer an object's blocking methods where it has both kinds.
    """

    pool: ThreadPoolExecutor
    blocking: bool

    async def __call__(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        """What the function returns, once it is there in full: coroutines awaited, generators read to their end."""
        positional, named = arguments
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            result = function(*positional, **named)
        else:
            within = contextvars.copy_context()
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(self.pool, lambda: within.run(_in_full, function, positional, named))
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, AsyncIterable):
            return [item async for item in cast("AsyncIterable[Any]", result)]
        return result


def _in_full(function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    try:
        result = function(*positional, **named)
        return list(cast("Iterator[Any]", result)) if isinstance(result, Iterator) else result
    except StopIteration as error:  # a future cannot hold one, and whoever awaits it would wait for ever
        raise RuntimeError("the function raised StopIteration") from error

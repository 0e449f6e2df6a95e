"""Doing many things on an event loop, a bounded number at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def in_order(items: Sequence[T], do: Callable[[T], Awaitable[U]], at_once: int) -> list[U]:
    """What `do` gives for each item, in their order. The first error ends the others and is raised."""
    done: dict[int, U] = {}
    waiting = iter(enumerate(items))

    async def work() -> None:
        for position, item in waiting:
            done[position] = await do(item)

    working = [asyncio.create_task(work()) for _ in range(min(at_once, len(items)))]
    try:
        await asyncio.gather(*working)
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return [done[position] for position in range(len(items))]

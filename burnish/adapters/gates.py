"""How many calls are in flight together, on one event loop.

The replies to many calls often come at once. Were each read and worked on right away, a call that waits for a free
place would be sent only after all of that, and its place stay empty meanwhile. So those who come out of a gate go on
one after another, and between two of them the loop sends what can be sent.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Gate:
    """An asynchronous context that so many may be within at once."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._places.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()
        if kind is None:
            async with self._turn:
                await asyncio.sleep(0)

"""Requests that come while another is under way leave together, in one.

The first goes at once. Whatever comes before it is back waits, and leaves with all that waits: nobody waits where there
is little to do, and much to do costs few requests, without a timer to be tuned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from burnish.errors import LanguageModelRefused, LanguageModelUnavailable

Q = TypeVar("Q")
R = TypeVar("R")


class Grouped(Generic[Q, R]):
    """Sends single requests in groups. Belongs to one event loop.

    send: the replies to a group of at most `most` requests, in their order. A group that the model refuses is sent
        again one by one: the fault may be with a single request.
    """

    def __init__(self, send: Callable[[list[Q]], Awaitable[Sequence[R]]], most: int) -> None:
        self._send = send
        self._most = most
        self._waiting: list[tuple[Q, asyncio.Future[R]]] = []
        self._sender: asyncio.Task[None] | None = None

    async def ask(self, request: Q) -> R:
        """The reply to this request. Raises what `send` raises; LanguageModelUnavailable where that was cancelled."""
        reply: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, reply))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        return await reply

    async def _send_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            await self._send_group(group)

    async def _send_group(self, group: list[tuple[Q, asyncio.Future[R]]]) -> None:
        try:
            replies = await self._send([request for request, _ in group])
            for (_, reply), value in zip(group, replies, strict=True):
                if not reply.done():  # or its asker has gone away
                    reply.set_result(value)
        except Exception as error:
            if isinstance(error, LanguageModelRefused) and len(group) > 1:
                await asyncio.gather(*(self._send_group([each]) for each in group))
            _fail(group, error)
        except asyncio.CancelledError:  # of the request, by whatever it went through: nobody cancels this task
            _fail(group, LanguageModelUnavailable("the request broke off"))


def _fail(group: list[tuple[Q, asyncio.Future[R]]], error: Exception) -> None:
    """Tell all that have no reply yet: one that is never told would wait for ever."""
    for _, reply in group:
        if not reply.done():
            reply.set_exception(error)

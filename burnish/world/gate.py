"""A cap on the calls in flight, shared by all workers through Redis.

A slot is a member of a sorted set, scored with the time at which it falls free by itself should its holder die. In a
process the waiting calls stand in line, and only the first of each lane asks Redis, so that waiting costs next to
nothing however long the line. The batch lane leaves `reserved` slots to the interactive one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import redis.asyncio as redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.015
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
return 1
"""


class Gate(Protocol):
    """Lets so many calls through at a time, and each for at most `seconds`."""

    def slot(self, lane: str, seconds: float) -> Any: ...


@dataclass(frozen=True)
class Slots:
    """How many calls may be in flight, and how many of these only the interactive lane may use."""

    total: int
    reserved: int = 0

    def for_lane(self, lane: str) -> int:
        return self.total if lane == "interactive" else max(1, self.total - self.reserved)


class SharedGate:
    """One cap for every process that uses the same Redis and name. Belongs to one event loop."""

    def __init__(self, redis_url: str, name: str, slots: Slots) -> None:
        client: Any = redis.Redis
        self._redis = client.from_url(redis_url, socket_timeout=5, socket_connect_timeout=2)
        self._take = self._redis.register_script(_TAKE)
        self._key = f"burnish:calls:{name}"
        self._slots = slots
        self._own: dict[str, asyncio.Semaphore] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def slot(self, lane: str, seconds: float) -> AsyncGenerator[None, None]:
        """Wait for a slot and hold it for the block. Without Redis the cap holds for this process alone."""
        own = self._own.setdefault(lane, asyncio.Semaphore(self._slots.for_lane(lane)))
        turn = self._turns.setdefault(lane, asyncio.Lock())
        member = uuid4().hex
        async with own:
            try:
                async with turn:
                    await self._enter(lane, seconds, member)
                yield
            finally:  # also of one cancelled on its way in: Redis may have let it through by then
                await self._leave(member)

    async def _enter(self, lane: str, seconds: float, member: str) -> None:
        arguments = [self._slots.for_lane(lane), int(seconds * 1000), member]
        try:
            while not await self._take(keys=[self._key], args=arguments):
                await asyncio.sleep(POLL_SECONDS)
        except RedisError as error:
            logger.warning("the shared cap on calls is out of reach (%s); only this process's holds", error)

    async def _leave(self, member: str) -> None:
        try:
            await self._redis.zrem(self._key, member)
        except RedisError as error:
            logger.warning("a slot was not given back (%s); it falls free by itself", error)


class LocalGate:
    """A cap for this process alone."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._own: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, lane: str, seconds: float) -> AsyncGenerator[None, None]:
        del seconds
        async with self._own.setdefault(lane, asyncio.Semaphore(self._slots.for_lane(lane))):
            yield

"""Requests that leave together, while one is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from burnish.errors import LanguageModelRefused, LanguageModelUnavailable
from burnish.world.grouped import Grouped


class Counter:
    """Doubles numbers, group by group, once it is let; a group with a nought in it fails."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.may_reply = asyncio.Event()

    async def send(self, numbers: list[int]) -> list[int]:
        self.groups.append(numbers)
        await self.may_reply.wait()
        if 0 in numbers:
            raise LanguageModelRefused("nought")
        return [2 * number for number in numbers]


def test_what_comes_while_one_is_under_way_leaves_in_groups_of_bounded_size() -> None:
    async def scene() -> None:
        counter = Counter()
        grouped = Grouped(counter.send, most=3)
        first = asyncio.create_task(grouped.ask(1))
        await asyncio.sleep(0.01)
        assert counter.groups == [[1]]  # nothing to wait for
        others = [asyncio.create_task(grouped.ask(number)) for number in (2, 3, 4, 5)]
        await asyncio.sleep(0.01)
        counter.may_reply.set()
        assert await asyncio.gather(first, *others) == [2, 4, 6, 8, 10]
        assert counter.groups == [[1], [2, 3, 4], [5]]
        assert await grouped.ask(6) == 12

    asyncio.run(scene())


def test_one_bad_request_fails_alone() -> None:
    async def scene() -> None:
        counter = Counter()
        counter.may_reply.set()
        grouped = Grouped(counter.send, most=8)
        replies = await asyncio.gather(*map(grouped.ask, [1, 0, 3]), return_exceptions=True)
        assert replies[0] == 2
        assert isinstance(replies[1], LanguageModelRefused)
        assert replies[2] == 6

    asyncio.run(scene())


async def _breaks_off(_: list[int]) -> list[int]:
    raise asyncio.CancelledError


async def _sends_too_few(numbers: list[int]) -> list[int]:
    return numbers[1:]


@pytest.mark.parametrize(("send", "error"), [(_breaks_off, LanguageModelUnavailable), (_sends_too_few, ValueError)])
def test_nobody_waits_for_ever_for_a_reply_that_will_not_come(
    send: Callable[[list[int]], Awaitable[list[int]]], error: type[Exception]
) -> None:
    async def scene() -> None:
        grouped = Grouped(send, most=2)
        asking = asyncio.gather(*map(grouped.ask, [1, 2, 3, 4]), return_exceptions=True)
        replies = await asyncio.wait_for(asking, timeout=5)
        assert any(isinstance(reply, error) for reply in replies)

    asyncio.run(scene())


def test_an_asker_that_goes_away_takes_nobody_along() -> None:
    async def scene() -> None:
        counter = Counter()
        grouped = Grouped(counter.send, most=8)
        staying, leaving = asyncio.create_task(grouped.ask(1)), asyncio.create_task(grouped.ask(2))
        await asyncio.sleep(0.01)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        counter.may_reply.set()
        assert await staying == 2

    asyncio.run(scene())

"""A gate bounds what is in flight, and lets what waits begin before what came out goes on."""

from __future__ import annotations

import asyncio

import pytest

from burnish.adapters.gates import Gate


def test_no_more_are_within_than_there_are_places() -> None:
    async def main() -> int:
        gate, within, most = Gate(3), 0, 0

        async def call() -> None:
            nonlocal within, most
            async with gate:
                within += 1
                most = max(most, within)
                await asyncio.sleep(0)
                within -= 1

        await asyncio.gather(*(call() for _ in range(20)))
        return most

    assert asyncio.run(main()) == 3


def test_a_call_that_waits_is_sent_before_all_those_that_ended_together_are_worked_on() -> None:
    async def main() -> list[str]:
        gate, ended, seen = Gate(8), asyncio.Event(), list[str]()

        async def first() -> None:
            async with gate:
                await ended.wait()
            seen.append("worked")

        async def waiting() -> None:
            async with gate:
                seen.append("sent")

        tasks = [asyncio.create_task(work()) for work in [first] * 8 + [waiting] * 8]
        await asyncio.sleep(0.01)
        ended.set()
        await asyncio.gather(*tasks)
        return seen

    seen = asyncio.run(main())
    last_sent = max(n for n, what in enumerate(seen) if what == "sent")
    assert seen[:last_sent].count("worked") <= 2
    assert sorted(seen) == ["sent"] * 8 + ["worked"] * 8


def test_an_error_passes_through_and_frees_the_place() -> None:
    async def main() -> str:
        gate = Gate(1)
        with pytest.raises(KeyError):
            async with gate:
                raise KeyError
        async with gate:
            return "free"

    assert asyncio.run(main()) == "free"


def test_one_that_is_cancelled_frees_the_place_and_the_turn() -> None:
    async def main() -> str:
        gate = Gate(1)

        async def call() -> None:
            async with gate:
                await asyncio.sleep(0)

        for steps in range(6):  # within the gate, and on the way out of it
            task = asyncio.create_task(call())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with gate:
            return "free"

    assert asyncio.run(main()) == "free"

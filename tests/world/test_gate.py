"""The cap on calls in flight, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from burnish.world.gate import Gate, LocalGate, SharedGate, Slots
from tests.processes import free_port

LONG = 60.0
CAP = Slots(total=4, reserved=1)


@dataclass
class Room:
    """Who is within, and the most that ever were."""

    within: int = 0
    most: int = 0
    came: list[str] = field(default_factory=list[str])
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def visit(self, gate: Gate, lane: str, seconds: float = LONG) -> None:
        async with gate.slot(lane, seconds):
            self.within += 1
            self.most = max(self.most, self.within)
            self.came.append(lane)
            await self.opened.wait()
            self.within -= 1

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.came) < count:
                await asyncio.sleep(0.01)

    async def settled(self) -> int:
        """How many are within once nobody comes any more."""
        seen = -1
        while seen != len(self.came):
            seen = len(self.came)
            await asyncio.sleep(0.3)
        return self.within


async def crowd(room: Room, gates: Sequence[Gate], lane: str, count: int) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(room.visit(gates[nth % len(gates)], lane)) for nth in range(count)]


def test_two_processes_share_one_cap_and_the_batch_lane_leaves_room_for_the_other(redis_url: str) -> None:
    async def scene() -> None:
        room, gates = Room(), [SharedGate(redis_url, "m", CAP) for _ in range(2)]
        batch = await crowd(room, gates, "batch", 10)
        assert await room.settled() == 3, "one of four places is kept for the interactive lane"
        interactive = await crowd(room, gates, "interactive", 3)
        assert await room.settled() == 4
        assert room.came.count("interactive") == 1
        room.opened.set()
        await asyncio.gather(*batch, *interactive)
        assert (room.most, len(room.came), room.within) == (4, 13, 0)

    asyncio.run(scene())


def test_models_of_other_names_have_places_of_their_own(redis_url: str) -> None:
    async def scene() -> None:
        room = Room()
        waiting = await crowd(room, [SharedGate(redis_url, name, Slots(1)) for name in ("a", "b")], "batch", 4)
        assert await room.settled() == 2
        room.opened.set()
        await asyncio.gather(*waiting)

    asyncio.run(scene())


def test_the_place_of_one_who_died_falls_free_by_itself(redis_url: str) -> None:
    async def scene() -> None:
        dead, room = SharedGate(redis_url, "m", Slots(1)).slot("batch", 1.0), Room()
        await dead.__aenter__()
        next_one = asyncio.create_task(room.visit(SharedGate(redis_url, "m", Slots(1)), "batch"))
        await room.until(1)
        room.opened.set()
        await next_one

    asyncio.run(scene())


@pytest.mark.parametrize("is_within", [True, False])
def test_one_who_is_cancelled_gives_the_place_back(redis_url: str, is_within: bool) -> None:
    async def scene() -> None:
        room, gate = Room(), SharedGate(redis_url, "m", Slots(1))
        async with gate.slot("batch", LONG):
            pass  # redis-py swallows a cancellation that comes while it connects
        for _ in range(20):
            leaving = asyncio.create_task(room.visit(gate, "batch"))
            if is_within:
                await room.until(len(room.came) + 1)
            else:
                await asyncio.sleep(0.001)
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        staying = asyncio.create_task(room.visit(SharedGate(redis_url, "m", Slots(1)), "batch"))
        await room.until(len(room.came) + 1)
        room.opened.set()
        await staying

    asyncio.run(scene())


def test_one_who_fails_gives_the_place_back(redis_url: str) -> None:
    async def scene() -> None:
        gate = SharedGate(redis_url, "m", Slots(1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with asyncio.timeout(10), gate.slot("batch", LONG):
                    raise ZeroDivisionError

    asyncio.run(scene())


def test_without_a_broker_the_cap_of_the_process_holds() -> None:
    async def scene(gate: Gate) -> None:
        room = Room()
        batch = await crowd(room, [gate], "batch", 6)
        await room.until(3)
        assert await room.settled() == 3
        room.opened.set()
        await asyncio.gather(*batch)
        assert room.most == 3

    asyncio.run(scene(SharedGate(f"redis://127.0.0.1:{free_port()}/0", "m", CAP)))
    asyncio.run(scene(LocalGate(CAP)))

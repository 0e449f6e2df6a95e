"""The same thing asked for by many at once is done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Hashable
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class _Abandoned(Exception):
    """Whoever did it was stopped before it was done: someone else must."""


class SingleFlight(Generic[V]):
    """Whoever asks while the same key is under way waits for that and is given what it gives, or what it raises.

    Threads wait for threads and tasks for tasks: a thread that blocks an event loop while it waits for a task of that
    loop would wait for ever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads: dict[Hashable, Future[V]] = {}
        self._tasks: dict[Hashable, Future[V]] = {}

    def do(self, key: Hashable, work: Callable[[], V]) -> V:
        while True:
            flight, is_mine = self._join(self._threads, key)
            if is_mine:
                with self._landing(self._threads, key, flight):
                    flight.set_result(work())
            try:
                return flight.result()
            except _Abandoned:
                continue

    async def ado(self, key: Hashable, work: Callable[[], Awaitable[V]]) -> V:
        while True:
            flight, is_mine = self._join(self._tasks, key)
            if is_mine:
                with self._landing(self._tasks, key, flight):
                    flight.set_result(await work())
            try:
                return await asyncio.wrap_future(flight)
            except _Abandoned:
                continue

    def _join(self, flights: dict[Hashable, Future[V]], key: Hashable) -> tuple[Future[V], bool]:
        with self._lock:
            flight = flights.get(key)
            if flight is not None:
                return flight, False
            new: Future[V] = Future()
            flights[key] = new
            new.set_running_or_notify_cancel()  # so that a waiter who is cancelled does not cancel it for all
            return new, True

    @contextmanager
    def _landing(self, flights: dict[Hashable, Future[V]], key: Hashable, flight: Future[V]) -> Generator[None]:
        try:
            yield
        except BaseException as error:
            flight.set_exception(error if isinstance(error, Exception) else _Abandoned())
            raise
        finally:
            with self._lock:
                del flights[key]

"""What a simulated model has been asked, counted."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from burnish.testing.playback import Call


class CallLog:
    """Counts calls as they come and go."""

    def __init__(self, keep: int) -> None:
        self.count = 0
        self._in_flight = 0
        self._most_in_flight = 0
        self._bodies: set[int] = set()
        self._by_kind: Counter[str] = Counter()
        self._by_status: Counter[str] = Counter()
        self._prompts: deque[Call] = deque(maxlen=keep)

    @contextmanager
    def open(self, call: Call, body: bytes) -> Generator[Ending]:
        self.count += 1
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        self._bodies.add(hash(body))
        self._by_kind[call.kind] += 1
        self._prompts.append(call)
        ending = Ending()
        try:
            yield ending
        finally:
            self._in_flight -= 1
            self._by_status[ending.status] += 1

    def keep(self, count: int) -> None:
        self._prompts = deque(self._prompts, maxlen=count)

    def summary(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "distinct": len(self._bodies),
            "in_flight": self._in_flight,
            "most_in_flight": self._most_in_flight,
            "by_kind": dict(self._by_kind),
            "by_status": dict(self._by_status),
            "prompts": [{"kind": call.kind, "model": call.model, "text": call.text} for call in self._prompts],
            "cpu_seconds": time.process_time(),
        }


class Ending:
    """How a call ended: an HTTP status or "dropped". Until that is said, its caller has given it up."""

    status: str = "abandoned"

    def end_as(self, status: int | str) -> None:
        self.status = str(status)

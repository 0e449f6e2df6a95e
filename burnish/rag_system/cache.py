"""Results of searches, remembered for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import RLock
from typing import Any

from burnish.errors import InvalidInput
from burnish.rag_system.chunks import Scored

Key = tuple[str, int, Hashable]


class RetrievalCache:
    """The results of the latest searches, by question and `top_k`; safe to use from many threads.

    maxsize: searches remembered; the one unused for longest makes room. ttl: seconds that one is good for, or None.
    scope: whatever else decides a result (threshold, filters, reranking); results of another scope are not seen.
    Lists are copied on the way in and out, so that nobody's changes reach anybody else.
    """

    def __init__(
        self, maxsize: int = 256, ttl: float | None = 300.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if maxsize < 1 or (ttl is not None and not ttl > 0):
            raise InvalidInput("a cache needs room for at least one search, and a ttl above 0 or None for no end")
        self.maxsize = maxsize
        self.ttl = ttl
        self._clock = clock
        self._lock = RLock()
        self._held: OrderedDict[Key, tuple[tuple[Scored, ...], float]] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def get(self, query: str, top_k: int, scope: Hashable = ()) -> list[Scored] | None:
        """A copy of the results; None where there are none that are still good."""
        with self._lock:
            found = self.peek(query, top_k, scope)
            self._hits += found is not None
            self._misses += found is None
            return found

    def peek(self, query: str, top_k: int, scope: Hashable = ()) -> list[Scored] | None:
        """As `get`, without counting it."""
        key = _key(query, top_k, scope)
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            results, since = held
            if self.ttl is not None and self._clock() - since > self.ttl:
                del self._held[key]
                return None
            self._held.move_to_end(key)
            return list(results)

    def set(self, query: str, top_k: int, results: Sequence[Scored], scope: Hashable = ()) -> None:
        key = _key(query, top_k, scope)
        with self._lock:
            self._held[key] = (tuple(results), self._clock())
            self._held.move_to_end(key)
            while len(self._held) > self.maxsize:
                self._held.popitem(last=False)

    def invalidate(self, query: str, top_k: int, scope: Hashable = ()) -> bool:
        """Forget one search; whether it was remembered."""
        with self._lock:
            return self._held.pop(_key(query, top_k, scope), None) is not None

    def clear(self) -> None:
        """Forget all, the counts of hits and misses too."""
        with self._lock:
            self._held.clear()
            self._hits = self._misses = 0

    def stats(self) -> dict[str, Any]:
        with self._lock:
            asked = self._hits + self._misses
            return {
                "size": len(self._held),
                "maxsize": self.maxsize,
                "ttl": self.ttl,
                "hits": self._hits,
                "misses": self._misses,
                "hit_rate": round(self._hits / asked, 3) if asked else 0.0,
            }

    def __repr__(self) -> str:
        stats = self.stats()
        return f"RetrievalCache(size={stats['size']}/{stats['maxsize']}, hit_rate={stats['hit_rate']:.1%})"


def _key(query: str, top_k: int, scope: Hashable) -> Key:
    return " ".join(query.lower().split()), top_k, scope

"""Two guards against defects of Celery and kombu 5.7.0, each for that version alone.

* A worker with late-acknowledged tasks in flight exits when the broker goes away: a channel of a closed connection
  raises AttributeError, which is taken for fatal. It is made to look like what it is, a lost connection.
* Every chord published by a worker leaves a subscription and an entry behind for a result that nobody waits for.
"""

from __future__ import annotations

from typing import Any

import celery
import kombu
import kombu.transport.redis as transport
from celery.backends.redis import RedisBackend
from redis.exceptions import ConnectionError as RedisConnectionError

GUARDED = "5.7.0"


class CountingRedisBackend(RedisBackend):
    """Counts chords and never subscribes to results, for processes that never wait for one."""

    def add_pending_result(self, result: Any, weak: bool = False, start_drainer: bool = True) -> Any:
        del weak, start_drainer
        return result

    def add_pending_results(self, results: Any, weak: bool = False) -> Any:
        del weak
        return results

    def on_task_call(self, producer: Any, task_id: str) -> None:
        del producer, task_id


def results_url(redis_url: str) -> str:
    """The result backend for this version of Celery."""
    return f"workers.guards.CountingRedisBackend+{redis_url}" if celery.__version__ == GUARDED else redis_url


def guard_lost_connections() -> None:
    """Call before a worker starts."""
    if kombu.__version__ != GUARDED:
        return
    channel: Any = transport.Channel
    original = channel._connparams

    def connection_parameters(self: Any, asynchronous: bool = False) -> Any:
        if getattr(self.connection, "client", None) is None:
            raise RedisConnectionError("the channel belongs to a broker connection that is closed")
        return original(self, asynchronous=asynchronous)

    channel._connparams = connection_parameters

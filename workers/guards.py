"""Guards against defects of Celery and kombu 5.7.0, each for that version alone.

* A worker with late-acknowledged tasks in flight exits when the broker goes away: a channel of a closed connection
  raises AttributeError, which is taken for fatal. It is made to look like what it is, a lost connection.
* Every chord published by a worker leaves a subscription and an entry behind for a result that nobody waits for.
* A channel makes a client, with its table of some two hundred callbacks, for each message that it takes and each that
  it acknowledges: a tenth of a busy worker's time. One client on the same pool does, and is safe between threads.
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


def guard_broker() -> None:
    """Call before a worker starts."""
    if kombu.__version__ == GUARDED:
        _guard_lost_connections(transport.Channel)
        _keep_one_client(transport.Channel)


def _guard_lost_connections(channel: Any) -> None:
    original = channel._connparams

    def connection_parameters(self: Any, asynchronous: bool = False) -> Any:
        if getattr(self.connection, "client", None) is None:
            raise RedisConnectionError("the channel belongs to a broker connection that is closed")
        return original(self, asynchronous=asynchronous)

    channel._connparams = connection_parameters


def _keep_one_client(channel: Any) -> None:
    original = channel._create_client

    def create_client(self: Any, asynchronous: bool = False) -> Any:
        if asynchronous:
            return original(self, asynchronous=True)
        if getattr(self, "_client_of_pool", (None, None))[0] is not self.pool:
            self._client_of_pool = (self.pool, original(self))
        return self._client_of_pool[1]

    channel._create_client = create_client

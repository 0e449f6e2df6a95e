"""The reconciler: a loop that lets questions in and finds work that was lost. `python -m workers.reconciler`.

It must not depend on the broker, so it is a plain loop and not a scheduled task. Any number may run; the one that holds
the lock in Postgres works and the others wait to take over.
"""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType
from typing import Any
from uuid import uuid4

import redis
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from burnish.settings import Settings
from burnish.store.database import make_engine
from burnish.store.messages import LANES, Message
from burnish.store.questions import admit
from burnish.store.recovery import end_batches, forget_sent, free_expired, is_leader, take_unsent
from burnish.task_queue import make_app, publish

logger = logging.getLogger("burnish.reconciler")

TICK_SECONDS = 0.5
EPOCH_KEY = "burnish:epoch"
# Ready work whose queue is empty has lost its message. In a queue that is not empty it may just be waiting.
LOST_AFTER_SECONDS = 5.0
LOST_AFTER_SECONDS_IN_LINE = 120.0


class Reconciler:
    """One pass after another over what is in Postgres and what is in the broker."""

    def __init__(self, settings: Settings) -> None:
        if not settings.redis_url or not settings.database_url:
            raise SystemExit("set BURNISH_DATABASE_URL and BURNISH_REDIS_URL, or run `burnish up`")
        self._engine = make_engine(settings.database_url, pool_size=1, application="burnish-reconciler")
        self._app = make_app(settings.redis_url)
        client: Any = redis.Redis
        self._redis = client.from_url(settings.redis_url, socket_timeout=5, socket_connect_timeout=3)
        self._most = {"interactive": settings.questions_in_flight, "batch": settings.questions_in_flight}

    def run(self, stopped: threading.Event) -> None:
        """Work until stopped. An outage of either server is waited out."""
        while not stopped.wait(TICK_SECONDS):
            try:
                with self._engine.connect() as connection:
                    self._lead(connection, stopped)
            except SQLAlchemyError as error:
                logger.warning("the database is out of reach: %s", type(error).__name__)

    def _lead(self, connection: Connection, stopped: threading.Event) -> None:
        """Make passes on one connection, which holds the lock, for as long as it lasts."""
        leads = False
        while not stopped.wait(TICK_SECONDS):
            with connection.begin():
                leads = leads or is_leader(connection)
            if leads:
                self.make_pass(connection)

    def make_pass(self, connection: Connection) -> int:
        """One pass: recover, admit, send. Returns how many messages were sent."""
        lengths = self._queue_lengths()
        with connection.begin():
            messages = self._due(connection, lengths)
        try:
            return publish(self._app, messages)
        except OperationalError:
            logger.warning("the broker is out of reach; %d messages will be sent again", len(messages))
            return 0

    def _due(self, connection: Connection, lengths: dict[str, int] | None) -> list[Message]:
        freed = free_expired(connection)
        if freed:
            logger.warning("%d pieces of work lost their worker and are ready again", freed)
        if lengths is None:
            return []
        if self._broker_is_new():
            logger.warning("the broker is empty: everything that is ready is sent again")
            forget_sent(connection)
        messages: list[Message] = []
        for lane in LANES:
            patience = LOST_AFTER_SECONDS_IN_LINE if lengths[lane] else LOST_AFTER_SECONDS
            messages += take_unsent(connection, lane, patience)
            messages += admit(connection, lane, self._most[lane])
        end_batches(connection)
        return messages

    def _queue_lengths(self) -> dict[str, int] | None:
        try:
            return {lane: int(self._redis.llen(lane)) for lane in LANES}
        except RedisError as error:
            logger.warning("the broker is out of reach: %s", type(error).__name__)
            return None

    def _broker_is_new(self) -> bool:
        try:
            return bool(self._redis.set(EPOCH_KEY, uuid4().hex, nx=True))
        except RedisError:
            return False


def main() -> None:
    settings = Settings()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    Reconciler(settings).run(stopped)


if __name__ == "__main__":
    main()

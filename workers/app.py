"""The Celery worker of one lane: `celery -A workers.app worker -P threads -Q batch`."""

from __future__ import annotations

import gc
import logging
import threading
from functools import lru_cache
from typing import Any

from celery import signals

from burnish.settings import Settings
from burnish.store.database import make_engine
from burnish.task_queue import make_app
from burnish.world.assemble import world_from
from workers.advancing import Workplace
from workers.guards import guard_broker, results_url
from workers.leases import Heartbeat
from workers.runs import register

DATABASE_CONNECTIONS = 20
# Of new objects before a collection: calls of a model make many, few of them in cycles, beside a heap of libraries.
GARBAGE_THRESHOLDS = (20_000, 20, 20)

settings = Settings()
if not settings.redis_url or not settings.database_url:
    raise SystemExit("set BURNISH_DATABASE_URL and BURNISH_REDIS_URL, or start the workers with `burnish up`")

guard_broker()
app: Any = make_app(settings.redis_url, results=results_url(settings.redis_url))


_making = threading.Lock()


def workplace() -> Workplace:
    """What this process works with, made when the first task needs it and so after any fork."""
    with _making:  # the first tasks come together, and a cache alone would let each make one
        return _workplace()


@lru_cache(maxsize=1)
def _workplace() -> Workplace:
    database = make_engine(str(settings.database_url), pool_size=DATABASE_CONNECTIONS, application="burnish-worker")
    heartbeat = Heartbeat(database, settings.lease_seconds)
    return Workplace(database, world_from(settings, database), heartbeat, settings.max_attempts)


register(app, workplace)


def log_plainly(**_: Any) -> None:
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("celery.worker.strategy").setLevel(logging.WARNING)
    logging.getLogger("celery.app.trace").setLevel(logging.WARNING)


def warm_up(**_: Any) -> None:
    """Import and load what the first question would wait for, and spare it from every later garbage collection."""
    workplace().world.model.warm_up()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


_signals: Any = signals
_signals.setup_logging.connect(log_plainly)
_signals.worker_ready.connect(warm_up)

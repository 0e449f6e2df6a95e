"""The Celery application, and how messages leave: after the commit, and only as hints.

A message carries the id of a run or a step, which Postgres knows to be ready. Losing it costs time, never work, and
receiving it twice does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from celery import Celery

from burnish.store.messages import Message

VISIBILITY_TIMEOUT_SECONDS = 1800
CHORD_EXPIRES_SECONDS = 24 * 3600


def make_app(redis_url: str, *, results: str | None = None) -> Celery:
    """The Celery application. `results` is the backend that counts chords; only workers need one."""
    app: Any = Celery("burnish", broker=redis_url, backend=results, set_as_current=results is not None)
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_send_sent_event=False,
        task_default_queue="batch",
        task_publish_retry_policy={"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5},
        worker_prefetch_multiplier=1,
        # Events cost a worker half as much again; whoever watches, as Flower does, turns them on.
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # A task that ended but was not counted for its chord must run again, or the chord would hang.
        worker_deduplicate_successful_tasks=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,
            "socket_connect_timeout": 3,
            "health_check_interval": 10,
            "max_connections": 400,
        },
        redis_max_connections=400,
        redis_socket_timeout=10,
        redis_socket_connect_timeout=3,
        result_backend_thread_safe=True,
        result_backend_always_retry=True,
        result_backend_max_retries=5,
        result_expires=3600,
        result_chord_expires=CHORD_EXPIRES_SECONDS,
    )
    return app


def signature(app: Any, message: Message) -> Any:
    """The message as Celery sends it. Children do not inherit a queue, so each is told its own."""
    return app.signature(
        message.task_name,
        args=(str(message.row_id),),
        immutable=True,
        queue=message.lane,
        argsrepr=message.label,
        kwargsrepr="",
    )


def publish(app: Any, messages: Iterable[Message]) -> int:
    """Send messages for what is committed. Returns how many; raises kombu's OperationalError without a broker."""
    sent = 0
    with app.producer_or_acquire() as producer:
        for message in messages:
            signature(app, message).apply_async(producer=producer)
            sent += 1
    return sent

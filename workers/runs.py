"""The Celery tasks: two functions under many names, so that a task list reads as the pipeline.

A task inside a chord goes on by replacing itself, so that the chord waits for what takes its place; any other sends
what comes next. No task ever raises: a chord with a failed header would leave the chord around it waiting for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import chord
from celery.exceptions import Ignore
from kombu.exceptions import OperationalError

from burnish.store.messages import RESEND_RUN, RUN_TASKS, STEP_TASKS, Message, label_of
from burnish.task_queue import signature
from workers.advancing import Boundary, Ended, FanOut, GoOn, Workplace, advance, perform_step

logger = logging.getLogger(__name__)


def register(app: Any, place: Callable[[], Workplace]) -> None:
    """Make the tasks of the pipeline known to the application."""

    def move(task: Any, run_id: str) -> str:
        return _carry_on(app, task, run_id, lambda: advance(place(), UUID(run_id)))

    def call(task: Any, step_id: str) -> str:
        return _carry_on(app, task, step_id, lambda: perform_step(place(), UUID(step_id)))

    for names, function in ((RUN_TASKS, move), (STEP_TASKS, call)):
        for name in names:
            app.task(function, bind=True, name=name, shared=False, max_retries=None)


def _carry_on(app: Any, task: Any, row_id: str, work: Callable[[], Boundary]) -> str:
    try:
        boundary = work()
        return _send_next(app, task, row_id, boundary)
    except Ignore:
        raise
    except OperationalError:
        logger.warning("the broker is out of reach; the reconciler will send what comes after %s", row_id)
    except Exception:
        # The database, most likely. The lease runs out and the work is done by whoever claims it then.
        logger.exception("%s could not be done now", row_id)
    return "later"


def _send_next(app: Any, task: Any, row_id: str, boundary: Boundary) -> str:
    match boundary:
        case GoOn(task_name, scope, question):
            message = Message(task_name, UUID(row_id), scope.lane, label_of(scope.custom_id, question))
            return _pass_on(task, signature(app, message))
        case FanOut(sent, task_name, scope, question):
            label = label_of(scope.custom_id, question)
            header = [signature(app, Message(each.task_name, each.row_id, scope.lane, label)) for each in sent]
            body = signature(app, Message(task_name, UUID(row_id), scope.lane, label))
            return _pass_on(task, chord(header, body, app=app))
        case Ended(ready_run, scope):
            if ready_run and scope and not _in_chord(task):
                signature(app, Message(RESEND_RUN, ready_run, scope.lane, f"({scope.custom_id})")).apply_async()
            return "done"


def _pass_on(task: Any, canvas: Any) -> str:
    if _in_chord(task):
        raise task.replace(canvas)
    canvas.apply_async()
    return "passed on"


def _in_chord(task: Any) -> bool:
    return task.request.chord is not None or task.request.group is not None

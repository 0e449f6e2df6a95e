"""A run that fans out waits until all that it asked for has ended; the last one to end makes it ready.

The count of what is still out stands in the run itself and is taken down in the very transaction that ends an item, so
exactly one transaction sees it reach nought. The chord that carries the messages is only a hint: losing it, or its
body arriving twice or too early, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, null, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from burnish.effects import Ask, Subquestion
from burnish.engine import Item
from burnish.store import codec
from burnish.store.leases import WITHOUT_SYNC, Lease
from burnish.store.models import Run, Step


@dataclass(frozen=True)
class Sent:
    """A piece of a fan-out that is ready: a step to perform, or a run to advance."""

    row_id: UUID
    is_run: bool
    task_name: str


def park(
    session: Session, lease: Lease, question_id: UUID, items: Sequence[tuple[Item, str]], task_name: str
) -> list[Sent]:
    """Make the items ready and let the run, which is held, wait for them.

    items: each with the name of the task that will do it. task_name: that of the task that goes on afterwards.
    """
    sent = [_make_ready(session, lease.row_id, question_id, item, name) for item, name in items]
    waiting = {"state": "waiting", "pending": len(sent), "task_name": task_name}
    statement = update(Run).where(Run.id == lease.row_id).values(**waiting, lease_token=None, lease_until=None)
    session.execute(statement, execution_options=WITHOUT_SYNC)
    return sent


def _make_ready(session: Session, run_id: UUID, question_id: UUID, item: Item, task_name: str) -> Sent:
    is_run = isinstance(item.effect, Subquestion)
    state = "waiting" if is_run else "ready"
    step = insert(Step).values(
        run_id=run_id,
        key=item.key,
        position=item.position,
        kind=codec.kind_of(item.effect),
        request=codec.dump_effect(item.effect),
        state=state,
        task_name=task_name,
        enqueued_at=func.clock_timestamp(),
    )
    again = {"state": state, "attempts": 0, "enqueued_at": func.clock_timestamp(), "lease_token": null()}
    step = step.on_conflict_do_update(index_elements=[Step.run_id, Step.key], set_=again).returning(Step.id)
    step_id = session.execute(step).scalar_one()
    if isinstance(item.effect, Subquestion):
        return Sent(_make_child(session, step_id, question_id, item.effect, task_name), True, task_name)
    return Sent(step_id, False, task_name)


def _make_child(session: Session, step_id: UUID, question_id: UUID, asked: Subquestion, task_name: str) -> UUID:
    ready: dict[str, Any] = {"state": "ready", "enqueued_at": func.clock_timestamp(), "attempts": 0}
    child = insert(Run).values(
        question_id=question_id,
        parent_step_id=step_id,
        depth=asked.depth,
        text=asked.question,
        strategy=asked.strategy,
        config=asked.config.to_mapping(),
        ancestors=list(asked.ancestors),
        task_name=task_name,
        **ready,
    )
    again = {**ready, "outcome": null(), "answer": null(), "error": null(), "ended_at": null()}
    child = child.on_conflict_do_update(index_elements=[Run.parent_step_id], set_=again).returning(Run.id)
    return session.execute(child).scalar_one()


@dataclass(frozen=True)
class OpenStep:
    """A single call of a fan-out that this process holds."""

    lease: Lease
    attempts: int
    run_id: UUID
    question_id: UUID
    ask: Ask


def open_step(session: Session, lease: Lease, attempts: int) -> OpenStep:
    """What a claimed step asks for."""
    statement = (
        select(Step.run_id, Step.request, Run.question_id)
        .join(Run, Run.id == Step.run_id)
        .where(Step.id == lease.row_id)
    )
    row = session.execute(statement).one()
    return OpenStep(lease, attempts, row.run_id, row.question_id, codec.load_ask(row.request))


def join(session: Session, step_id: UUID, reply: Any, failure: dict[str, Any] | None) -> UUID | None:
    """End a step of a fan-out. Returns the id of the run that waited for it if it was the last one out."""
    ended = (
        update(Step)
        .where(Step.id == step_id, Step.state.in_(("running", "waiting")))
        .values(
            state="failed" if failure else "done",
            reply=null() if reply is None else reply,
            failures=Step.failures.concat([failure] if failure else []),
            ended_at=func.clock_timestamp(),
            lease_token=None,
            lease_until=None,
        )
        .returning(Step.run_id)
    )
    run_id = session.execute(ended, execution_options=WITHOUT_SYNC).scalar_one_or_none()
    return _count_down(session, run_id) if run_id else None


def _count_down(session: Session, run_id: UUID) -> UUID | None:
    is_last = Run.pending == 1
    statement = (
        update(Run)
        .where(Run.id == run_id, Run.state == "waiting")
        .values(
            pending=Run.pending - 1,
            state=case((is_last, "ready"), else_=Run.state),
            enqueued_at=case((is_last, func.clock_timestamp()), else_=Run.enqueued_at),
        )
        .returning(Run.pending)
    )
    left = session.execute(statement, execution_options=WITHOUT_SYNC).scalar_one_or_none()
    return run_id if left == 0 else None


def hand_over(session: Session, lease: Lease, task_name: str) -> None:
    """Make a run that is held ready for the task that goes on with it."""
    ready = {"state": "ready", "task_name": task_name, "enqueued_at": func.clock_timestamp()}
    statement = update(Run).where(Run.id == lease.row_id).values(**ready, lease_token=None, lease_until=None)
    session.execute(statement, execution_options=WITHOUT_SYNC)

"""What the reconciler asks of Postgres: work that nobody holds, messages that must be lost, batches that have ended.

A lease that ran out means that its holder died or froze: the work is ready again. Ready work whose message was sent
long ago has probably lost it: it is sent again. Sending twice does no harm, since only one process can claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, func, null, or_, select, update

from burnish.store.messages import RESEND_STEP, Message, label_of
from burnish.store.models import Batch, Question, Run, Step

RECONCILER_LOCK = 7_266_002
MOST_SENT_AT_ONCE = 500


def is_leader(connection: Connection) -> bool:
    """Whether this connection holds the reconciler's lock, which it keeps until its connection ends."""
    return bool(connection.scalar(select(func.pg_try_advisory_lock(RECONCILER_LOCK))))


def free_expired(connection: Connection) -> int:
    """Make work whose lease ran out ready again; it counts as never sent. A row being written to is not lost yet."""
    freed = 0
    for row in (Run, Step):
        expired = (
            select(row.id)
            .where(row.state == "running", row.lease_until < func.clock_timestamp())
            .with_for_update(skip_locked=True)
        )
        statement = (
            update(row)
            .where(row.id.in_(expired))
            .values(state="ready", lease_token=null(), lease_until=null(), enqueued_at=null())
            .returning(row.id)
        )
        freed += len(connection.scalars(statement).all())
    return freed


def forget_sent(connection: Connection) -> None:
    """Count all ready work as never sent: the broker has lost its data."""
    for row in (Run, Step):
        connection.execute(update(row).where(row.state == "ready").values(enqueued_at=null()))


def take_unsent(connection: Connection, lane: str, older_than_seconds: float) -> list[Message]:
    """The messages for ready work of a lane that was never sent, or was sent so long ago."""
    return [*_unsent_runs(connection, lane, older_than_seconds), *_unsent_steps(connection, lane, older_than_seconds)]


def _unsent_runs(connection: Connection, lane: str, seconds: float) -> list[Message]:
    due = (
        select(Run.id, Run.task_name, Question.custom_id, Run.text)
        .join(Question, Question.id == Run.question_id)
        .where(Run.state == "ready", Question.lane == lane, _is_due(Run, seconds))
        .limit(MOST_SENT_AT_ONCE)
        .with_for_update(of=Run, skip_locked=True)
    )
    rows = connection.execute(due).all()
    _mark_sent(connection, Run, [row.id for row in rows])
    return [Message(row.task_name, row.id, lane, label_of(row.custom_id, row.text)) for row in rows]


def _unsent_steps(connection: Connection, lane: str, seconds: float) -> list[Message]:
    due = (
        select(Step.id, Question.custom_id, Run.text)
        .join(Run, Run.id == Step.run_id)
        .join(Question, Question.id == Run.question_id)
        .where(Step.state == "ready", Question.lane == lane, _is_due(Step, seconds))
        .limit(MOST_SENT_AT_ONCE)
        .with_for_update(of=Step, skip_locked=True)
    )
    rows = connection.execute(due).all()
    _mark_sent(connection, Step, [row.id for row in rows])
    return [Message(RESEND_STEP, row.id, lane, label_of(row.custom_id, row.text)) for row in rows]


def _is_due(row: type[Run | Step], seconds: float) -> ColumnElement[bool]:
    age = func.clock_timestamp() - row.enqueued_at
    return or_(row.enqueued_at.is_(None), age > func.make_interval(0, 0, 0, 0, 0, 0, seconds))


def _mark_sent(connection: Connection, row: type[Run | Step], ids: Sequence[UUID]) -> None:
    if ids:
        connection.execute(
            update(row).where(row.id.in_(ids)).values(enqueued_at=func.clock_timestamp()),
        )


def end_batches(connection: Connection) -> None:
    """Close the batches whose last question has ended.

    They are locked before their questions are looked at: a single statement would judge a batch that is just being
    tried again by the questions as they were before, and close it over the queued ones.
    """
    seen = select(Batch.id).where(Batch.ended_at.is_(None)).with_for_update(skip_locked=True)
    held = connection.scalars(seen).all()
    if held:
        is_open = select(Question.id).where(Question.batch_id == Batch.id, Question.state != "ended").exists()
        ended = update(Batch).where(Batch.id.in_(held), ~is_open).values(ended_at=func.clock_timestamp())
        connection.execute(ended)

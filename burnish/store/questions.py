"""Questions come in: accepted as rows, admitted into the pipeline a bounded number at a time, cancelled, tried again.

A batch of any size is rows, not messages. Whoever admits holds an advisory lock for the transaction, so the bound holds
however many try. Of several open batches the one with the fewest questions under way goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, null, select, text, update
from sqlalchemy.dialects.postgresql import insert
from uuid_utils.compat import uuid7

from burnish.errors import NotFound
from burnish.store.messages import Message, label_of, run_task_name
from burnish.store.models import Batch, Collection, Question, Run, Step

ADMISSION_LOCK = 7_266_001
ROWS_PER_INSERT = 2_000


@dataclass(frozen=True)
class NewQuestion:
    """A question as it is accepted: everything in it has been checked."""

    custom_id: str
    text: str
    language: str
    strategy: str
    config: dict[str, Any]
    collection_id: UUID
    gold: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])


def find_collection(connection: Connection, name: str) -> UUID:
    collection_id = connection.scalar(select(Collection.id).where(Collection.name == name))
    if collection_id is None:
        raise NotFound(f"there is no collection {name!r}; ingest documents into it first")
    return collection_id


def accept_one(connection: Connection, question: NewQuestion) -> UUID:
    """Accept a single question, in the interactive lane."""
    return _write_questions(connection, [question], None, "interactive")[0]


def accept_batch(
    connection: Connection, name: str | None, questions: Sequence[NewQuestion], rejected: Sequence[Any]
) -> UUID:
    """Accept questions together. `rejected` are the lines that could not be accepted, kept with the batch."""
    ended_at = None if questions else func.now()
    values = {"name": name, "total": len(questions), "rejected": list(rejected), "ended_at": ended_at}
    batch_id = connection.execute(insert(Batch).values(values).returning(Batch.id)).scalar_one()
    _write_questions(connection, questions, batch_id, "batch")
    return batch_id


def _write_questions(
    connection: Connection, questions: Iterable[NewQuestion], batch_id: UUID | None, lane: str
) -> list[UUID]:
    rows: list[dict[str, Any]] = [
        {
            "id": uuid7(),
            "batch_id": batch_id,
            "lane": lane,
            "custom_id": question.custom_id,
            "text": question.text,
            "language": question.language,
            "strategy": question.strategy,
            "config": question.config,
            "collection_id": question.collection_id,
            "gold": question.gold,
            "details": question.details,
        }
        for question in questions
    ]
    for start in range(0, len(rows), ROWS_PER_INSERT):
        connection.execute(insert(Question), rows[start : start + ROWS_PER_INSERT])
    return [row["id"] for row in rows]


_NEXT_QUESTIONS = text(
    """
    WITH under_way AS (
        SELECT batch_id, count(*) AS number FROM questions
        WHERE state = 'running' AND lane = :lane GROUP BY batch_id
    ),
    room AS (SELECT greatest(0, :most - coalesce(sum(number), 0))::int AS left_over FROM under_way),
    askers AS (
        SELECT id AS batch_id FROM batches WHERE ended_at IS NULL UNION ALL SELECT NULL
    ),
    line AS (
        SELECT queued.id, row_number() OVER (PARTITION BY askers.batch_id ORDER BY queued.id)
               + coalesce(under_way.number, 0) AS turn
        FROM askers
        LEFT JOIN under_way ON under_way.batch_id IS NOT DISTINCT FROM askers.batch_id
        CROSS JOIN LATERAL (
            SELECT id FROM questions
            WHERE state = 'queued' AND lane = :lane
              AND (questions.batch_id = askers.batch_id OR (questions.batch_id IS NULL AND askers.batch_id IS NULL))
            ORDER BY id LIMIT (SELECT left_over FROM room)
        ) AS queued
    )
    SELECT id FROM line ORDER BY turn, id LIMIT (SELECT left_over FROM room)
    """
)


def admit(connection: Connection, lane: str, most_under_way: int) -> list[Message]:
    """Let questions in until `most_under_way` of the lane are; the messages are to be sent after the commit.

    Returns nothing where another process admits at this moment.
    """
    if not connection.scalar(select(func.pg_try_advisory_xact_lock(ADMISSION_LOCK))):
        return []
    ids = connection.scalars(_NEXT_QUESTIONS, {"lane": lane, "most": most_under_way}).all()
    return _start(connection, ids) if ids else []


def _start(connection: Connection, ids: Sequence[UUID]) -> list[Message]:
    started = (
        update(Question)
        .where(Question.id.in_(ids))
        .values(state="running", admitted_at=func.coalesce(Question.admitted_at, func.clock_timestamp()))
        .returning(Question.id, Question.custom_id, Question.text, Question.strategy, Question.lane)
    )
    questions = connection.execute(started).all()
    runs = _root_runs(connection, {row.id: (row.text, row.strategy) for row in questions})
    return [
        Message(run_task_name(row.strategy, "start"), runs[row.id], row.lane, label_of(row.custom_id, row.text))
        for row in questions
    ]


def _root_runs(connection: Connection, questions: dict[UUID, tuple[str, str]]) -> dict[UUID, UUID]:
    """The root runs of questions: new ones, or those of an earlier try made ready again."""
    statement = insert(Run).values(enqueued_at=func.clock_timestamp())
    again = {
        "state": "ready",
        "attempts": 0,
        "outcome": null(),
        "answer": null(),
        "error": null(),
        "ended_at": null(),
        "enqueued_at": func.clock_timestamp(),
    }
    statement = statement.on_conflict_do_update(
        index_elements=[Run.question_id], index_where=Run.parent_step_id.is_(None), set_=again
    ).returning(Run.question_id, Run.id)
    rows: list[dict[str, Any]] = [
        {
            "question_id": question_id,
            "text": asked,
            "strategy": strategy,
            "config": {},
            "task_name": run_task_name(strategy, "start"),
        }
        for question_id, (asked, strategy) in questions.items()
    ]
    return {row.question_id: row.id for row in connection.execute(statement, rows)}


def request_cancel(connection: Connection, batch_id: UUID) -> int:
    """Ask for the end of a batch. What is queued ends at once, what runs ends before its next effect."""
    connection.execute(update(Batch).where(Batch.id == batch_id).values(cancel_requested=True))
    open_questions = update(Question).where(Question.batch_id == batch_id, Question.state != "ended")
    connection.execute(open_questions.values(cancel_requested=True))
    queued = (
        update(Question)
        .where(Question.batch_id == batch_id, Question.state == "queued")
        .values(state="ended", outcome="cancelled", ended_at=func.clock_timestamp())
        .returning(Question.id)
    )
    return len(connection.scalars(queued).all())


def retry(connection: Connection, batch_id: UUID | None, question_id: UUID | None, outcomes: Sequence[str]) -> int:
    """Queue ended questions again. Their journals stay, so that only what failed or is missing is done.

    Steps that failed lose their place in the journal but keep the record of their failures.
    """
    chosen = Question.batch_id == batch_id if batch_id else Question.id == question_id
    statement = (
        update(Question)
        .where(chosen, Question.state == "ended", Question.outcome.in_(outcomes))
        .values(
            state="queued",
            outcome=null(),
            answer=null(),
            error=null(),
            ended_at=null(),
            cancel_requested=False,
        )
        .returning(Question.id)
    )
    ids = connection.scalars(statement).all()
    if ids:
        runs = select(Run.id).where(Run.question_id.in_(ids))
        failed = update(Step).where(Step.run_id.in_(runs), Step.state == "failed")
        connection.execute(failed.values(state="waiting", reply=null()))
        batches = select(Question.batch_id).where(Question.id.in_(ids))
        connection.execute(
            update(Batch).where(Batch.id.in_(batches)).values(ended_at=null(), cancel_requested=False),
        )
    return len(ids)

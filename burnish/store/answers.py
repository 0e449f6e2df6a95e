"""Answers as they are read: one by its id, or those of a job one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, Select, select

from burnish.errors import NotFound
from burnish.store.models import Batch, Collection, Question
from burnish.store.progress import Usage

ROWS_PER_PAGE = 500
_SOURCE_FIELDS = ("document_id", "title", "chunk_id", "start", "end", "score")


@dataclass(frozen=True)
class StoredAnswer:
    """A question and what it came to, or how it stands. Without an outcome there is no answer yet.

    citations: verbatim quotes, with where they stand in their documents. sources: the passages that the answer rests
    on, without their texts. error: {"type", "message", "retryable"} where the outcome is a failure.
    """

    id: UUID
    job_id: UUID | None
    custom_id: str
    question: str
    language: str
    strategy: str
    collection: str
    config: Mapping[str, Any]
    state: str
    outcome: str | None
    answer: str | None
    confidence: float | None
    citations: Sequence[Mapping[str, Any]]
    sources: Sequence[Mapping[str, Any]]
    trace: Mapping[str, Any]
    error: Mapping[str, Any] | None
    usage: Usage
    gold: Mapping[str, Any] | None
    metadata: Mapping[str, Any]
    created_at: datetime
    admitted_at: datetime | None
    ended_at: datetime | None


def read_answer(connection: Connection, answer_id: UUID) -> StoredAnswer:
    """One answer. Raises NotFound."""
    row = connection.execute(_answers().where(Question.id == answer_id)).one_or_none()
    if row is None:
        raise NotFound(f"there is no answer {answer_id}")
    return _answer_of(row)


def read_results(database: Engine, job_id: UUID, outcome: str | None = None) -> Iterator[StoredAnswer]:
    """The answers of a job that have ended, in the order of submission, perhaps only those with one outcome.

    They are read page by page, each in a transaction of its own: a slow reader holds nothing, a job of any size fits.
    """
    # Ids sort by time, and a job is older than its questions: so its own id is where the first page starts.
    last = job_id
    while True:
        with database.begin() as connection:
            rows = connection.execute(_page(job_id, outcome, last)).all()
        yield from map(_answer_of, rows)
        if len(rows) < ROWS_PER_PAGE:
            return
        last = rows[-1].id


def check_job(connection: Connection, job_id: UUID) -> None:
    """Raises NotFound where there is no such job."""
    if connection.scalar(select(Batch.id).where(Batch.id == job_id)) is None:
        raise NotFound(f"there is no job {job_id}")


def _page(job_id: UUID, outcome: str | None, last: UUID) -> Select[Any]:
    statement = (
        _answers()
        .where(Question.batch_id == job_id, Question.state == "ended", Question.id > last)
        .order_by(Question.id)
        .limit(ROWS_PER_PAGE)
    )
    return statement if outcome is None else statement.where(Question.outcome == outcome)


def _answers() -> Select[Any]:
    return (
        select(Question.id, Question.batch_id, Question.custom_id, Question.text, Question.language)
        .add_columns(Question.strategy, Question.state, Question.outcome, Question.answer, Question.error)
        .add_columns(Question.calls, Question.unpriced_calls, Question.prompt_tokens, Question.completion_tokens)
        .add_columns(Question.cost_usd, Question.config, Question.gold, Question.details)
        .add_columns(Question.created_at, Question.admitted_at, Question.ended_at)
        .add_columns(Collection.name.label("collection"))
        .join(Collection, Collection.id == Question.collection_id)
    )


def _answer_of(row: Row[Any]) -> StoredAnswer:
    answer: Mapping[str, Any] = row.answer or {}
    evidence: Sequence[Mapping[str, Any]] = answer.get("evidence", ())
    return StoredAnswer(
        id=row.id,
        job_id=row.batch_id,
        custom_id=row.custom_id,
        question=row.text,
        language=row.language,
        strategy=row.strategy,
        collection=row.collection,
        config=row.config,
        state=row.state,
        outcome=row.outcome,
        answer=answer.get("text"),
        confidence=answer.get("confidence"),
        citations=answer.get("citations", ()),
        sources=[{name: passage[name] for name in _SOURCE_FIELDS} for passage in evidence],
        trace=answer.get("trace", {}),
        error=row.error,
        usage=Usage(row.calls, row.unpriced_calls, row.prompt_tokens, row.completion_tokens, float(row.cost_usd)),
        gold=row.gold,
        metadata=row.details,
        created_at=row.created_at,
        admitted_at=row.admitted_at,
        ended_at=row.ended_at,
    )

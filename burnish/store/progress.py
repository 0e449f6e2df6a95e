"""How far jobs have come: counted from the states of their questions at the moment of asking, so never out of step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection, Row, Select, func, select

from burnish.errors import NotFound
from burnish.store.models import OUTCOMES, Batch, Question

Status = Literal["queued", "running", "cancelling", "ended"]


@dataclass(frozen=True)
class Usage:
    """What questions have taken. cost_usd: of the calls whose price is known; `unpriced_calls` are the others."""

    calls: int
    unpriced_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


@dataclass(frozen=True)
class Progress:
    """A job: `counts` of its questions by "queued", "running" and the six outcomes, which add up to `total`.

    rejected: how many lines could not be accepted; they are not in `total`.
    """

    id: UUID
    name: str | None
    total: int
    rejected: int
    counts: Mapping[str, int]
    usage: Usage
    cancel_requested: bool
    created_at: datetime
    ended_at: datetime | None

    @property
    def status(self) -> Status:
        if self.counts["queued"] + self.counts["running"] == 0:
            return "ended"
        if self.cancel_requested:
            return "cancelling"
        return "queued" if self.counts["queued"] == self.total else "running"


def read_progress(connection: Connection, job_id: UUID) -> Progress:
    """One job. Raises NotFound."""
    row = connection.execute(_progress().where(Batch.id == job_id)).one_or_none()
    if row is None:
        raise NotFound(f"there is no job {job_id}")
    return _progress_of(row)


def list_progress(connection: Connection, limit: int, after: UUID | None = None) -> Sequence[Progress]:
    """Jobs, newest first; `after` is the id of the last one already seen."""
    wanted = select(Batch.id).order_by(Batch.id.desc()).limit(limit)
    if after is not None:
        wanted = wanted.where(Batch.id < after)
    rows = connection.execute(_progress().where(Batch.id.in_(wanted)).order_by(Batch.id.desc()))
    return [_progress_of(row) for row in rows]


def read_rejected(connection: Connection, job_id: UUID) -> Sequence[Any]:
    """The lines of a job that were not accepted, each with its number, code and message. Raises NotFound."""
    rejected = connection.scalar(select(Batch.rejected).where(Batch.id == job_id))
    if rejected is None:
        raise NotFound(f"there is no job {job_id}")
    return rejected


def _progress() -> Select[Any]:
    states = [func.count().filter(Question.state == state).label(state) for state in ("queued", "running")]
    outcomes = [func.count().filter(Question.outcome == outcome).label(outcome) for outcome in OUTCOMES]
    taken = ("calls", "unpriced_calls", "prompt_tokens", "completion_tokens", "cost_usd")
    return (
        select(Batch.id, Batch.name, Batch.total, Batch.cancel_requested, Batch.created_at)
        .add_columns(func.jsonb_array_length(Batch.rejected).label("rejected"))
        .add_columns(*states, *outcomes)
        .add_columns(*(func.coalesce(func.sum(getattr(Question, name)), 0).label(name) for name in taken))
        .add_columns(func.max(Question.ended_at).label("last_ended_at"))
        .outerjoin(Question, Question.batch_id == Batch.id)
        .group_by(Batch.id)
    )


def _progress_of(row: Row[Any]) -> Progress:
    counts = {name: getattr(row, name) for name in ("queued", "running", *OUTCOMES)}
    is_open = counts["queued"] + counts["running"] > 0
    return Progress(
        id=row.id,
        name=row.name,
        total=row.total,
        rejected=row.rejected,
        counts=counts,
        usage=Usage(
            calls=row.calls,
            unpriced_calls=row.unpriced_calls,
            prompt_tokens=int(row.prompt_tokens),
            completion_tokens=int(row.completion_tokens),
            cost_usd=float(row.cost_usd),
        ),
        cancel_requested=row.cancel_requested,
        created_at=row.created_at,
        ended_at=None if is_open else row.last_ended_at,
    )

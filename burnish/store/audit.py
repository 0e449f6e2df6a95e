"""The typed audit rows. Each has its place in its run, so writing one again changes nothing but its content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table
from sqlalchemy.dialects.postgresql import Insert, insert

from burnish.results import AuditRecord, HypotheticalDocument, RefinementStep, SubAnswer
from burnish.store.tables import hypothetical_documents, refinement_steps, sub_answers


def _upsert(table: Table, place: str) -> Insert:
    """One row at its place in its run. That of a run that is tried again takes the place of the earlier one."""
    statement = insert(table)
    content = {
        column.name: statement.excluded[column.name]
        for column in table.c
        if column.name not in ("id", "created_at", "run_id", place)
    }
    return statement.on_conflict_do_update(index_elements=["run_id", place], set_=content)


_UPSERTS: dict[type[AuditRecord], Insert] = {
    RefinementStep: _upsert(refinement_steps, "iteration"),
    SubAnswer: _upsert(sub_answers, "position"),
    HypotheticalDocument: _upsert(hypothetical_documents, "position"),
}


def write(connection: Connection, run_id: UUID, step_id: UUID, records: Iterable[AuditRecord]) -> None:
    """Write the rows of one note."""
    for record in records:
        values = {"run_id": run_id, "step_id": step_id, **_values_of(record)}
        connection.execute(_UPSERTS[type(record)], values)


def _values_of(record: AuditRecord) -> dict[str, Any]:
    match record:
        case RefinementStep():
            return _refinement_values(record)
        case SubAnswer():
            return {**asdict(record), "outcome": record.outcome.value}
        case HypotheticalDocument():
            return asdict(record)


def _refinement_values(step: RefinementStep) -> dict[str, Any]:
    evaluation = asdict(step.evaluation)
    return {
        "iteration": step.iteration,
        "query": step.query,
        "answer": step.answer,
        "confidence": step.confidence,
        **evaluation,
        "issues": list(step.evaluation.issues),
        "suggestions": list(step.evaluation.suggestions),
    }

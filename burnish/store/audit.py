"""The typed audit rows. Each has its place in its run, so writing one again changes nothing but its content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from burnish.results import AuditRecord, HypotheticalDocument, RefinementStep, SubAnswer
from burnish.store.models import HypotheticalDocumentRow, RefinementStepRow, SubAnswerRow

AuditRow = type[RefinementStepRow | SubAnswerRow | HypotheticalDocumentRow]


def write(session: Session, run_id: UUID, step_id: UUID, records: Iterable[AuditRecord]) -> None:
    """Write the rows of one note. Those of a run that is tried again take the place of the earlier ones."""
    for record in records:
        row, place, values = _row_of(record)
        statement = insert(row).values(run_id=run_id, step_id=step_id, **values)
        session.execute(
            statement.on_conflict_do_update(index_elements=["run_id", place], set_={"step_id": step_id, **values})
        )


def _row_of(record: AuditRecord) -> tuple[AuditRow, str, dict[str, Any]]:
    match record:
        case RefinementStep():
            return RefinementStepRow, "iteration", _refinement_values(record)
        case SubAnswer():
            return SubAnswerRow, "position", {**asdict(record), "outcome": record.outcome.value}
        case HypotheticalDocument():
            return HypotheticalDocumentRow, "position", asdict(record)


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

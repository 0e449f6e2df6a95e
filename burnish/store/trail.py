"""The audit trail of a question, read back as the tree it is: runs, their steps in order, the runs below those.

A step stands with the call of the language model that it took and the typed rows that were written with it. Each table
is read once, whatever the size of the tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import Connection, Select, inspect, select

from burnish.store.models import (
    HypotheticalDocumentRow,
    LLMCall,
    RefinementStepRow,
    Run,
    Step,
    SubAnswerRow,
)

T = TypeVar("T")

_AUDIT_TABLES: Mapping[str, type[RefinementStepRow | SubAnswerRow | HypotheticalDocumentRow]] = {
    "refinement_step": RefinementStepRow,
    "sub_answer": SubAnswerRow,
    "hypothetical_document": HypotheticalDocumentRow,
}
_NOT_CONTENT = frozenset({"id", "run_id", "step_id", "created_at"})


@dataclass(frozen=True)
class CallTrail:
    """A call of the language model. cost_usd: None where its price is not known. tries: until a reply came."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: int
    tries: int
    request: Mapping[str, Any]
    reply: Mapping[str, Any]


@dataclass(frozen=True)
class StepTrail:
    """One step: what was asked and replied, every failed try, and what came of it.

    records: the typed audit rows written with it, each with its "type". run: the run of a sub-question.
    """

    id: UUID
    position: int
    kind: str
    state: str
    request: Mapping[str, Any]
    reply: Any
    failures: Sequence[Mapping[str, Any]]
    created_at: datetime
    ended_at: datetime | None
    call: CallTrail | None
    records: Sequence[Mapping[str, Any]]
    run: RunTrail | None


@dataclass(frozen=True)
class RunTrail:
    """One run of a strategy. text: the question or sub-question; depth: 0 for the question itself.

    trace: what the strategy decided, with its counts; empty before the end.
    """

    id: UUID
    strategy: str
    depth: int
    text: str
    state: str
    outcome: str | None
    answer: str | None
    confidence: float | None
    trace: Mapping[str, Any]
    error: Mapping[str, Any] | None
    created_at: datetime
    ended_at: datetime | None
    steps: Sequence[StepTrail]


@dataclass(frozen=True)
class _Rows:
    steps: Mapping[UUID, Sequence[Step]]
    calls: Mapping[UUID, CallTrail]
    records: Mapping[UUID, Sequence[Mapping[str, Any]]]
    children: Mapping[UUID, Run]


def read_trail(connection: Connection, question_id: UUID) -> RunTrail | None:
    """The question's run with all that is below it; None where it has not begun."""
    runs = _read(connection, select(Run).where(Run.question_id == question_id))
    root = next((run for run in runs if run.parent_step_id is None), None)
    if root is None:
        return None
    rows = _Rows(
        steps=_steps(connection, question_id),
        calls=_calls(connection, question_id),
        records=_records(connection, question_id),
        children={run.parent_step_id: run for run in runs if run.parent_step_id},
    )
    return _run_trail(root, rows)


def _read(connection: Connection, statement: Select[T]) -> Sequence[T]:
    """Rows of a table. They have the attributes of its class, without being objects that anything keeps track of."""
    return cast("Sequence[T]", connection.execute(statement).all())


def _steps(connection: Connection, question_id: UUID) -> Mapping[UUID, Sequence[Step]]:
    statement = select(Step).join(Run, Run.id == Step.run_id).where(Run.question_id == question_id)
    found: defaultdict[UUID, list[Step]] = defaultdict(list)
    for step in _read(connection, statement.order_by(Step.position, Step.id)):
        found[step.run_id].append(step)
    return found


def _calls(connection: Connection, question_id: UUID) -> Mapping[UUID, CallTrail]:
    statement = select(LLMCall).where(LLMCall.question_id == question_id)
    return {call.step_id: _call_trail(call) for call in _read(connection, statement)}


def _records(connection: Connection, question_id: UUID) -> Mapping[UUID, Sequence[Mapping[str, Any]]]:
    found: defaultdict[UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for name, table in _AUDIT_TABLES.items():
        columns = [column.key for column in inspect(table).column_attrs if column.key not in _NOT_CONTENT]
        statement = select(table).join(Run, Run.id == table.run_id).where(Run.question_id == question_id)
        for row in connection.execute(statement.order_by(table.id)):
            content = {column: getattr(row, column) for column in columns}
            found[row.step_id].append({"type": name, **content})
    return found


def _run_trail(run: Run, rows: _Rows) -> RunTrail:
    answer: Mapping[str, Any] = run.answer or {}
    return RunTrail(
        id=run.id,
        strategy=run.strategy,
        depth=run.depth,
        text=run.text,
        state=run.state,
        outcome=run.outcome,
        answer=answer.get("text"),
        confidence=answer.get("confidence"),
        trace=answer.get("trace", {}),
        error=run.error,
        created_at=run.created_at,
        ended_at=run.ended_at,
        steps=[_step_trail(step, rows) for step in rows.steps.get(run.id, ())],
    )


def _step_trail(step: Step, rows: _Rows) -> StepTrail:
    child = rows.children.get(step.id)
    return StepTrail(
        id=step.id,
        position=step.position,
        kind=step.kind,
        state=step.state,
        request=step.request,
        reply=step.reply,
        failures=step.failures,
        created_at=step.created_at,
        ended_at=step.ended_at,
        call=rows.calls.get(step.id),
        records=rows.records.get(step.id, ()),
        run=_run_trail(child, rows) if child else None,
    )


def _call_trail(call: LLMCall) -> CallTrail:
    return CallTrail(
        model=call.model,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        cost_usd=None if call.cost_usd is None else float(call.cost_usd),
        latency_ms=call.latency_ms,
        tries=call.tries,
        request=call.request,
        reply=call.reply,
    )

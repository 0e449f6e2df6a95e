"""What a question takes: every call that was made for it, priced, and their sum, which its caps are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, update
from sqlalchemy.dialects.postgresql import insert

from burnish.results import Call
from burnish.store.tables import llm_calls, questions


@dataclass(frozen=True)
class Spent:
    """What a question has taken so far, with all its sub-questions, and whether its asker wants it still."""

    calls: int
    cost_usd: float
    cancel_requested: bool


_WRITE_CALLS = insert(llm_calls)


# To be set beside whatever else a statement says of a question; the parameters are those of `write_calls`.
ADDED = {
    column: column + bindparam(f"new_{column.name}", type_=column.type)
    for column in (
        questions.c.calls,
        questions.c.prompt_tokens,
        questions.c.completion_tokens,
        questions.c.cost_usd,
        questions.c.unpriced_calls,
    )
}
_SPEND = (
    update(questions)
    .where(questions.c.id == bindparam("question_id"))
    .values(ADDED)
    .returning(questions.c.calls, questions.c.cost_usd, questions.c.cancel_requested)
)


def spend(connection: Connection, question_id: UUID, calls: Sequence[tuple[UUID, Call]]) -> Spent:
    """Write calls under their steps' ids, add what they took to the question, and tell what that makes."""
    return spent_of(connection.execute(_SPEND, write_calls(connection, question_id, calls)).one())


def write_calls(connection: Connection, question_id: UUID, calls: Sequence[tuple[UUID, Call]]) -> dict[str, Any]:
    """Write calls under their steps' ids; what they took comes back, to be added to the question."""
    if calls:
        connection.execute(_WRITE_CALLS, [_call_values(question_id, step_id, call) for step_id, call in calls])
    took = [call for _, call in calls]
    return {
        "question_id": question_id,
        "new_calls": len(took),
        "new_prompt_tokens": sum(call.prompt_tokens for call in took),
        "new_completion_tokens": sum(call.completion_tokens for call in took),
        "new_cost_usd": sum(call.cost_usd or 0.0 for call in took),
        "new_unpriced_calls": sum(call.cost_usd is None for call in took),
    }


def _call_values(question_id: UUID, step_id: UUID, call: Call) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "step_id": step_id,
        "model": call.model,
        "request": dict(call.request),
        "reply": dict(call.reply),
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "cost_usd": call.cost_usd,
        "latency_ms": call.latency_ms,
        "tries": call.tries,
    }


def spent_of(row: Any) -> Spent:
    return Spent(row.calls, float(row.cost_usd), row.cancel_requested)

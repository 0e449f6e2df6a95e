"""The journal in Postgres: open a run with all its replies, record what it was told, end it.

Every function works within the caller's transaction, and every write under a lease that the caller made sure of
(`hold`) in that transaction, so that a reply, its audit rows, its cost and the run's new state are committed together
or not at all, and by one worker only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from burnish.config import StrategyConfig
from burnish.effects import Note, Subquestion
from burnish.engine import Item
from burnish.errors import BurnishError, EffectFailed
from burnish.results import Answer, Call, Outcome
from burnish.store import audit, codec
from burnish.store.fan_out import join
from burnish.store.leases import WITHOUT_SYNC, Lease, claim
from burnish.store.models import Collection, LLMCall, Question, Run, Step


@dataclass(frozen=True)
class Scope:
    """What a question is asked of, and how far it may go."""

    question_id: UUID
    custom_id: str
    lane: str
    collection_id: UUID
    dimension: int


@dataclass(frozen=True)
class Spent:
    """What a question has taken so far, with all its sub-questions, and whether its asker wants it still."""

    calls: int
    cost_usd: float
    cancel_requested: bool


@dataclass(frozen=True)
class OpenRun:
    """A run that this process holds, and everything it was told before."""

    lease: Lease
    attempts: int
    asked: Subquestion
    scope: Scope
    parent_step_id: UUID | None
    recorded: dict[str, Any]
    spent: Spent


@dataclass(frozen=True)
class Performed:
    """An item of a run with its reply, or the failure to get one, and the call it took if it took one."""

    item: Item
    reply: Any
    call: Call | None = None


def open_run(session: Session, run_id: UUID, lease_seconds: float) -> OpenRun | None:
    """Claim a run and read its journal; None where there is nothing to do for this process."""
    claimed = claim(session, "runs", run_id, lease_seconds)
    if claimed is None:
        return None
    run = session.get_one(Run, run_id, populate_existing=True)
    scope, config, spent = read_question(session, run.question_id)
    asked = Subquestion(
        question=run.text,
        strategy=run.strategy,
        config=StrategyConfig.from_mapping(run.config or config),
        depth=run.depth,
        ancestors=tuple(run.ancestors),
    )
    recorded = recall(session, run_id)
    return OpenRun(claimed[0], claimed[1], asked, scope, run.parent_step_id, recorded, spent)


def read_question(session: Session, question_id: UUID) -> tuple[Scope, dict[str, Any], Spent]:
    """A question's scope, its configuration as it was sent, and what it has taken so far."""
    statement = (
        select(Question.custom_id, Question.lane, Question.collection_id, Collection.dimension, Question.config)
        .add_columns(Question.calls, Question.cost_usd, Question.cancel_requested)
        .join(Collection, Collection.id == Question.collection_id)
        .where(Question.id == question_id)
    )
    row = session.execute(statement).one()
    scope = Scope(question_id, row.custom_id, row.lane, row.collection_id, row.dimension)
    return scope, row.config, Spent(row.calls, float(row.cost_usd), row.cancel_requested)


def recall(session: Session, run_id: UUID) -> dict[str, Any]:
    """Every reply that the run has had, by key. A sub-question's reply is the answer of its own run."""
    statement = (
        select(Step.key, Step.state, Step.request, Step.reply, Step.failures, Run.answer)
        .outerjoin(Run, Run.parent_step_id == Step.id)
        .where(Step.run_id == run_id, Step.state.in_(("done", "failed")))
    )
    return {row.key: _reply_of(row) for row in session.execute(statement)}


def _reply_of(row: Any) -> Any:
    if row.state == "failed":
        return codec.load_failure(row.failures[-1])
    return codec.load_answer(row.answer) if row.answer else codec.load_reply(row.request, row.reply)


def record(session: Session, run: OpenRun, performed: Sequence[Performed]) -> Spent | None:
    """Write replies with their audit rows and costs, under a lease that is held.

    Returns what the question has taken by now, or None where these replies took nothing.
    """
    if not performed:
        return None
    ids = _write_steps(session, [_step_values(run.lease.row_id, each) for each in performed])
    for each in performed:
        if isinstance(each.item.effect, Note):
            audit.write(session, run.lease.row_id, ids[each.item.key], each.item.effect.records)
    calls = [(ids[each.item.key], each.call) for each in performed if each.call]
    return spend(session, run.scope.question_id, calls) if calls else None


def _step_values(run_id: UUID, performed: Performed) -> dict[str, Any]:
    failed = isinstance(performed.reply, EffectFailed)
    return {
        "run_id": run_id,
        "key": performed.item.key,
        "position": performed.item.position,
        "kind": codec.kind_of(performed.item.effect),
        "request": codec.dump_effect(performed.item.effect),
        "reply": None if failed else codec.dump_reply(performed.reply),
        "failures": [codec.dump_failure(performed.reply)] if failed else [],
        "state": "failed" if failed else "done",
    }


def _write_steps(session: Session, steps: Sequence[dict[str, Any]]) -> dict[str, UUID]:
    """The ids by key. A step that failed before and was asked for again keeps its row and its failures."""
    statement = insert(Step).values(ended_at=func.clock_timestamp())
    statement = statement.on_conflict_do_update(
        index_elements=[Step.run_id, Step.key],
        set_={
            "reply": statement.excluded.reply,
            "state": statement.excluded.state,
            "failures": Step.failures.concat(statement.excluded.failures),
            "ended_at": statement.excluded.ended_at,
        },
    ).returning(Step.key, Step.id)
    return {row.key: row.id for row in session.execute(statement, list(steps))}


def spend(session: Session, question_id: UUID, calls: Sequence[tuple[UUID, Call]]) -> Spent:
    """Write calls under their steps' ids, add what they took to the question, and tell what that makes."""
    session.execute(insert(LLMCall), [_call_values(question_id, step_id, call) for step_id, call in calls])
    took = [call for _, call in calls]
    statement = (
        update(Question)
        .where(Question.id == question_id)
        .values(
            calls=Question.calls + len(took),
            prompt_tokens=Question.prompt_tokens + sum(call.prompt_tokens for call in took),
            completion_tokens=Question.completion_tokens + sum(call.completion_tokens for call in took),
            cost_usd=Question.cost_usd + sum(call.cost_usd or 0.0 for call in took),
            unpriced_calls=Question.unpriced_calls + sum(call.cost_usd is None for call in took),
        )
        .returning(Question.calls, Question.cost_usd, Question.cancel_requested)
    )
    row = session.execute(statement, execution_options=WITHOUT_SYNC).one()
    return Spent(row.calls, float(row.cost_usd), row.cancel_requested)


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


def end_run(session: Session, run: OpenRun, answer: Answer, failure: BurnishError | None) -> UUID | None:
    """End a run that is held with its answer. Returns the id of the parent run if that can go on now."""
    ended: dict[str, Any] = {
        "state": "ended",
        "outcome": answer.outcome.value,
        "answer": codec.dump_answer(answer),
        "error": codec.dump_failure(failure) if failure else None,
        "ended_at": func.clock_timestamp(),
    }
    statement = update(Run).where(Run.id == run.lease.row_id).values(**ended, lease_token=None, lease_until=None)
    session.execute(statement, execution_options=WITHOUT_SYNC)
    if run.parent_step_id is None:
        question = update(Question).where(Question.id == run.scope.question_id).values(**ended)
        session.execute(question, execution_options=WITHOUT_SYNC)
        return None
    failed = failure or (EffectFailed("the sub-question failed") if answer.outcome is Outcome.FAILED else None)
    return join(session, run.parent_step_id, None, codec.dump_failure(failed) if failed else None)

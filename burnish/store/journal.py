"""The journal in Postgres: open a run with all its replies, record what it was told, end it.

Every function works within the caller's transaction, and every write under a lease that the caller made sure of
(`hold`) in that transaction, so that a reply, its audit rows, its cost and the run's new state are committed together
or not at all, and by one worker only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from burnish.config import StrategyConfig
from burnish.effects import Ask, Note, Subquestion
from burnish.engine import Item
from burnish.errors import BurnishError, EffectFailed
from burnish.results import Answer, Call, Outcome
from burnish.store import audit, codec
from burnish.store.fan_out import end_parent_step
from burnish.store.leases import NO_LEASE, NOW, Lease, claim_of, claiming, held, write_held
from burnish.store.ledger import ADDED, Spent, spend, spent_of, write_calls
from burnish.store.tables import collections, questions, runs, steps


@dataclass(frozen=True)
class Scope:
    """What a question is asked of, and how far it may go."""

    question_id: UUID
    custom_id: str
    lane: str
    collection_id: UUID
    dimension: int


@dataclass(frozen=True)
class OpenRun:
    """A run that this process holds, and everything it was told before.

    What was stored is read (`asked`, `recorded`) once the claim is committed: a row that cannot be read any more must
    run out of attempts like any other work that breaks off, and can be ended without being read.
    """

    lease: Lease
    attempts: int
    scope: Scope
    spent: Spent
    stored: Any
    journal: Sequence[Any]

    @cached_property
    def asked(self) -> Subquestion:
        """What the run is to answer."""
        row = self.stored
        config = StrategyConfig.from_mapping(row.config or row.question_config)
        return Subquestion(row.text, row.strategy, config, row.depth, tuple(row.ancestors))

    @cached_property
    def recorded(self) -> dict[str, Any]:
        """Every reply that the run has had, by key. A sub-question's reply is the answer of its own run."""
        return {row.key: _reply_of(row) for row in self.journal}


@dataclass(frozen=True)
class OpenStep:
    """A single call of a fan-out that this process holds. It is read as a run is."""

    lease: Lease
    attempts: int
    scope: Scope
    spent: Spent
    stored: Any

    @cached_property
    def ask(self) -> Ask:
        return codec.load_ask(self.stored.request)

    @cached_property
    def config(self) -> StrategyConfig:
        return StrategyConfig.from_mapping(self.stored.question_config)


@dataclass(frozen=True)
class Performed:
    """An item of a run with its reply, or the failure to get one, and the call it took if it took one."""

    item: Item
    reply: Any
    call: Call | None = None


_QUESTION_FACTS = (
    questions.c.id.label("question_id"),
    questions.c.custom_id,
    questions.c.lane,
    questions.c.collection_id,
    collections.c.dimension,
    questions.c.config.label("question_config"),
    questions.c.calls,
    questions.c.cost_usd,
    questions.c.cancel_requested,
)

_RUN_FACTS = (
    runs.c.attempts,
    runs.c.text,
    runs.c.strategy,
    runs.c.config,
    runs.c.depth,
    runs.c.ancestors,
    runs.c.parent_step_id,
)

_OPEN_RUN = (
    claiming("runs")
    .where(questions.c.id == runs.c.question_id, collections.c.id == questions.c.collection_id)
    .returning(*_RUN_FACTS, *_QUESTION_FACTS)
)

_OPEN_STEP = (
    claiming("steps")
    .where(
        runs.c.id == steps.c.run_id,
        questions.c.id == runs.c.question_id,
        collections.c.id == questions.c.collection_id,
    )
    .returning(steps.c.attempts, steps.c.request, *_QUESTION_FACTS)
)

# Not within the claim: a statement that waited for another's commit still sees the table as it was before.
_RECALL = (
    select(steps.c.key, steps.c.state, steps.c.request, steps.c.reply, steps.c.failures, runs.c.answer)
    .outerjoin(runs, runs.c.parent_step_id == steps.c.id)
    .where(steps.c.run_id == bindparam("run_id"), steps.c.state.in_(("done", "failed")))
)

_new_step = insert(steps).values(ended_at=NOW)
# A step that failed before and was asked for again keeps its row and its failures.
_WRITE_STEPS = _new_step.on_conflict_do_update(
    index_elements=[steps.c.run_id, steps.c.key],
    set_={
        "reply": _new_step.excluded.reply,
        "state": _new_step.excluded.state,
        "failures": steps.c.failures.concat(_new_step.excluded.failures),
        "ended_at": _new_step.excluded.ended_at,
    },
).returning(steps.c.key, steps.c.id)

_END_RUN = held("runs").values(state="ended", ended_at=NOW, **NO_LEASE).returning(runs.c.id)

_END_QUESTION = (
    update(questions)
    .where(questions.c.id == bindparam("question_id"))
    .values({**ADDED, questions.c.state: "ended", questions.c.ended_at: NOW})
)


def open_run(connection: Connection, run_id: UUID, lease_seconds: float) -> OpenRun | None:
    """Claim a run and read its journal; None where there is nothing to do for this process."""
    lease, parameters = claim_of("runs", run_id, lease_seconds)
    row = connection.execute(_OPEN_RUN, parameters).one_or_none()
    if row is None:
        return None
    journal = connection.execute(_RECALL, {"run_id": run_id}).all()
    return OpenRun(lease, row.attempts, _scope(row), spent_of(row), row, journal)


def open_step(connection: Connection, step_id: UUID, lease_seconds: float) -> OpenStep | None:
    """Claim a single call; None where there is nothing to do for this process."""
    lease, parameters = claim_of("steps", step_id, lease_seconds)
    row = connection.execute(_OPEN_STEP, parameters).one_or_none()
    if row is None:
        return None
    return OpenStep(lease, row.attempts, _scope(row), spent_of(row), row)


def _scope(row: Any) -> Scope:
    return Scope(row.question_id, row.custom_id, row.lane, row.collection_id, row.dimension)


def _reply_of(row: Any) -> Any:
    if row.state == "failed":
        return codec.load_failure(row.failures[-1])
    return codec.load_answer(row.answer) if row.answer else codec.load_reply(row.request, row.reply)


def record(connection: Connection, run: OpenRun, performed: Sequence[Performed]) -> Spent | None:
    """Write replies with their audit rows and costs; in the same transaction the lease must be seen to be held.

    Returns what the question has taken by now, or None where these replies took nothing.
    """
    calls = _write(connection, run, performed)
    return spend(connection, run.scope.question_id, calls) if calls else None


def _write(connection: Connection, run: OpenRun, performed: Sequence[Performed]) -> list[tuple[UUID, Call]]:
    """Write all but the calls, which come back with the ids of their steps."""
    if not performed:
        return []
    written = connection.execute(_WRITE_STEPS, [_step_values(run.lease.row_id, each) for each in performed])
    ids = {row.key: row.id for row in written}
    for each in performed:
        if isinstance(each.item.effect, Note):
            audit.write(connection, run.lease.row_id, ids[each.item.key], each.item.effect.records)
    return [(ids[each.item.key], each.call) for each in performed if each.call]


def _step_values(run_id: UUID, performed: Performed) -> dict[str, Any]:
    failed = isinstance(performed.reply, EffectFailed)
    return {
        "run_id": run_id,
        **codec.dump_item(performed.item),
        "reply": None if failed else codec.dump_reply(performed.reply),
        "failures": [codec.dump_failure(performed.reply)] if failed else [],
        "state": "failed" if failed else "done",
    }


def end_run(
    connection: Connection, run: OpenRun, performed: Sequence[Performed], answer: Answer, failure: BurnishError | None
) -> UUID | None:
    """Record the last replies and end a run that is held. Returns the id of the parent run if that can go on now.

    Raises LeaseLost.
    """
    ended = {
        "outcome": answer.outcome.value,
        "answer": codec.dump_answer(answer),
        "error": codec.dump_failure(failure) if failure else None,
    }
    write_held(connection, _END_RUN, run.lease, ended)
    calls = _write(connection, run, performed)
    if run.stored.parent_step_id is None:
        connection.execute(_END_QUESTION, {**write_calls(connection, run.scope.question_id, calls), **ended})
        return None
    failed = failure or (EffectFailed("the sub-question failed") if answer.outcome is Outcome.FAILED else None)
    ready = end_parent_step(connection, run.stored.parent_step_id, codec.dump_failure(failed) if failed else None)
    if calls:
        spend(connection, run.scope.question_id, calls)
    return ready

"""A run that fans out waits until all that it asked for has ended; the last one to end makes it ready.

The count of what is still out stands in the run itself and is taken down in the very transaction that ends an item, so
exactly one transaction sees it reach nought. The chord that carries the messages is only a hint: losing it, or its
body arriving twice or too early, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, case, null, update
from sqlalchemy.dialects.postgresql import JSONB, insert

from burnish.effects import Subquestion
from burnish.engine import Item
from burnish.store import codec
from burnish.store.leases import NO_LEASE, NOW, Lease, LeaseLost, held, write_held
from burnish.store.tables import runs, steps

_PARK = held("runs").values(state="waiting", attempts=0, **NO_LEASE).returning(runs.c.id)

_HAND_OVER = held("runs").values(state="ready", attempts=0, enqueued_at=NOW, **NO_LEASE).returning(runs.c.id)

_new_step = insert(steps).values(enqueued_at=NOW)
_MAKE_STEPS = _new_step.on_conflict_do_update(
    index_elements=[steps.c.run_id, steps.c.key],
    set_={"state": _new_step.excluded.state, "attempts": 0, "enqueued_at": NOW, "lease_token": null()},
).returning(steps.c.key, steps.c.id)

_READY_AGAIN: dict[str, Any] = {"state": "ready", "attempts": 0, "enqueued_at": NOW}
_UNENDED: dict[str, Any] = {"outcome": null(), "answer": null(), "error": null(), "ended_at": null()}
_MAKE_CHILDREN = (
    insert(runs)
    .values(**_READY_AGAIN)
    .on_conflict_do_update(index_elements=[runs.c.parent_step_id], set_={**_READY_AGAIN, **_UNENDED})
    .returning(runs.c.parent_step_id, runs.c.id)
)

_END_STEP = (
    update(steps)
    .where(
        steps.c.id == bindparam("row_id"),
        steps.c.state.in_(("running", "waiting")),
        steps.c.lease_token.is_not_distinct_from(bindparam("token", type_=steps.c.lease_token.type)),
    )
    .values(failures=steps.c.failures.concat(bindparam("failed", type_=JSONB())), ended_at=NOW, **NO_LEASE)
    .returning(steps.c.run_id)
)

_is_last = runs.c.pending == 1
_COUNT_DOWN = (
    update(runs)
    .where(runs.c.id == bindparam("row_id"), runs.c.state == "waiting")
    .values(
        pending=runs.c.pending - 1,
        state=case((_is_last, "ready"), else_=runs.c.state),
        enqueued_at=case((_is_last, NOW), else_=runs.c.enqueued_at),
    )
    .returning(runs.c.pending)
)


@dataclass(frozen=True)
class Sent:
    """A piece of a fan-out that is ready: a step to perform, or a run to advance."""

    row_id: UUID
    is_run: bool
    task_name: str


def park(
    connection: Connection, lease: Lease, question_id: UUID, items: Sequence[tuple[Item, str]], task_name: str
) -> list[Sent]:
    """Make the items ready and let the run, which is held, wait for them. Raises LeaseLost.

    items: each with the name of the task that will do it. task_name: that of the task that goes on afterwards.
    """
    write_held(connection, _PARK, lease, {"pending": len(items), "task_name": task_name})
    made = connection.execute(_MAKE_STEPS, [_step_values(lease.row_id, item, name) for item, name in items])
    step_ids = {row.key: row.id for row in made}
    children = [
        _child_values(step_ids[item.key], question_id, item.effect, name)
        for item, name in items
        if isinstance(item.effect, Subquestion)
    ]
    made = connection.execute(_MAKE_CHILDREN, children) if children else ()
    run_ids = {row.parent_step_id: row.id for row in made}
    return [_sent(step_ids[item.key], run_ids, name) for item, name in items]


def _step_values(run_id: UUID, item: Item, task_name: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        **codec.dump_item(item),
        "state": "waiting" if isinstance(item.effect, Subquestion) else "ready",
        "task_name": task_name,
    }


def _child_values(step_id: UUID, question_id: UUID, asked: Subquestion, task_name: str) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "parent_step_id": step_id,
        "depth": asked.depth,
        "text": asked.question,
        "strategy": asked.strategy,
        "config": asked.config.to_mapping(),
        "ancestors": list(asked.ancestors),
        "task_name": task_name,
    }


def _sent(step_id: UUID, run_ids: Mapping[UUID, UUID], task_name: str) -> Sent:
    run_id = run_ids.get(step_id)
    return Sent(run_id or step_id, run_id is not None, task_name)


def end_step(connection: Connection, lease: Lease, reply: Any, failure: dict[str, Any] | None) -> UUID | None:
    """End a step of a fan-out that is held. Returns the id of the run that waited for it if it was the last one out.

    Raises LeaseLost.
    """
    run_id = _end(connection, lease.row_id, lease.token, reply, failure)
    if run_id is None:
        raise LeaseLost(lease)
    return _count_down(connection, run_id)


def end_parent_step(connection: Connection, step_id: UUID, failure: dict[str, Any] | None) -> UUID | None:
    """End the step whose child run has ended. Returns as `end_step` does."""
    run_id = _end(connection, step_id, None, None, failure)
    return _count_down(connection, run_id) if run_id else None


def _end(
    connection: Connection, step_id: UUID, token: UUID | None, reply: Any, failure: dict[str, Any] | None
) -> UUID | None:
    parameters = {
        "row_id": step_id,
        "token": token,
        "state": "failed" if failure else "done",
        "reply": reply,
        "failed": [failure] if failure else [],
    }
    return connection.execute(_END_STEP, parameters).scalar_one_or_none()


def _count_down(connection: Connection, run_id: UUID) -> UUID | None:
    left = connection.execute(_COUNT_DOWN, {"row_id": run_id}).scalar_one_or_none()
    return run_id if left == 0 else None


def hand_over(connection: Connection, lease: Lease, task_name: str) -> None:
    """Make a run that is held ready for the task that goes on with it. Raises LeaseLost."""
    write_held(connection, _HAND_OVER, lease, {"task_name": task_name})

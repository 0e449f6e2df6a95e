"""Who works on what: claiming, renewing and giving back.

A run or a step is worked on by whoever holds its lease. To claim is to write a fresh token where the work is ready or
its last lease has run out; every later write repeats the token, so one who lost the lease can write nothing. A claim
counts as an attempt until something is recorded: work that takes down every process that touches it runs out of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Update, and_, func, or_, update
from sqlalchemy.orm import Session

from burnish.errors import BurnishError
from burnish.store.models import Run, Step

# Rows are never loaded as objects here, so there is nothing in the session to keep in step.
WITHOUT_SYNC = {"synchronize_session": False}

Table = Literal["runs", "steps"]


class LeaseLost(BurnishError):
    """Another process has taken this work over; what was done here is dropped."""


@dataclass(frozen=True)
class Lease:
    """The right to work on a row of `table` until it runs out."""

    table: Table
    row_id: UUID
    token: UUID


_MODELS: dict[Table, type[Run | Step]] = {"runs": Run, "steps": Step}


def in_seconds(seconds: float) -> ColumnElement[datetime]:
    """The time so many seconds from now, by the server's clock: workers' clocks may differ."""
    return func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def claim(session: Session, table: Table, row_id: UUID, seconds: float) -> tuple[Lease, int] | None:
    """The lease and which attempt this is, or None where the work is done, held by another or not ready."""
    row, token = _MODELS[table], uuid4()
    expired = and_(row.state == "running", row.lease_until < func.clock_timestamp())
    statement = (
        update(row)
        .where(row.id == row_id, or_(row.state == "ready", expired))
        .values(state="running", lease_token=token, attempts=row.attempts + 1, lease_until=in_seconds(seconds))
        .returning(row.attempts)
    )
    attempts = session.execute(statement, execution_options=WITHOUT_SYNC).scalar()
    return None if attempts is None else (Lease(table, row_id, token), attempts)


def hold(session: Session, lease: Lease, seconds: float) -> None:
    """Make sure, for the rest of the transaction, that the lease is held still. Raises LeaseLost if it is not."""
    row = _MODELS[lease.table]
    statement = _held(lease).values(attempts=0, lease_until=in_seconds(seconds)).returning(row.id)
    if session.execute(statement, execution_options=WITHOUT_SYNC).scalar() is None:
        raise LeaseLost(f"the lease on {lease.table} {lease.row_id} was lost")


def renew(session: Session, held: Iterable[Lease], seconds: float) -> None:
    """Put off the end of all these leases."""
    leases = tuple(held)
    for table, row in _MODELS.items():
        tokens = [lease.token for lease in leases if lease.table == table]
        if tokens:
            mine = update(row).where(row.lease_token.in_(tokens), row.state == "running")
            session.execute(mine.values(lease_until=in_seconds(seconds)), execution_options=WITHOUT_SYNC)


def release(session: Session, lease: Lease) -> None:
    """Give unfinished work back, to be sent again by the reconciler; the attempt stays counted."""
    given_back = _held(lease).values(
        state="ready", lease_token=None, lease_until=None, enqueued_at=func.clock_timestamp()
    )
    session.execute(given_back, execution_options=WITHOUT_SYNC)


def _held(lease: Lease) -> Update:
    row = _MODELS[lease.table]
    return update(row).where(row.id == lease.row_id, row.lease_token == lease.token, row.state == "running")

"""Who works on what: claiming, renewing and giving back.

A run or a step is worked on by whoever holds its lease. To claim is to write a fresh token where the work is ready or
its last lease has run out; every later write repeats the token, so one who lost the lease can write nothing. A claim
counts as an attempt until something is recorded: work that takes down every process that touches it runs out of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID, uuid4

from sqlalchemy import Connection, Table, Update, and_, bindparam, func, or_, update

from burnish.errors import BurnishError
from burnish.store.tables import runs, steps

NOW = func.clock_timestamp()  # of the server: workers' clocks may differ
NO_LEASE: dict[str, Any] = {"lease_token": None, "lease_until": None}

TableName = Literal["runs", "steps"]
_TABLES: dict[TableName, Table] = {"runs": runs, "steps": steps}


@dataclass(frozen=True)
class Lease:
    """The right to work on a row of `table` until it runs out."""

    table: TableName
    row_id: UUID
    token: UUID

    @property
    def parameters(self) -> dict[str, Any]:
        """What statements call the row and the right to it."""
        return {"row_id": self.row_id, "token": self.token}


class LeaseLost(BurnishError):
    """Another process has taken this work over; what was done here is dropped."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"the lease on {lease.table} {lease.row_id} was lost")


_LEASE_END: Any = NOW + func.make_interval(0, 0, 0, 0, 0, 0, bindparam("lease_seconds"))


def claiming(table: TableName) -> Update:
    """Claims a row: one that is ready, or whose last lease has run out. For `claim_of`'s parameters."""
    row = _TABLES[table].c
    expired = and_(row.state == "running", row.lease_until < NOW)
    return (
        update(_TABLES[table])
        .where(row.id == bindparam("row_id"), or_(row.state == "ready", expired))
        .values(state="running", lease_token=bindparam("token"), attempts=row.attempts + 1, lease_until=_LEASE_END)
    )


def claim_of(table: TableName, row_id: UUID, seconds: float) -> tuple[Lease, dict[str, Any]]:
    """A lease to be claimed, and the parameters of `claiming`."""
    lease = Lease(table, row_id, uuid4())
    return lease, {**lease.parameters, "lease_seconds": seconds}


def held(table: TableName) -> Update:
    """An update of a row under the lease that is held on it; see `write_held`."""
    row = _TABLES[table].c
    return update(_TABLES[table]).where(
        row.id == bindparam("row_id"), row.lease_token == bindparam("token"), row.state == "running"
    )


def write_held(connection: Connection, statement: Update, lease: Lease, values: dict[str, Any]) -> None:
    """Execute a `held` statement, which must return something. Raises LeaseLost, and so undoes the transaction.

    values: further columns to set, and parameters of the statement.
    """
    if connection.execute(statement, {**lease.parameters, **values}).scalar() is None:
        raise LeaseLost(lease)


_HOLD = {
    name: held(name).values(attempts=0, lease_until=_LEASE_END).returning(table.c.id) for name, table in _TABLES.items()
}
_RELEASE = {name: held(name).values(state="ready", enqueued_at=NOW, **NO_LEASE) for name in _TABLES}
_RENEW = {
    name: update(table)
    .where(table.c.lease_token.in_(bindparam("tokens", expanding=True)), table.c.state == "running")
    .values(lease_until=_LEASE_END)
    for name, table in _TABLES.items()
}


def hold(connection: Connection, lease: Lease, seconds: float) -> None:
    """Make sure, for the rest of the transaction, that the lease is held still. Raises LeaseLost if it is not."""
    write_held(connection, _HOLD[lease.table], lease, {"lease_seconds": seconds})


def renew(connection: Connection, leases: Iterable[Lease], seconds: float) -> None:
    """Put off the end of all these leases."""
    mine = tuple(leases)
    for name in _TABLES:
        tokens = [lease.token for lease in mine if lease.table == name]
        if tokens:
            connection.execute(_RENEW[name], {"tokens": tokens, "lease_seconds": seconds})


def release(connection: Connection, lease: Lease) -> None:
    """Give unfinished work back, to be sent again by the reconciler; the attempt stays counted."""
    connection.execute(_RELEASE[lease.table], lease.parameters)

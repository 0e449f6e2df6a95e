"""Connections to Postgres: one engine a process, and short transactions."""

from __future__ import annotations

from sqlalchemy import Engine, create_engine

CONNECT_TIMEOUT_SECONDS = 5
PREPARE_AFTER = 2  # executions of a statement on a connection
STATEMENT_TIMEOUT_MILLISECONDS = 60_000


def make_engine(database_url: str, *, pool_size: int = 5, application: str = "burnish") -> Engine:
    """Use as `with engine.begin() as connection:`; the transaction commits at the end of the block.

    It fails within seconds, rather than hang, where the server is down.
    """
    return create_engine(
        database_url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_recycle=1800,
        pool_use_lifo=True,  # the fewest connections, each with its statements prepared
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "prepare_threshold": PREPARE_AFTER,
            "application_name": application,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MILLISECONDS} -c timezone=UTC",
        },
    )

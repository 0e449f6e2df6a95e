"""Where Alembic finds the tables and the database: the address comes from the settings, never from alembic.ini."""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection, NullPool, create_engine

from burnish.settings import Settings
from burnish.store.models import Base
from burnish.store.vector_index import INDEX_PREFIX


def is_ours(_object: Any, name: str | None, kind: str, _reflected: bool, _compared: Any) -> bool:
    return not (kind == "index" and (name or "").startswith(INDEX_PREFIX))


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection, target_metadata=Base.metadata, include_object=is_ours, compare_server_default=True
    )
    with context.begin_transaction():
        context.run_migrations()


def database_url() -> str:
    url = context.config.get_main_option("sqlalchemy.url") or Settings().database_url
    if not url:
        raise SystemExit("set BURNISH_DATABASE_URL to the database to migrate, or run `burnish up`")
    return url


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with create_engine(database_url(), poolclass=NullPool).connect() as connection:
        migrate(connection)

"""Where Alembic finds the tables and the database: the address comes from the settings, never from alembic.ini."""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection, NullPool, create_engine

from burnish.commands.deployment import home_of, read_settings, settings_in_effect
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
    """The address that the caller gives, else that of BURNISH_DATABASE_URL, else that of what `burnish up` started."""
    if given := context.config.get_main_option("sqlalchemy.url"):
        return given
    settings = read_settings()
    url = settings.database_url or settings_in_effect(home_of(settings), settings).database_url
    if not url:
        raise SystemExit("no database to migrate: set BURNISH_DATABASE_URL, or run `burnish up` for an embedded one")
    return url


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with create_engine(database_url(), poolclass=NullPool).connect() as connection:
        migrate(connection)

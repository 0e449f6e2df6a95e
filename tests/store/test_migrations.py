"""The tables in the models and in the migrations are the same, both ways."""

from __future__ import annotations

from alembic import command
from sqlalchemy import create_engine, inspect

from burnish.store.models import Base
from tests.conftest import alembic_config


def test_the_migrations_make_just_what_the_models_say(database_url: str) -> None:
    command.check(alembic_config(database_url))


def test_a_downgrade_leaves_no_table_and_an_upgrade_brings_all_back(database_url: str) -> None:
    config = alembic_config(database_url)
    engine = create_engine(database_url)

    command.downgrade(config, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}

    command.upgrade(config, "head")
    assert set(inspect(engine).get_table_names()) == {"alembic_version", *Base.metadata.tables}
    engine.dispose()

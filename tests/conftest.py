"""The real servers of the tests: started once for the whole run, a fresh database and an empty broker for each test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import redis
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, make_url, text

from burnish.local.servers import Endpoints, start_servers, stop_servers
from burnish.store.database import make_engine

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "burnish_template"
_numbers = count(1)

# Nothing that a test does may reach a paid or remote model.
for name in [name for name in os.environ if name.startswith("BURNISH_") and name != "BURNISH_EVALDATA"] + [
    name for name in os.environ if name.endswith("_API_KEY")
]:
    if name not in {"BURNISH_TEST_MODEL_HOME"}:
        del os.environ[name]


@pytest.fixture(scope="session")
def evaldata() -> Path:
    """The folder of published question sets; tests that compare with them say so where it is absent."""
    folder = Path(os.environ.get("BURNISH_EVALDATA", ROOT.parent / "shared" / "evaldata"))
    if not folder.is_dir():
        pytest.skip(f"no published evaluation data at {folder} (set BURNISH_EVALDATA)")
    return folder


def alembic_config(database_url: str) -> Config:
    config = Config(ROOT / "alembic.ini")
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    return config


@pytest.fixture(scope="session")
def servers() -> Generator[Endpoints]:
    """Postgres with pgvector and Valkey, from the embedded wheels, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="burnish-tests-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o755)  # started by root, Postgres runs as another account
        endpoints = start_servers(home, model=False, model_path=None, report=lambda _line: None)
        try:
            yield endpoints
        finally:
            stop_servers(home)


def _statement(servers: Endpoints, statement: str) -> None:
    engine = create_engine(servers.database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.fixture(scope="session")
def migrated_template(servers: Endpoints) -> str:
    """The name of a migrated, empty database that others are copied from."""
    _statement(servers, f"CREATE DATABASE {TEMPLATE}")
    url = make_url(servers.database_url).set(database=TEMPLATE)
    command.upgrade(alembic_config(url.render_as_string(hide_password=False)), "head")
    return TEMPLATE


@pytest.fixture
def database_url(servers: Endpoints, migrated_template: str) -> Generator[str]:
    """A migrated database of the test's own."""
    name = f"test_{next(_numbers)}"
    _statement(servers, f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    yield make_url(servers.database_url).set(database=name).render_as_string(hide_password=False)
    _statement(servers, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Generator[Engine]:
    engine = make_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def redis_url(servers: Endpoints) -> str:
    """An empty broker."""
    client: Any = redis.Redis.from_url(servers.redis_url)  # pyright: ignore[reportUnknownMemberType]
    client.flushall()
    client.close()
    return servers.redis_url

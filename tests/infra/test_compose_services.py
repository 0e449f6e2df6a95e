"""What docker-compose.yml tells burnish's services to run does run, and their health checks tell the truth.

The commands are started as they stand in the file, on the servers of the tests.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import alembic.command
import yaml
from sqlalchemy import create_engine, inspect

from burnish.local.home import free_port
from burnish.store.models import Base
from burnish.task_queue import make_app
from tests.conftest import alembic_config

ROOT = Path(__file__).resolve().parents[2]
SERVICES = cast("dict[str, Any]", yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8")))["services"]
VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}")
PATIENCE_SECONDS = 120.0


def command(name: str) -> list[str]:
    """The command of one of our services with the defaults filled in, for this Python."""
    words = [VARIABLE.sub(lambda found: found[3] or "", word) for word in SERVICES[name]["command"]]
    assert words[0] == "python"
    return [sys.executable, *words[1:]]


@contextmanager
def service(
    name: str, environment: Mapping[str, str], folder: Path, *, port: int | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """The program of one of our services, as the compose file says, started from `folder`.

    port: where it shall listen on this machine, if its command says where.
    """
    here = {"0.0.0.0": "127.0.0.1", "8321": str(port)} if port else {}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("BURNISH_", "FLOWER_"))}
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "infra")))
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [here.get(word, word) for word in command(name)],
            env={**inherited, "PYTHONPATH": paths, "TMPDIR": str(folder), **environment},
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(what: Callable[[], Any], process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        logs = "\n".join(log.read_text("utf-8", "replace") for log in folder.glob("*.log"))
        assert process.poll() is None, logs
        assert time.monotonic() < deadline, logs
        time.sleep(0.2)


def health(*arguments: str, **environment: str) -> tuple[int, str]:
    argv = [sys.executable, str(ROOT / "infra" / "health.py"), *arguments]
    done = subprocess.run(argv, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_the_reconciler_is_healthy_while_it_makes_passes(database_url: str, redis_url: str, tmp_path: Path) -> None:
    environment = {"BURNISH_DATABASE_URL": database_url, "BURNISH_REDIS_URL": redis_url}
    assert health("reconciler", **environment) == (1, "no reconciler at this address is connected to the database\n")
    with service("reconciler", environment, tmp_path) as process:
        wait_for(lambda: health("reconciler", **environment)[0] == 0, process, tmp_path)
    code, said = health("reconciler", BURNISH_DATABASE_URL="postgresql+psycopg://nobody@127.0.0.1:1/none")
    assert code == 1
    assert said.startswith("the database does not answer")


def test_a_worker_touches_its_sign_of_life_as_long_as_it_lives(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    environment = {"BURNISH_DATABASE_URL": database_url, "BURNISH_REDIS_URL": redis_url, "BURNISH_MODEL": "openai/none"}
    sign = tmp_path / "burnish-worker-alive"
    assert str(Path("/tmp") / sign.name) in " ".join(SERVICES["worker-batch"]["healthcheck"]["test"])
    with service("worker-batch", environment, tmp_path) as process:
        wait_for(sign.exists, process, tmp_path)
        sign.unlink()
        wait_for(sign.exists, process, tmp_path)
        app: Any = make_app(redis_url)
        wait_for(lambda: app.control.ping(timeout=1), process, tmp_path)


def test_the_api_is_healthy_while_its_servers_answer(database_url: str, redis_url: str, tmp_path: Path) -> None:
    environment = {"BURNISH_DATABASE_URL": database_url, "BURNISH_REDIS_URL": redis_url, "BURNISH_MODEL": "openai/none"}
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with service("api", environment, tmp_path, port=port) as process:
        wait_for(lambda: health("http", f"{url}/readyz")[0] == 0, process, tmp_path)
        alembic.command.downgrade(alembic_config(database_url), "base")
        assert health("http", f"{url}/readyz") == (1, f"{url}/readyz answers with 503\n")


def test_flower_asks_for_the_password_and_is_healthy_without(redis_url: str, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    written = {name: VARIABLE.sub("x", str(value)) for name, value in SERVICES["flower"]["environment"].items()}
    environment = {**written, "CELERY_BROKER_URL": redis_url, "FLOWER_ADDRESS": "127.0.0.1", "FLOWER_PORT": str(port)}
    with service("flower", environment, tmp_path) as process:
        wait_for(lambda: health("http", f"{url}/healthcheck")[0] == 0, process, tmp_path)
        assert health("http", url) == (1, f"{url} answers with 401\n")
        assert health("http", f"{url}/api/tasks")[0] == 1
    assert health("http", f"{url}/healthcheck")[0] == 1


def test_the_migrations_make_the_tables_of_an_empty_database(database_url: str) -> None:
    alembic.command.downgrade(alembic_config(database_url), "base")
    environment = {**os.environ, "BURNISH_DATABASE_URL": database_url}
    done = subprocess.run(command("migrate"), env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    engine = create_engine(database_url)
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()

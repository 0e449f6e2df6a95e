"""`burnish up` and `burnish down`: servers, tables, then the programs under their supervisor."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnish.commands.deployment import (
    Deployment,
    home_of,
    plain_values,
    read_settings,
    recall,
    remember,
    require_source_tree,
    set_by_user,
)
from burnish.commands.plan import BATCH, INTERACTIVE, Ports, chosen_values, needs_of, programs
from burnish.errors import LocalServerFailed, Unavailable
from burnish.local.home import free_port, locked, prepare
from burnish.local.servers import Endpoints, start_servers, stop_servers
from burnish.local.starting import log_since
from burnish.local.supervisor import program_states, start_supervisor, stop_supervisor, supervisor_runs
from burnish.settings import Settings

Report = Callable[[str], None]

_READY_PATIENCE = 300.0
_DEATHS_TOO_MANY = 3


def start(report: Report) -> Deployment:
    """Start or adopt all that burnish needs; what was already running with these settings goes on undisturbed.

    The programs may still be loading when this returns: `wait_until_ready` waits for them.
    """
    root = require_source_tree()
    settings = read_settings()
    home = home_of(settings)
    prepare(home)
    with locked(home, ".up.lock"):
        needs = needs_of(settings)
        endpoints = _servers(home, settings, report)
        values = chosen_values(settings, needs, endpoints, _ports(home, settings), _password(home))
        effective = read_settings(**values)
        report("Tables are brought up to date")
        migrate(root, str(effective.database_url))
        deployment = _deployment(effective, values)
        remember(home, deployment)
        report(f"API, workers, reconciler and Flower are {'running' if supervisor_runs(home) else 'starting'}")
        start_supervisor(home, programs(root, values, effective, embedded_model=needs.model))
    return deployment


def wait_until_ready(home: Path, deployment: Deployment, *, patience: float = _READY_PATIENCE) -> None:
    """Return once the API and every worker answer. Raises LocalServerFailed for a program that cannot start."""
    from burnish.client import Client

    settings = read_settings(**deployment.values)
    wanted = supervised_workers(home)
    deadline = time.monotonic() + patience
    with Client(deployment.api_url, timeout=5) as client:
        while not (client.ready() and wanted <= answering_workers(str(settings.redis_url))):
            _refuse_failing(home)
            if time.monotonic() > deadline:
                raise Unavailable(f"burnish was not ready within {patience:.0f} s; its logs are in {home / 'logs'}")
            time.sleep(0.3)


def supervised_workers(home: Path) -> set[str]:
    """The names of the workers that the supervisor of this folder keeps running."""
    return {program.name for program in program_states(home) if program.name.partition("-")[0] in (INTERACTIVE, BATCH)}


def answering_workers(redis_url: str, *, seconds: float = 1.0) -> set[str]:
    """The names of the workers that answer within this time; none where the broker does not."""
    from kombu.exceptions import OperationalError

    from burnish.task_queue import make_app

    try:
        app: Any = make_app(redis_url)
        with app:
            replies: list[dict[str, Any]] = app.control.ping(timeout=seconds)
    except OperationalError:
        return set()
    return {name.partition("@")[0] for reply in replies for name in reply}


def down(report: Report) -> bool:
    """End the programs and the embedded servers. Returns whether there was anything to end."""
    from burnish.local.servers import server_states

    home = home_of(read_settings())
    if not home.exists():
        return False
    ran = supervisor_runs(home) or any(state.running for state in server_states(home))
    if ran:
        report("The API and the workers are stopping")
    stop_supervisor(home)
    if ran:
        report("The servers are stopping")
    stop_servers(home)
    return ran


def migrate(root: Path, database_url: str) -> None:
    """Bring the tables to the newest version. Raises Unavailable where the database does not answer."""
    from alembic import command
    from sqlalchemy.exc import OperationalError

    try:
        command.upgrade(alembic_config(root, database_url), "head")
    except OperationalError as error:
        raise Unavailable(f"the database does not answer: {str(error.orig).strip()}") from error


def alembic_config(root: Path, database_url: str) -> Any:
    from alembic.config import Config

    config = Config(root / "alembic.ini")
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    return config


def _servers(home: Path, settings: Settings, report: Report) -> Endpoints:
    needs = needs_of(settings)
    return start_servers(
        home,
        model=needs.model,
        model_path=settings.model_path,
        report=report,
        database=needs.database,
        broker=needs.broker,
    )


def _ports(home: Path, settings: Settings) -> Ports:
    """The ports of last time as long as they are ours; else those that are set, or free ones near by."""
    earlier, running = recall(home), supervisor_runs(home)
    before: dict[str, Any] = earlier.values if earlier else {}

    def port(name: str) -> int:
        wanted = getattr(settings, name)
        if name in set_by_user(settings):
            return wanted
        last = before.get(name, wanted)
        return last if running and name in before else free_port(last)

    return Ports(port("api_port"), port("flower_port"))


def _password(home: Path) -> str:
    earlier = recall(home)
    return earlier.flower_password if earlier else secrets.token_urlsafe(12)


def _deployment(effective: Settings, values: dict[str, Any]) -> Deployment:
    host = "127.0.0.1" if effective.api_host in ("0.0.0.0", "::") else effective.api_host  # noqa: S104 (compared)
    secret = plain_values(effective, frozenset({"flower_password"}))["flower_password"]
    return Deployment(
        api_url=f"http://{host}:{effective.api_port}",
        flower_url=f"http://127.0.0.1:{effective.flower_port}",
        flower_user=effective.flower_user,
        flower_password=secret,
        values=values,
    )


def _refuse_failing(home: Path) -> None:
    """Fail early, with its last words, for a program that dies again and again."""
    for program in program_states(home):
        if program.deaths >= _DEATHS_TOO_MANY:
            log = home / "logs" / f"{program.name}.log"
            raise LocalServerFailed(f"{program.name} does not start; {log} ends with:\n{log_since(log, 0)}")

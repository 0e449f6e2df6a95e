"""What `burnish up` starts, and with which settings: decided here, done in `up`.

    api          uvicorn, one process
    interactive  a worker for single questions, so that none waits behind a batch
    batch-N      workers for batches
    reconciler   lets questions in and finds lost work
    flower       the task list, behind a password

The embedded model serves a few calls at a time and takes tens of seconds for a question. So its profile lets in few
questions at once (the first answers come early, and a prompt's fixed beginning stays cached), shows a prompt few
passages, and gives the model what cores there are. Each of its settings yields to the user's own.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.commands.deployment import as_environment, keys_in_file, of_providers, plain_values, set_by_user
from burnish.local.model_server import SLOTS, usable_cores
from burnish.local.programs import Program
from burnish.local.servers import Endpoints
from burnish.settings import EMBEDDED_MODEL, Settings

INTERACTIVE = "interactive"
BATCH = "batch"

_EMBEDDED_PROFILE: dict[str, Any] = {
    "model_price_in": 0.0,
    "model_price_out": 0.0,
    "model_timeout": 900.0,
    "model_calls_in_flight": SLOTS,
    "model_calls_reserved": 1,
    "questions_in_flight": 2,
    "worker_threads": 16,
    "strategy_defaults": {
        "search": {"top_k": 3, "max_passages": 3},
        "self_irag": {"max_refinement_iterations": 2},
        "hyde": {"num_hypothetical_docs": 2, "max_final_docs": 3},
    },
}
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Needs:
    """Which servers of its own burnish needs. They are all embedded, or the user's by URL, each by itself."""

    database: bool
    broker: bool
    model: bool


@dataclass(frozen=True)
class Ports:
    api: int
    flower: int


def needs_of(settings: Settings) -> Needs:
    """What is to be embedded: whatever the user has given no address of."""
    model = settings.model == EMBEDDED_MODEL and settings.model_url is None
    return Needs(settings.database_url is None, settings.redis_url is None, model)


def chosen_values(
    settings: Settings, needs: Needs, endpoints: Endpoints, ports: Ports, password: str
) -> dict[str, Any]:
    """Every setting of the programs: the user's, and for what the user left open ours."""
    ours: dict[str, Any] = {"api_port": ports.api, "flower_port": ports.flower, "flower_password": password}
    if needs.database:
        ours["database_url"] = endpoints.database_url
    if needs.broker:
        ours["redis_url"] = endpoints.redis_url
    if needs.model:
        ours |= {**_EMBEDDED_PROFILE, "model_url": endpoints.model_url, "model_key": endpoints.model_key}
    if needs.model and settings.model_path:
        ours["model"] = f"openai/{settings.model_path.stem}"
    return {**ours, **plain_values(settings, set_by_user(settings) - {"home"})}


def programs(root: Path, values: Mapping[str, Any], settings: Settings, *, embedded_model: bool) -> tuple[Program, ...]:
    """The plan for the supervisor. `settings` are what `values` come to."""
    # An exported key reaches the programs by inheritance: its fingerprint makes another key another plan.
    inherited = {"BURNISH_INHERITED": _fingerprint(of_providers(os.environ))}
    environment = {**keys_in_file(os.environ), **as_environment(dict(values)), **inherited}
    return tuple(
        Program(name, (sys.executable, *argv), {**environment, **extra}, str(root), _STOP_SECONDS)
        for name, argv, extra in (
            ("api", _api(settings), {}),
            *((name, _worker(name, settings), {}) for name in worker_names(embedded_model=embedded_model)),
            ("reconciler", ("-m", "workers.reconciler"), {}),
            ("flower", _FLOWER, _flower_options(settings)),
        )
    )


def worker_names(*, embedded_model: bool, cores: int | None = None) -> tuple[str, ...]:
    """One worker for single questions; for batches one a core, or one in all where the model takes the cores."""
    cores = cores or usable_cores()
    batch = 1 if embedded_model else max(1, cores - 1)
    return (INTERACTIVE, *(f"{BATCH}-{number}" for number in range(1, batch + 1)))


def _api(settings: Settings) -> tuple[str, ...]:
    where = ("--host", settings.api_host, "--port", str(settings.api_port))
    return ("-m", "uvicorn", "--factory", "api.app:create_app", *where, "--no-access-log")


def _worker(name: str, settings: Settings) -> tuple[str, ...]:
    lane = name.partition("-")[0]
    pool = ("-P", "threads", "-c", str(settings.worker_threads))
    quiet = ("--without-gossip", "--without-mingle", "--loglevel", settings.log_level)
    return ("-m", "celery", "-A", "workers.app", "worker", *pool, "-Q", lane, "-n", f"{name}@%h", *quiet)


_FLOWER = ("-m", "celery", "-A", "workers.app", "flower")


def _flower_options(settings: Settings) -> dict[str, str]:
    """Flower's options, in its environment: a command line is read by everybody on the machine."""
    password = settings.flower_password.get_secret_value() if settings.flower_password else ""
    return {
        "FLOWER_ADDRESS": "127.0.0.1",
        "FLOWER_PORT": str(settings.flower_port),
        "FLOWER_BASIC_AUTH": f"{settings.flower_user}:{password}",
        "FLOWER_UNAUTHENTICATED_API": "false",
        "FLOWER_TASKS_COLUMNS": "name,args,state,received,started,runtime,worker,uuid",
        "FLOWER_MAX_TASKS": "20000",
        "FLOWER_PURGE_OFFLINE_WORKERS": "60",
    }


def _fingerprint(variables: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(variables.items())).encode()).hexdigest()[:16]

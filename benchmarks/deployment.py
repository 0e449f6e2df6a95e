"""A deployment to measure: embedded servers of its own, two worker processes, and a model of known latency."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from burnish.local.servers import start_servers, stop_servers
from burnish.settings import Settings
from burnish.store.database import make_engine
from burnish.testing import SimulatedModel, simulated_model
from burnish.world.assemble import embedder_from
from burnish.world.documents import Document
from burnish.world.ingestion import ingest
from tests.processes import pipeline

ROOT = Path(__file__).resolve().parent.parent
# A few more than the calls that each process may have in flight: what waits has been prepared, and no more than that.
THREADS = 40
WORKERS = 2
RIVERS = (
    "The Danube is 2,850 km long and ends in the Black Sea. The Rhine is 1,230 km long and ends in the North Sea. "
    "River number {number} is short and ends in a lake."
)


@dataclass(frozen=True)
class Deployment:
    """The running parts, and the processes of each kind whose time is to be counted."""

    database: Engine
    redis_url: str
    model: SimulatedModel
    processes: Mapping[str, list[psutil.Process]]

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time of each kind of process since it started, user and system."""
        used = {kind: sum(map(_cpu_seconds, found)) for kind, found in self.processes.items()}
        return {
            **used,
            "Postgres": _postgres_seconds(self.processes["Postgres"]),
            "model": self.model.calls().cpu_seconds,
        }


@contextmanager
def deployment(in_flight: int) -> Generator[Deployment]:
    """A deployment whose workers may have so many calls of the model in flight."""
    with (
        tempfile.TemporaryDirectory(prefix="burnish-bench-", ignore_cleanup_errors=True) as folder,
        simulated_model() as model,
    ):
        home = Path(folder)
        home.chmod(0o755)
        endpoints = start_servers(home, model=False, model_path=None, report=lambda _line: None)
        try:
            database = _migrated(endpoints.database_url)
            _ingest(database, model)
            settings = {"model_calls_in_flight": in_flight, "questions_in_flight": 512}
            with pipeline(
                endpoints.database_url,
                endpoints.redis_url,
                model,
                lanes=["batch"] * WORKERS,
                threads=THREADS,
                settings=settings,
            ) as running:
                workers = [psutil.Process(worker.pid) for worker in running.workers["batch"]]
                reconciler = [psutil.Process(running.reconciler.pid)] if running.reconciler else []
                servers = {"Postgres": _running_in(home, "postgres"), "Valkey": _running_in(home, "valkey")}
                processes = {"workers": workers, "reconciler": reconciler, **servers}
                yield Deployment(database, endpoints.redis_url, model, processes)
        finally:
            stop_servers(home)


def _migrated(database_url: str) -> Engine:
    config = Config(ROOT / "alembic.ini")
    config.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    command.upgrade(config, "head")
    return make_engine(database_url)


def _ingest(database: Engine, model: SimulatedModel) -> None:
    secret: Any = model.key
    embedder = embedder_from(
        Settings(embedding_model="openai/simulated-embedding", embedding_url=model.url, embedding_key=secret)
    )
    documents = [
        Document(f"rivers-{n}", f"Rivers {n}", RIVERS.format(number=n), "text/plain", "", "en", {}) for n in range(50)
    ]
    ingest(database, embedder, "default", documents)


def _running_in(home: Path, name: str) -> list[psutil.Process]:
    """The head processes of this name that run on the folder."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if name in (process.info["name"] or "") and any(str(home) in part for part in process.info["cmdline"] or ())
    ]


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _postgres_seconds(heads: list[psutil.Process]) -> float:
    """The head's time, that of its living children, and of those that have ended."""
    total = 0.0
    for head in heads:
        times: Any = head.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
        total += sum(_cpu_seconds(child) for child in head.children(recursive=True))
    return total

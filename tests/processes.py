"""The pipeline's real processes, for tests: Celery workers, the reconciler and the API server, each in a process group.

    with pipeline(database_url, redis_url, model) as running:
        ...                                   # submit questions
        running.workers["batch"][0].kill()    # kill -9, as a machine would
        running.start_worker("batch")

Every process that was started is ended, with all that it started, when the block ends.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from burnish.testing import SimulatedModel

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180.0
STOP_SECONDS = 20.0
_worker_numbers = count(1)


def environment_for(
    database_url: str, redis_url: str, model: SimulatedModel, settings: Mapping[str, object] | None = None
) -> dict[str, str]:
    """The environment of a process that works on these servers; `settings` by their names in lower case."""
    chosen: dict[str, object] = {
        "database_url": database_url,
        "redis_url": redis_url,
        "model": "openai/simulated",
        "model_url": model.url,
        "model_key": model.key,
        "model_calls_in_flight": 64,
        "model_calls_reserved": 0,
        "embedding_model": "openai/simulated-embedding",
        "embedding_url": model.url,
        "embedding_key": model.key,
        **(settings or {}),
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BURNISH_")}
    ours = {f"BURNISH_{name.upper()}": str(value) for name, value in chosen.items()}
    return {**inherited, **ours, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Running:
    """A process of the test's own, the head of a process group. What it says goes to `log`."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def kill(self) -> None:
        """kill -9, with all that it started."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """Stop it where it stands, as a machine that hangs would; `thaw` lets it go on."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ask it to end, and see that it does."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        self.kill()

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is ready; AssertionError, with what it said, if it ends before or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            assert self.is_alive, f"{self.name} ended with {self.process.returncode}:\n{self.said()[-4000:]}"
            assert time.monotonic() < deadline, f"{self.name} is not ready:\n{self.said()[-4000:]}"
            time.sleep(0.1)

    def _signal(self, number: signal.Signals) -> None:
        # The group lives on after its head while a child of it does.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def launch(name: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Running:
    """Start `python ARGUMENTS` with its log in the folder, which is also where it runs: no `.env` stands there."""
    log = folder / f"{name}.log"
    command = [sys.executable, *arguments]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(name, process, log)


@dataclass
class Pipeline:
    """Running workers by lane, and the reconciler; more can be started at any time."""

    environment: Mapping[str, str]
    folder: Path
    threads: int
    workers: dict[str, list[Running]] = field(default_factory=dict[str, list[Running]])
    reconciler: Running | None = None
    started: list[Running] = field(default_factory=list[Running])

    def start_worker(self, lane: str, *, wait: bool = True) -> Running:
        """One more worker of the lane."""
        name = f"{lane}-{next(_worker_numbers)}"
        options = ["-P", "threads", "-c", str(self.threads), "-Q", lane, "-n", f"{name}@h"]
        quiet = ["--without-gossip", "--without-mingle"]
        worker = self._launch(name, ["-m", "celery", "-A", "workers.app", "worker", *options, *quiet])
        self.workers.setdefault(lane, []).append(worker)
        if wait:
            wait_for_worker(worker)
        return worker

    def start_reconciler(self) -> Running:
        """The reconciler, in the place of one that was killed."""
        self.reconciler = self._launch("reconciler", ["-m", "workers.reconciler"])
        return self.reconciler

    def _launch(self, name: str, arguments: Sequence[str]) -> Running:
        running = launch(name, arguments, self.environment, self.folder)
        self.started.append(running)
        return running


def wait_for_worker(worker: Running) -> None:
    """Wait until a worker takes tasks."""
    worker.wait_until(lambda: f"{worker.name}@h ready." in worker.said())


@contextmanager
def pipeline(
    database_url: str,
    redis_url: str,
    model: SimulatedModel,
    *,
    lanes: Sequence[str] = ("batch", "interactive"),
    reconciler: bool = True,
    threads: int = 20,
    settings: Mapping[str, object] | None = None,
) -> Generator[Pipeline]:
    """One worker for each lane, and the reconciler, ready to work on a migrated database.

    settings: more of them, by their names in lower case, such as {"lease_seconds": 3}.
    """
    environment = environment_for(database_url, redis_url, model, settings)
    with tempfile.TemporaryDirectory(prefix="burnish-pipeline-", ignore_cleanup_errors=True) as folder:
        running = Pipeline(environment, Path(folder), threads)
        try:
            started = [running.start_worker(lane, wait=False) for lane in lanes]
            if reconciler:
                running.start_reconciler()
            for worker in started:
                wait_for_worker(worker)
            yield running
        finally:
            for process in reversed(running.started):
                process.kill()


@contextmanager
def api_server(environment: Mapping[str, str]) -> Generator[str]:
    """The API as a real server process; gives its address."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="burnish-api-", ignore_cleanup_errors=True) as folder:
        options = ["--factory", "api.app:create_app", "--host", "127.0.0.1", "--port", str(port)]
        server = launch("api", ["-m", "uvicorn", *options], environment, Path(folder))
        url = f"http://127.0.0.1:{port}"
        try:
            server.wait_until(lambda: _answers(f"{url}/healthz"))
            yield url
        finally:
            server.kill()


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False

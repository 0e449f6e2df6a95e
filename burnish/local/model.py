"""The embedded language model's server for one data folder: start, adopt, recover, stop."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from burnish.errors import LocalServerFailed
from burnish.local.home import Record, recall_one, remember, write_private
from burnish.local.processes import Identity, end, find_running, launch, runs, wait_until
from burnish.local.starting import Launch, ServerState, adopted, forget_process, known, start_on_port

NAME = "model"

_PROGRAM = "python"
_START_PATIENCE = 300.0  # seconds: the first read of a gigabyte from a slow disk
_ANSWER_PATIENCE = 20.0
_STOP_PATIENCE = 10.0
# How long OpenMP threads spin at a barrier before they sleep. By default for milliseconds: beside anything else that
# wants a core each waits, spinning, for one that is not running, and a reply took six times as long.
_THREADS = {"GOMP_SPINCOUNT": "1000"}


def start_model_server(home: Path, model_path: Path, *, keep_port: bool = False) -> Record:
    """Start or adopt the server of that GGUF file, in place of one that serves another; the caller holds the lock."""
    record = known(home, NAME)
    found = running(home) if record.model_path == str(model_path) else None
    if found and wait_until(lambda: _answers(record.port), patience=_ANSWER_PATIENCE, pause=0.1):
        return adopted(home, NAME, found, record.port)
    _end_all(home)
    _refuse_unreadable(model_path)
    remember(home, NAME, replace(record, model_path=str(model_path)))
    write_private(_key_file(home), record.secret.encode())
    return start_on_port(home, _launch(home, model_path), keep_port=keep_port)


def stop_model_server(home: Path) -> None:
    """Stop the server; the caller holds the lock."""
    _end_all(home)
    forget_process(home, NAME)


def model_server_state(home: Path) -> ServerState:
    found, record = running(home), recall_one(home, NAME)
    detail = "not running" if not found else "ready" if _answers(record.port) else "loading, or does not answer"
    return ServerState(NAME, found is not None, found.pid if found else None, record.port if found else None, detail)


def _key_file(home: Path) -> Path:
    return home / "model.key"


def _launch(home: Path, model_path: Path) -> Launch:
    log = home / "logs" / "model.log"

    def start(port: int) -> subprocess.Popen[bytes]:
        module = [sys.executable, "-m", "burnish.local.model_server"]
        argv = [*module, model_path, "--port", str(port), "--key-file", _key_file(home)]
        return launch(argv, log=log, env={**_THREADS, **os.environ})

    return Launch(NAME, start, _answers, _START_PATIENCE, log)


def _refuse_unreadable(model_path: Path) -> None:
    try:
        with model_path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise LocalServerFailed(f"the model file {model_path} cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise LocalServerFailed(f"{model_path} is not a GGUF file; set BURNISH_MODEL_PATH to one")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def running(home: Path) -> Identity | None:
    """The process of the server, whoever started it; None when there is none."""
    record = recall_one(home, NAME)
    if runs(record.process, _PROGRAM, str(_key_file(home))):
        return record.process
    return next(iter(find_running(_PROGRAM, str(_key_file(home)))), None)


def _end_all(home: Path) -> None:
    end(find_running(_PROGRAM, str(_key_file(home))), signal.SIGTERM, patience=_STOP_PATIENCE)

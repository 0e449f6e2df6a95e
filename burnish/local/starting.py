"""Start a server on a port that stays the same.

Workers reconnect to the address they were started with, so a server comes back on its remembered port; the port changes
only when something else has taken it. It is written down before the server is launched: a starter that is killed
between the two leaves nothing that the next one could not find.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.errors import LocalServerFailed
from burnish.local.home import Record, free_port, port_is_free, recall_one, remember
from burnish.local.processes import Identity, end, identify, wait_until

_TRIES = 3
# A server killed with -9 is gone as a process before the kernel has closed its sockets: its memory goes first.
_PORT_PATIENCE = 5.0  # seconds
_LOG_CAP = 10_000_000


@dataclass(frozen=True)
class ServerState:
    """How one server stands: `detail` is for people and holds no secret."""

    name: str
    running: bool
    pid: int | None
    port: int | None
    detail: str


@dataclass(frozen=True)
class Launch:
    """How to start one server: `launch` and `ready` are given the port; `patience` is in seconds."""

    server: str
    launch: Callable[[int], subprocess.Popen[bytes]]
    ready: Callable[[int], bool]
    patience: float
    log: Path


def known(home: Path, server: str) -> Record:
    """The server's record with a secret in it, made and stored on first use; the caller holds the lock."""
    record = recall_one(home, server)
    if not record.secret:
        record = replace(record, secret=secrets.token_urlsafe(24))
        remember(home, server, record)
    return record


def start_on_port(home: Path, plan: Launch, *, keep_port: bool) -> Record:
    """Launch and wait until ready; the record with its port and process. The caller holds the lock.

    With `keep_port` a taken port is a failure to be tried again later, not a reason to move.
    """
    cap(plan.log)
    beginning = 0
    for attempt in range(_TRIES):
        time.sleep(0.3 * attempt)
        beginning = size(plan.log)
        record = _with_port(home, plan.server, keep_port=keep_port)
        process = plan.launch(record.port)
        record = replace(record, process=identify(process.pid), wanted=True)
        remember(home, plan.server, record)
        if _became_ready(process, record, plan):
            return record
        if record.process:
            end([record.process], patience=0)
    raise LocalServerFailed(f"{plan.server} did not start; {plan.log} ends with:\n{log_since(plan.log, beginning)}")


def _with_port(home: Path, server: str, *, keep_port: bool) -> Record:
    record = recall_one(home, server)
    is_free = not record.port or wait_until(lambda: port_is_free(record.port), patience=_PORT_PATIENCE)
    if keep_port and not is_free:
        raise LocalServerFailed(f"{server} cannot come back: port {record.port} is taken by another program")
    record = replace(record, port=free_port(record.port))
    remember(home, server, record)
    return record


def _became_ready(process: subprocess.Popen[bytes], record: Record, plan: Launch) -> bool:
    wait_until(lambda: process.poll() is not None or plan.ready(record.port), patience=plan.patience)
    return process.poll() is None and plan.ready(record.port)


def size(log: Path) -> int:
    """How many bytes a log holds; 0 when there is none."""
    return log.stat().st_size if log.exists() else 0


def log_since(log: Path, beginning: int, most: int = 1500) -> str:
    """What was written to a log after `beginning` (bytes), its last `most` characters."""
    try:
        with log.open("rb") as file:
            file.seek(beginning)
            return file.read().decode(errors="replace")[-most:].strip()
    except OSError:
        return "(no log)"


def cap(log: Path, limit: int = _LOG_CAP) -> None:
    """Keep a log within `limit` bytes: what it holds moves to `<log>.1`, and its writers go on in the same file."""
    try:
        if log.stat().st_size <= limit:
            return
        log.with_name(f"{log.name}.1").write_bytes(log.read_bytes()[-limit:])
        os.truncate(log, 0)  # writers append, so they continue at the new end
    except OSError:
        return  # a log that cannot be capped is no reason to stop


def forget_process(home: Path, server: str) -> None:
    """Note that the server was stopped on purpose, so nobody revives it; the caller holds the lock."""
    record = recall_one(home, server)
    if record != Record():
        remember(home, server, replace(record, process=None, wanted=False))


def adopted(home: Path, server: str, process: Identity, port: int) -> Record:
    """Store a server that was found running; the caller holds the lock."""
    before = recall_one(home, server)
    record = replace(before, process=process, port=port, wanted=True)
    if record != before:
        remember(home, server, record)
    return record

"""Valkey for one data folder: start, adopt, recover, stop.

Valkey takes no lock on its folder: two servers in one would both run and ruin each other's log. So before a start every
process that was given our configuration file is sought by its command line and ended.
A log damaged in the middle keeps Valkey from starting and cannot be repaired: it is moved aside and Valkey starts
empty. Nothing is lost for good by that, since the work to be done is in Postgres and the broker holds only hints.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from burnish.errors import LocalServerFailed
from burnish.local.binaries import valkey_server
from burnish.local.home import Record, recall_one
from burnish.local.processes import (
    Account,
    Identity,
    end,
    find_running,
    give_to,
    launch,
    runs,
    unprivileged_account,
    wait_until,
)
from burnish.local.starting import Launch, ServerState, adopted, forget_process, known, log_since, size, start_on_port

NAME = "valkey"

_PROGRAM = "valkey-server"
_START_PATIENCE = 120.0  # seconds: a large log takes long to load
_ANSWER_PATIENCE = 10.0
_STOP_PATIENCE = 30.0


def start_valkey(home: Path, *, keep_port: bool = False) -> Record:
    """Start or adopt the server; the caller holds the lock."""
    record = known(home, NAME)
    found = running(home) if record.port else None  # one whose port was lost cannot be spoken to
    if found and wait_until(lambda: _answers(record), patience=_ANSWER_PATIENCE, pause=0.1):
        return adopted(home, NAME, found, record.port)
    _end_all(home)
    folder = _folder(home)
    account = unprivileged_account()
    folder.mkdir(mode=0o700, exist_ok=True)
    give_to(account, folder)
    plan = _launch(home, valkey_server(home, account), account, record.secret)
    beginning = size(plan.log)
    try:
        return start_on_port(home, plan, keep_port=keep_port)
    except LocalServerFailed:
        if not _move_damaged_log(folder, log_since(plan.log, beginning)):
            raise
    return start_on_port(home, plan, keep_port=keep_port)


def stop_valkey(home: Path) -> None:
    """Stop the server, its log flushed; the caller holds the lock."""
    _end_all(home)
    forget_process(home, NAME)


def valkey_state(home: Path) -> ServerState:
    found, record = running(home), recall_one(home, NAME)
    detail = "not running" if not found else "ready" if _answers(record) else "does not answer"
    return ServerState(NAME, found is not None, found.pid if found else None, record.port if found else None, detail)


def _folder(home: Path) -> Path:
    return home / "valkey"


def _configuration(home: Path) -> Path:
    return _folder(home) / "valkey.conf"


def _launch(home: Path, binary: Path, account: Account | None, secret: str) -> Launch:
    log = home / "logs" / "valkey.log"

    def start(port: int) -> subprocess.Popen[bytes]:
        _write_configuration(_configuration(home), port, secret, account)
        argv = [binary, _configuration(home)]
        return launch(argv, log=log, env=dict(os.environ), cwd=_folder(home), account=account)

    def ready(port: int) -> bool:
        return _answers(Record(port=port, secret=secret))

    return Launch(NAME, start, ready, _START_PATIENCE, log)


def _write_configuration(path: Path, port: int, secret: str, account: Account | None) -> None:
    # Paths are left out: the server works in its folder, and a path could hold what this syntax must quote.
    lines = [
        "bind 127.0.0.1",
        f"port {port}",
        f"requirepass {secret}",
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        "maxmemory-policy noeviction",
        "tcp-backlog 128",
        "set-proc-title no",  # the command line is how we know our own
        "daemonize no",
    ]
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n")
    give_to(account, path)


def _answers(record: Record) -> bool:
    """Whether the server has loaded its log and takes our password."""
    if not record.port:
        return False
    once = Retry(NoBackoff(), 0)
    client = Redis(host="127.0.0.1", port=record.port, password=record.secret, socket_timeout=2, retry=once)
    try:
        return bool(client.ping())  # pyright: ignore[reportUnknownMemberType] redis leaves its replies untyped
    except RedisError:
        return False
    finally:
        client.close()


def running(home: Path) -> Identity | None:
    """The process of the server, whoever started it; None when there is none."""
    record = recall_one(home, NAME)
    if runs(record.process, _PROGRAM, str(_configuration(home))):
        return record.process
    return next(iter(find_running(_PROGRAM, str(_configuration(home)))), None)


def _end_all(home: Path) -> None:
    end(find_running(_PROGRAM, str(_configuration(home))), signal.SIGTERM, patience=_STOP_PATIENCE)


def _move_damaged_log(folder: Path, said: str) -> bool:
    """Move the log aside if the server said that it cannot be read; only the newest damaged one is kept."""
    log = folder / "appendonlydir"
    if not log.exists() or not any(sign in said for sign in ("append only file", "AOF")):
        return False
    shutil.rmtree(folder / "appendonlydir.damaged", ignore_errors=True)
    log.rename(folder / "appendonlydir.damaged")
    return True

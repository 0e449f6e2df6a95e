"""The data folder: one folder holds everything the embedded servers keep, and is safe to delete once they are stopped.

    pgdata/  valkey/  models/   what the servers store
    runtime/                    copies of binaries that the servers' account cannot run where pip put them
    logs/                       one file per process
    state.json                  ports, passwords and processes, readable by the owner only
    .lock                       held while servers are started or stopped; never unlinked

A start or stop holds `.lock` by flock, which the kernel drops when its holder dies, also by kill -9. `state.json` is
replaced whole, so a reader sees the old one or the new one. A damaged or lost `state.json` costs nothing but a
restart: the servers' modules find their processes by command line and give them new passwords.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from burnish.errors import LocalServerFailed
from burnish.local.processes import Account, Identity, unprivileged_account

# Below every system's ephemeral range: there, an outgoing connection may occupy a stopped server's port, and a client
# that keeps reconnecting to such a port can even connect to itself.
SERVER_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Record:
    """What is remembered of one server between starts."""

    port: int = 0
    secret: str = ""
    process: Identity | None = None
    wanted: bool = False
    model_path: str = ""


_STATE = TypeAdapter(dict[str, Record])


def data_folder(environ: Mapping[str, str]) -> Path:
    """The folder for all local data: `BURNISH_HOME`, or the system's place for it (root: /var/lib/burnish)."""
    if chosen := environ.get("BURNISH_HOME"):
        return Path(chosen).expanduser().resolve()
    if os.geteuid() == 0:
        return Path("/var/lib/burnish")  # root's own home is closed to the account that Postgres runs as
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "burnish"
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "burnish"


def prepare(home: Path) -> None:
    """Make the data folder where it is missing, and make sure that the servers' account can reach it."""
    account = unprivileged_account()
    try:
        if not home.exists():
            home.mkdir(parents=True)
            home.chmod(0o711 if account else 0o700)
        (home / "logs").mkdir(mode=0o700, exist_ok=True)
        (home / ".lock").touch(mode=0o600)
    except OSError as error:
        raise LocalServerFailed(
            f"the data folder {home} cannot be used ({error.strerror}); set BURNISH_HOME to another"
        ) from error
    if account and (closed := _closed_folder(home, account)):
        raise LocalServerFailed(
            f"Postgres runs as {account.name!r} when burnish is started by root, and that account cannot enter "
            f"{closed}; set BURNISH_HOME to a folder that it can reach, such as /var/lib/burnish"
        )


def reachable(home: Path) -> bool:
    """Whether the servers' account could reach the folder, which need not exist yet."""
    account = unprivileged_account()
    return account is None or _closed_folder(home, account) is None


def _closed_folder(home: Path, account: Account) -> Path | None:
    """The first folder on the way that the account cannot enter."""
    there = (folder for folder in (home, *home.parents) if folder.exists())
    return next((folder for folder in there if not _passable(folder, account)), None)


def _passable(folder: Path, account: Account) -> bool:
    status = folder.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    return bool(status.st_mode & (0o010 if status.st_gid == account.gid else 0o001))


@contextlib.contextmanager
def locked(home: Path, name: str = ".lock", *, patience: float = 600.0) -> Generator[None]:
    """Hold the folder's lock; `patience` is in seconds, since a cold start with crash recovery may take minutes."""
    descriptor = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise LocalServerFailed(f"another process has held {home / name} for {patience:.0f} s; end it first")
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def recall(home: Path) -> dict[str, Record]:
    """All that is remembered, by server's name; empty when nothing is, or when it cannot be read."""
    try:
        return _STATE.validate_json((home / "state.json").read_bytes())
    except (OSError, ValidationError):
        return {}


def recall_one(home: Path, server: str) -> Record:
    return recall(home).get(server, Record())


def remember(home: Path, server: str, record: Record) -> None:
    """Store one server's record; the caller holds the lock."""
    write_private(home / "state.json", _STATE.dump_json({**recall(home), server: record}, indent=1))


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step, durably, readable by its owner only."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no obstacle
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(preferred: int = 0) -> int:
    """The preferred port if nothing else has taken it (clients reconnect to the port they know), else another."""
    candidates = [preferred] if preferred else []
    candidates += random.sample(SERVER_PORTS, 200)
    for port in candidates:
        if port_is_free(port):
            return port
    raise LocalServerFailed("no free port was found on 127.0.0.1")

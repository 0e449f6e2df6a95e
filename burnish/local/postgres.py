"""PostgreSQL with pgvector for one data folder: start, adopt, recover, stop.

What has to be got right, each seen to fail otherwise:

- Locale: with `--locale=C` alone, LC_CTYPE is C, where pg_trgm and full text see no letters beyond ASCII.
- Root: Postgres refuses to be root, so the servers' account runs it, in a folder of its own.
- A killed initdb leaves a half-made cluster and may go on writing: it works in a temporary folder, renamed at the end.
- After kill -9 of the server its backends may live on, and Postgres would refuse to start beside them; and a zombie or
  a reused pid in `postmaster.pid` makes Postgres believe that the dead server lives. So both are cleared here, the
  orphans first, since the pid file is what Postgres itself would check.
- A container's /dev/shm of 64 MB is too small for a parallel index build: shared memory is mapped from files instead.
- No unix socket is opened: its path has a length limit that data folders exceed, and TCP on 127.0.0.1 is enough.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import LocalServerFailed
from burnish.local.binaries import postgres_folder
from burnish.local.home import Record, recall_one
from burnish.local.processes import (
    Account,
    Identity,
    end,
    find_inside,
    find_running,
    give_to,
    identify,
    is_alive,
    launch,
    run,
    runs,
    unprivileged_account,
    wait_until,
)
from burnish.local.starting import Launch, ServerState, adopted, forget_process, known, start_on_port

NAME = "postgres"
MAJOR_VERSION = "18"

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "1000",
    "shared_buffers": "128MB",
    "synchronous_commit": "on",
    "dynamic_shared_memory_type": "mmap",
    "logging_collector": "off",
    "jit": "off",  # the wheel holds no LLVM
}
_CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8")  # the second where the first is missing: macOS
_START_PATIENCE = 600.0  # seconds: recovery after a crash may replay much
_STOP_PATIENCE = 30.0


@dataclass(frozen=True)
class _Installation:
    binaries: Path
    cluster: Path
    account: Account | None

    def run(self, program: str, *arguments: str | Path, stdin: str = "") -> None:
        run([self.binaries / program, *arguments], env=_environment(), account=self.account, stdin=stdin)


def start_postgres(home: Path, *, keep_port: bool = False) -> Record:
    """Start or adopt the server with its database `burnish`; the caller holds the lock."""
    secret_is_lost = not recall_one(home, NAME).secret
    record = known(home, NAME)
    if found := running(home):
        if not secret_is_lost and _becomes_ready(home, found):
            return adopted(home, NAME, found, _port(home))
        _end(home, found)
    account = unprivileged_account()
    installed = _Installation(postgres_folder(home, account), home / "pgdata", account)
    _clear_remains(installed.cluster)
    _make_cluster(home, installed, record.secret, secret_is_lost=secret_is_lost)
    return start_on_port(home, _launch(home, installed), keep_port=keep_port)


def stop_postgres(home: Path) -> None:
    """Stop the server, transactions in progress rolled back; the caller holds the lock."""
    if found := running(home):
        _end(home, found)
    _clear_remains(home / "pgdata")
    forget_process(home, NAME)


def postgres_state(home: Path) -> ServerState:
    found = running(home)
    detail = "ready" if found and _is_ready(home) else "starting" if found else "not running"
    return ServerState(NAME, found is not None, found.pid if found else None, _port(home) if found else None, detail)


def _launch(home: Path, installed: _Installation) -> Launch:
    log = home / "logs" / "postgres.log"

    def start(port: int) -> subprocess.Popen[bytes]:
        _clear_remains(installed.cluster)
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        argv = [installed.binaries / "postgres", "-D", installed.cluster, "-p", str(port), *settings]
        return launch(argv, log=log, env=_environment(), account=installed.account)

    return Launch(NAME, start, lambda port: _is_ready(home) and _port(home) == port, _START_PATIENCE, log)


def _environment() -> dict[str, str]:
    """Ours without libpq's variables, which would point the server's programs elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _make_cluster(home: Path, installed: _Installation, secret: str, *, secret_is_lost: bool) -> None:
    try:
        if not installed.cluster.exists():
            _create(home, installed, secret)
        _refuse_other_version(installed.cluster)
        if secret_is_lost:
            _ask_alone(installed, installed.cluster, f"ALTER ROLE burnish PASSWORD '{secret}'")
    except subprocess.CalledProcessError as error:
        raise LocalServerFailed(f"the Postgres cluster in {home} could not be prepared: {error.stderr}") from error


def _create(home: Path, installed: _Installation, secret: str) -> None:
    for leftover in home.glob("pgdata.init-*"):
        end(find_running("initdb", str(leftover / "data")), patience=0)
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix="pgdata.init-", dir=home))
    password = unfinished / "password"
    password.touch(mode=0o600)
    password.write_text(secret)
    give_to(installed.account, unfinished, password)
    _initdb(installed, unfinished)
    _ask_alone(installed, unfinished / "data", "CREATE DATABASE burnish")
    (unfinished / "data").rename(installed.cluster)
    shutil.rmtree(unfinished)


def _initdb(installed: _Installation, unfinished: Path) -> None:
    fixed = ["-D", unfinished / "data", "-U", "burnish", "--pwfile", unfinished / "password"]
    fixed += ["--auth=scram-sha-256", "-E", "UTF8"]
    fixed += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    for last, character_type in zip((False, True), _CHARACTER_TYPES, strict=True):
        try:
            return installed.run("initdb", *fixed, f"--lc-ctype={character_type}")
        except subprocess.CalledProcessError:
            if last:
                raise
    return None


def _ask_alone(installed: _Installation, cluster: Path, statement: str) -> None:
    """Run one statement in single-user mode, which needs neither a running server nor a password."""
    installed.run("postgres", "--single", "-D", cluster, "postgres", stdin=statement + "\n")


def _refuse_other_version(cluster: Path) -> None:
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != MAJOR_VERSION:
        raise LocalServerFailed(
            f"{cluster} was made by PostgreSQL {found}, this is {MAJOR_VERSION}: dump it with pg_dump of {found}, "
            "move the folder away, start again and restore the dump"
        )


def _pid_file(home: Path) -> list[str]:
    try:
        return (home / "pgdata" / "postmaster.pid").read_text().splitlines()
    except OSError:
        return []


def running(home: Path) -> Identity | None:
    """The process of the server, whoever started it; None when there is none."""
    lines = _pid_file(home)
    identity = identify(int(lines[0])) if lines and lines[0].strip().isdigit() else None
    return identity if runs(identity, "postgres", str(home / "pgdata")) else None


def _is_ready(home: Path) -> bool:
    lines = _pid_file(home)
    return len(lines) > 7 and lines[7].strip() == "ready" and running(home) is not None


def _becomes_ready(home: Path, server: Identity) -> bool:
    """Wait for a server that is there but may be recovering still; False when it dies meanwhile."""
    wait_until(lambda: _is_ready(home) or not is_alive(server), patience=_START_PATIENCE)
    return _is_ready(home)


def _port(home: Path) -> int:
    lines = _pid_file(home)
    return int(lines[3]) if len(lines) > 3 and lines[3].strip().isdigit() else 0


def _end(home: Path, server: Identity) -> None:
    end([server], signal.SIGINT, signal.SIGQUIT, patience=_STOP_PATIENCE)
    _clear_remains(home / "pgdata")


def _clear_remains(cluster: Path) -> None:
    """End what a dead server left behind, then remove its pid file, in this order."""
    just_launched = find_running("postgres", str(cluster))  # such a one has not entered its folder yet
    end([*just_launched, *find_inside(cluster)], signal.SIGQUIT, patience=5)
    (cluster / "postmaster.pid").unlink(missing_ok=True)

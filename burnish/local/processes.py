"""Processes that outlive whoever started them, and how to be sure which is which.

A pid proves nothing: it may belong to a zombie, or be in use again by a stranger. So a process counts as ours only if
it was created when we noted it (`Identity`), or if its command line or working folder names our data folder.
Zombies count as gone: in a container whose first process does not reap, they stay for ever.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

# On Linux a creation time is derived from the boot time, which moves when the clock is set.
_CLOCK_TOLERANCE = 5.0


@dataclass(frozen=True)
class Identity:
    """A process: its pid, and when it was created in seconds since the epoch."""

    pid: int
    created: float


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


# Popen objects of children meant to live on: kept so that a dead one is reaped instead of staying as a zombie.
_launched: list[subprocess.Popen[bytes]] = []


def unprivileged_account() -> Account | None:
    """The account to run servers as when we are root, which Postgres refuses to be; None when we are not root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def give_to(account: Account | None, *paths: Path) -> None:
    """Make the account the owner of the paths; nothing to do where we are not root."""
    if account:
        for path in paths:
            os.chown(path, account.uid, account.gid)


def launch(
    argv: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path | str = "/",
    account: Account | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, which survives us, with both its outputs appended to `log`."""
    reap()
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 (we name every program ourselves)
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    _launched.append(process)
    return process


def run(argv: Sequence[str | Path], *, env: Mapping[str, str], account: Account | None = None, stdin: str = "") -> None:
    """Run a program to its end; `subprocess.CalledProcessError` with its error output if it fails."""
    subprocess.run(  # noqa: S603 (we name every program ourselves)
        argv,
        check=True,
        capture_output=True,
        text=True,
        input=stdin,
        cwd="/",
        env=env,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def reap() -> None:
    """Collect the exit of every child that has died."""
    _launched[:] = [process for process in _launched if process.poll() is None]


def identify(pid: int) -> Identity | None:
    """Who has this pid now; None for nobody or a zombie."""
    reap()
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid, process.create_time())
    except (psutil.Error, ValueError):
        return None


def is_alive(identity: Identity | None) -> bool:
    if identity is None:
        return False
    now = identify(identity.pid)
    return now is not None and abs(now.created - identity.created) < _CLOCK_TOLERANCE


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty for nobody, a zombie, or one that we may not look at."""
    try:
        return psutil.Process(pid).cmdline()
    except (psutil.Error, ValueError):
        return []


def runs(identity: Identity | None, program: str, argument: str) -> bool:
    """Whether the process lives, is `program` by name, and was given exactly this argument."""
    if identity is None or not is_alive(identity):
        return False
    words = command_line(identity.pid)
    return bool(words) and program in Path(words[0]).name.lower() and argument in words


def find_running(program: str, argument: str) -> list[Identity]:
    """All processes of that program that were given exactly this argument (a path of ours), whoever started them."""
    candidates = (identify(pid) for pid in psutil.pids() if argument in command_line(pid))
    return [found for found in candidates if found and runs(found, program, argument)]


def find_inside(folder: Path) -> list[Identity]:
    """All processes whose working folder this is."""
    return [found for pid in psutil.pids() if _working_folder(pid) == str(folder) and (found := identify(pid))]


def _working_folder(pid: int) -> str:
    try:
        return psutil.Process(pid).cwd()
    except (psutil.Error, ValueError):
        return ""


def wait_until(condition: Callable[[], bool], *, patience: float, pause: float = 0.02) -> bool:
    """Ask until the condition holds (True) or `patience` seconds have passed (False)."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
    return True


def end(victims: Iterable[Identity], *signals: signal.Signals, patience: float) -> None:
    """End processes by each signal in turn, waiting `patience` seconds after each, and at last by SIGKILL."""
    remaining = [victim for victim in victims if is_alive(victim)]
    for number, wait in [*((each, patience) for each in signals), (signal.SIGKILL, 10.0)]:
        for victim in remaining:
            _send(victim, number)
        remaining = _survivors(remaining, patience=wait)


def _survivors(victims: list[Identity], *, patience: float) -> list[Identity]:
    wait_until(lambda: not any(map(is_alive, victims)), patience=patience)
    return [victim for victim in victims if is_alive(victim)]


def _send(victim: Identity, number: signal.Signals) -> None:
    if is_alive(victim):
        try:
            os.kill(victim.pid, number)
        except ProcessLookupError:
            return

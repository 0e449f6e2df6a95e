"""Keep a set of programs running: start each again after it dies, and end them all when asked.

Every program runs in a session of its own and carries a mark in its environment that its descendants inherit, so that
whatever a killed program, or a killed supervisor, leaves behind can be found and ended before a new one starts.
The pid and creation time on record find those whose environment cannot be read.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError

from burnish.local.home import write_private
from burnish.local.processes import Identity, end, identify, is_alive, launch

_MARK = "BURNISH_SUPERVISED"
_FIRST_PAUSE = 0.5  # seconds before a dead program is started again, doubled with each early death
_LONGEST_PAUSE = 30.0
_LASTING = 30.0  # seconds: a program that lived this long owes nothing to its earlier deaths


@dataclass(frozen=True)
class Program:
    """A program to keep running.

    `env` is added to the environment of whoever starts the supervisor; `patience` is how many seconds the program may
    take to end after SIGTERM.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str = "/"
    patience: float = 20.0


@dataclass(frozen=True)
class ProgramState:
    """How one program stands; `deaths` counts how often it ended without being asked to."""

    name: str
    running: bool
    pid: int | None
    deaths: int


@dataclass(frozen=True)
class Life:
    """One program's life so far: its process, how often it died, and how often in a row it died early."""

    process: Identity | None = None
    deaths: int = 0
    early_deaths: int = 0
    due: float = 0.0


_LIVES = TypeAdapter(dict[str, Life])


def after_death(life: Life, now: float) -> Life:
    """What follows from a death: when the program is due again, in seconds since the epoch."""
    lasted = life.process is not None and now - life.process.created >= _LASTING
    early = 0 if lasted else life.early_deaths + 1
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** max(0, early - 1))
    return replace(life, process=None, deaths=life.deaths + 1, early_deaths=early, due=now + pause)


class Programs:
    """The programs of one data folder, as the supervisor sees them; `lives` is also kept in `programs.json`."""

    def __init__(self, home: Path, plan: Sequence[Program]) -> None:
        self._home = home
        self._plan = tuple(plan)
        self._lives = {program.name: Life() for program in plan}

    def tend(self) -> None:
        """Start what is due, and note what has died."""
        before = dict(self._lives)
        now = time.time()
        for program in self._plan:
            life = self._lives[program.name]
            if life.process and not is_alive(life.process):
                self._lives[program.name] = after_death(life, now)
            elif not life.process and life.due <= now:
                self._start(program, life)
        if self._lives != before:
            write_lives(self._home, self._lives)

    def _start(self, program: Program, life: Life) -> None:
        end(_marked(self._home, program.name), patience=0)
        environment = {**os.environ, **program.env, _MARK: _mark(self._home, program.name)}
        log = self._home / "logs" / f"{program.name}.log"
        try:
            process = launch(program.argv, log=log, env=environment, cwd=program.cwd)
        except OSError as error:
            with log.open("a") as file:
                file.write(f"burnish could not start {program.name}: {error}\n")
            self._lives[program.name] = after_death(life, time.time())
            return
        self._lives[program.name] = replace(life, process=identify(process.pid))

    def end(self) -> None:
        """SIGTERM to each, time for all to end, then SIGKILL to those left and to their descendants."""
        living = [life.process for life in self._lives.values() if life.process]
        end(living, signal.SIGTERM, patience=longest_patience(self._plan))
        end_remains(self._home)


def longest_patience(plan: Sequence[Program]) -> float:
    """How many seconds a whole plan may take to end after SIGTERM."""
    return max((program.patience for program in plan), default=0.0)


def end_remains(home: Path) -> None:
    """End whatever a supervisor of this folder, itself gone, has left running."""
    recorded = [life.process for life in read_lives(home).values() if life.process]
    end([*recorded, *_marked(home)], patience=0)
    write_lives(home, {})


def program_states(home: Path) -> tuple[ProgramState, ...]:
    """How each supervised program stands; empty when none is supervised."""
    return tuple(
        ProgramState(name, is_alive(life.process), life.process.pid if life.process else None, life.deaths)
        for name, life in read_lives(home.resolve()).items()
    )


def read_lives(home: Path) -> dict[str, Life]:
    try:
        return _LIVES.validate_json((home / "programs.json").read_bytes())
    except (OSError, ValidationError):
        return {}


def write_lives(home: Path, lives: dict[str, Life]) -> None:
    write_private(home / "programs.json", _LIVES.dump_json(lives, indent=1))


def _mark(home: Path, program: str) -> str:
    return f"{home}:{program}"


def _marked(home: Path, program: str = "") -> list[Identity]:
    """The living processes that carry this folder's mark, of one program or of any."""
    wanted = _mark(home, program)
    return [
        found
        for pid in psutil.pids()
        if pid != os.getpid() and _has_mark(pid, wanted, exactly=bool(program)) and (found := identify(pid))
    ]


def _has_mark(pid: int, wanted: str, *, exactly: bool) -> bool:
    try:
        mark = psutil.Process(pid).environ().get(_MARK, "")
    except (psutil.Error, OSError, ValueError):
        return False
    return mark == wanted if exactly else mark.startswith(wanted)

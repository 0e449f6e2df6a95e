"""The process that keeps everything else running: `python -m burnish.local.supervisor DATA_FOLDER`.

It starts the programs of `plan.json` and starts them again when they die, and revives the embedded servers on their
ports. Only one runs per data folder: it holds `.supervisor.lock` as long as it lives, so the kernel frees it even after
kill -9, and its successor first ends what the dead one has left behind.
SIGTERM ends the programs, not the servers: those have their own stop.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from pydantic import TypeAdapter, ValidationError

from burnish.errors import LocalServerFailed
from burnish.local.home import locked, prepare, write_private
from burnish.local.processes import Identity, command_line, end, find_running, launch, wait_until
from burnish.local.programs import (
    Program,
    Programs,
    ProgramState,
    end_remains,
    longest_patience,
    program_states,
    read_lives,
)
from burnish.local.starting import cap, log_since, size

__all__ = ["Program", "ProgramState", "program_states", "start_supervisor", "stop_supervisor", "supervisor_runs"]

_MODULE = "burnish.local.supervisor"
_PLAN = TypeAdapter(tuple[Program, ...])
_START_PATIENCE = 60.0
_ROUND = 0.2
_SERVER_ROUND = 1.0
_LOG_CAP = 10_000_000

_log = logging.getLogger(_MODULE)


def start_supervisor(home: Path, plan: Sequence[Program]) -> None:
    """Have these programs kept running: adopt a supervisor that already does, replace one with another plan.

    Returns when each program has been started once. `LocalServerFailed` if the supervisor does not get that far.
    """
    home = home.resolve()
    prepare(home)
    with locked(home, ".supervisor-start.lock"):
        if _running(home) and _read_plan(home) == tuple(plan):
            return
        _stop(home)
        write_private(home / "plan.json", _PLAN.dump_json(tuple(plan), indent=1))
        _launch(home, plan)


def stop_supervisor(home: Path) -> None:
    """End the supervisor and its programs, and wait until they have gone."""
    home = home.resolve()
    if not home.exists():
        return
    prepare(home)
    with locked(home, ".supervisor-start.lock"):
        _stop(home)


def supervisor_runs(home: Path) -> bool:
    return bool(_running(home.resolve()))


def _running(home: Path) -> list[Identity]:
    return [found for found in find_running("python", str(home)) if _MODULE in command_line(found.pid)]


def _stop(home: Path) -> None:
    # The supervisor needs what its programs need, and then some for what they leave.
    end(_running(home), signal.SIGTERM, patience=longest_patience(_read_plan(home) or ()) + 15)
    end_remains(home)


def _launch(home: Path, plan: Sequence[Program]) -> None:
    log = home / "logs" / "supervisor.log"
    cap(log, _LOG_CAP)
    beginning = size(log)
    process = launch([sys.executable, "-m", _MODULE, home], log=log, env=dict(os.environ))
    names = {program.name for program in plan}

    def settled() -> bool:
        return process.poll() is not None or names <= set(read_lives(home))

    if not wait_until(settled, patience=_START_PATIENCE) or process.poll() is not None:
        _stop(home)
        raise LocalServerFailed(f"the supervisor did not start; {log} ends with:\n{log_since(log, beginning)}")


def _read_plan(home: Path) -> tuple[Program, ...] | None:
    try:
        return _PLAN.validate_json((home / "plan.json").read_bytes())
    except (OSError, ValidationError):
        return None


def supervise(home: Path, stop: threading.Event) -> None:
    """Keep the plan's programs and the servers running until `stop` is set, then end the programs."""
    plan = _read_plan(home)
    if plan is None:
        raise LocalServerFailed(f"{home / 'plan.json'} is missing or damaged; run `burnish up` again")
    end_remains(home)
    programs = Programs(home, plan)
    # A server's recovery may take minutes, in which programs still have to be tended: hence a thread.
    servers = threading.Thread(target=_revive_until, args=(home, stop), daemon=True)
    servers.start()
    while not stop.wait(_ROUND):
        programs.tend()
    programs.end()


def _revive_until(home: Path, stop: threading.Event) -> None:
    from burnish.local.servers import revive_servers  # heavier than the rest; programs need not wait for it

    while not stop.wait(_SERVER_ROUND):
        _attempt(lambda: _revive(home, revive_servers))
        for log in (home / "logs").glob("*.log"):
            cap(log, _LOG_CAP)


def _revive(home: Path, revive: Callable[[Path], Sequence[str]]) -> None:
    for server in revive(home):
        _log.warning("%s was down and has been started again", server)


def _attempt(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:  # whatever stood in the way of this round, the next one tries again
        _log.exception("a round of the supervisor failed")


def main(argv: Sequence[str]) -> int:
    home = Path(argv[0]).resolve()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stop = threading.Event()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    with locked(home, ".supervisor.lock", patience=1):
        supervise(home, stop)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

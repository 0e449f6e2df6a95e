from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from burnish.local.processes import (
    command_line,
    end,
    find_inside,
    find_running,
    identify,
    is_alive,
    launch,
    runs,
    wait_until,
)

SLEEP = "import time; time.sleep(600)"


def test_a_reused_pid_is_not_taken_for_the_process_that_had_it() -> None:
    ourselves = identify(os.getpid())
    assert ourselves
    assert is_alive(ourselves)
    assert not is_alive(replace(ourselves, created=ourselves.created - 3600))


def test_pids_that_nobody_has_are_dead() -> None:
    assert identify(2**22 + 1) is None
    assert identify(-1) is None
    assert command_line(-1) == []
    assert not runs(None, "python", "x")


def test_a_zombie_counts_as_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEP])
    identity = identify(child.pid)
    assert is_alive(identity)
    os.kill(child.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(identity), patience=10)  # nobody has waited for it, so it is a zombie
    assert find_running("python", SLEEP) == [] or identity not in find_running("python", SLEEP)
    child.wait()


def test_a_launched_process_is_found_by_argument_and_by_folder_and_leads_its_session(home: Path) -> None:
    process = launch(
        [sys.executable, "-c", SLEEP, str(home / "mark")], log=home / "log", env=dict(os.environ), cwd=home
    )
    identity = identify(process.pid)
    assert wait_until(lambda: find_running("python", str(home / "mark")) == [identity], patience=10)
    assert find_running("postgres", str(home / "mark")) == []
    assert find_running("python", str(home)) == []
    assert find_inside(home) == [identity]
    assert os.getsid(process.pid) == process.pid
    end([identity] if identity else [], signal.SIGTERM, patience=10)
    assert not is_alive(identity)
    assert process.returncode == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_killed(home: Path) -> None:
    code = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {SLEEP}"
    process = launch([sys.executable, "-c", code], log=home / "log", env=dict(os.environ))
    identity = identify(process.pid)
    assert identity
    assert wait_until(lambda: b"deaf" in (home / "log").read_bytes(), patience=10)
    end([identity], signal.SIGTERM, patience=0.3)
    assert not is_alive(identity)
    assert process.returncode == -signal.SIGKILL

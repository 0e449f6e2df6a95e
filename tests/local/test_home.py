from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.errors import LocalServerFailed
from burnish.local.home import (
    SERVER_PORTS,
    Record,
    data_folder,
    free_port,
    locked,
    port_is_free,
    prepare,
    recall,
    recall_one,
    remember,
    write_private,
)
from burnish.local.processes import Identity


def test_the_users_choice_of_folder_comes_first(tmp_path: Path) -> None:
    assert data_folder({"BURNISH_HOME": str(tmp_path), "XDG_DATA_HOME": "/elsewhere"}) == tmp_path.resolve()


def test_root_gets_a_folder_that_other_accounts_can_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert data_folder({}) == Path("/var/lib/burnish")


def test_others_get_the_systems_place_for_user_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/burnish")
    assert data_folder({"XDG_DATA_HOME": ""}) == Path.home() / ".local/share/burnish"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder({}) == Path.home() / "Library/Application Support/burnish"


def test_a_record_survives_and_others_are_kept(home: Path) -> None:
    one = Record(port=20_001, secret="s", process=Identity(7, 1.5), wanted=True)
    remember(home, "postgres", one)
    remember(home, "valkey", Record(port=20_002))
    assert recall(home) == {"postgres": one, "valkey": Record(port=20_002)}
    assert (home / "state.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"postgres": 3}', b'{"postgres": {"port": "x"}}', b"\xff\x00"])
def test_a_damaged_state_is_as_good_as_none(home: Path, content: bytes) -> None:
    (home / "state.json").write_bytes(content)
    assert recall_one(home, "postgres") == Record()


def test_a_failed_write_leaves_the_old_content_and_no_debris(home: Path) -> None:
    write_private(home / "state.json", b"old")
    with pytest.raises(TypeError):
        write_private(home / "state.json", "not bytes")  # pyright: ignore[reportArgumentType] the failure wanted
    assert [path.name for path in home.iterdir()] == ["state.json"]
    assert (home / "state.json").read_bytes() == b"old"


def test_a_remembered_port_is_kept_until_something_else_takes_it() -> None:
    port = free_port()
    assert port in SERVER_PORTS
    assert free_port(port) == port
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not port_is_free(port)
        assert free_port(port) != port


def test_the_lock_shuts_others_out_and_is_freed_by_kill_9(home: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from burnish.local.home import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(LocalServerFailed, match="another process has held"), locked(home, patience=0.2):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with locked(home, patience=5):
        pass


def test_a_folder_that_cannot_be_made_is_named(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(LocalServerFailed, match="BURNISH_HOME"):
        prepare(home / "file" / "below")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another account")
def test_root_is_told_which_folder_the_servers_account_cannot_enter(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(LocalServerFailed, match=r"cannot enter .*closed"):
        prepare(closed / "data")

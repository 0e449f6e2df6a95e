"""The process of a simulated model: it starts as a block or as a program, and it never outlives its owner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from burnish.errors import Unavailable
from burnish.testing import simulated_model


def _ask(url: str, key: str = "any") -> httpx.Response:
    body = {"model": "simulated", "messages": [{"role": "user", "content": "x"}]}
    headers = {"authorization": f"Bearer {key}"}
    return httpx.post(url + "/chat/completions", json=body, headers=headers, trust_env=False)


def test_the_process_ends_with_its_block_and_says_so_afterwards() -> None:
    with simulated_model(key="chosen") as model:
        assert _ask(model.url, key="chosen").status_code == 200
    with pytest.raises(ProcessLookupError):
        os.kill(model.pid, 0)
    with pytest.raises(Unavailable, match="has it been stopped"):
        model.calls()


def test_the_process_ends_when_its_parent_is_killed() -> None:
    program = (
        "import os, signal\n"
        "from burnish.testing import simulated_model\n"
        "with simulated_model() as model:\n"
        "    print(model.url, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    health = parent.stdout.strip().removesuffix("/v1") + "/health"
    # capture_output waits until the server, which has inherited stderr, has closed it too: it has ended by now.
    with pytest.raises(httpx.ConnectError):
        httpx.get(health, trust_env=False)


def test_the_program_plays_a_script_from_a_file_and_names_its_address(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"rules": [{"reply": "from a file"}]}), encoding="utf-8")
    command = [sys.executable, "-m", "burnish.testing.server", "--port", "0", "--script", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())
        assert address["pid"] == process.pid
        reply = _ask(address["url"]).json()
        assert reply["choices"][0]["message"]["content"] == "from a file"
    finally:
        process.terminate()
        assert process.wait(10) == 0
        if process.stdout:
            process.stdout.close()


def test_the_program_refuses_a_script_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('{"rules": [{"matches": "x"}]}', encoding="utf-8")
    command = [sys.executable, "-m", "burnish.testing.server", "--script", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "rules.0.matches" in ended.stderr

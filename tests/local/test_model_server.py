"""The language model's server, on the real weights: fetched once into BURNISH_TEST_MODEL_HOME (or `.burnish` here)."""

from __future__ import annotations

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnish.errors import LocalServerFailed
from burnish.local.home import locked, prepare
from burnish.local.model import model_server_state, start_model_server, stop_model_server
from burnish.local.model_server import usable_cores
from burnish.local.processes import find_running, identify, is_alive, wait_until
from burnish.local.servers import Endpoints, revive_servers, start_servers
from burnish.local.weights import fetch_weights


def test_threads_stay_within_the_containers_quota(tmp_path: Path) -> None:
    free = usable_cores(tmp_path)
    assert free == len(os.sched_getaffinity(0))
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == free
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("nonsense")
    assert usable_cores(tmp_path) == free


def test_an_old_cgroup_quota_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1\n")
    assert usable_cores(tmp_path) == len(os.sched_getaffinity(0))


def test_a_file_that_is_no_model_is_refused_before_anything_starts(home: Path) -> None:
    prepare(home)
    (home / "page.gguf").write_text("<html>not found</html>")
    with locked(home):
        with pytest.raises(LocalServerFailed, match="not a GGUF file; set BURNISH_MODEL_PATH"):
            start_model_server(home, home / "page.gguf")
        with pytest.raises(LocalServerFailed, match="cannot be read"):
            start_model_server(home, home / "absent.gguf")
    assert not model_server_state(home).running


def test_a_truncated_model_fails_with_the_log_in_the_message(home: Path) -> None:
    prepare(home)
    (home / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    with locked(home), pytest.raises(LocalServerFailed, match=r"(?s)model did not start.*init server"):
        start_model_server(home, home / "cut.gguf")


def _weights() -> Path:
    default = Path(__file__).parents[2] / ".burnish"
    folder = Path(os.environ.get("BURNISH_TEST_MODEL_HOME") or default).resolve()
    return fetch_weights(folder, on_progress=lambda done, total: print(f"fetched {done} of {total} bytes"))


def _ask(found: Endpoints, question: str, **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": question}], "temperature": 0, **more}
    headers = {"Authorization": f"Bearer {found.model_key}"}
    reply = httpx.post(f"{found.model_url}/chat/completions", json=body, headers=headers, timeout=300, trust_env=False)
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]


def _kill_9(pid: int | None) -> None:
    assert pid
    identity = identify(pid)
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(identity), patience=10)


@pytest.mark.model
def test_the_real_model_answers_judges_keeps_a_schema_and_survives_kill_9(home: Path) -> None:
    path = _weights()
    found = start_servers(home, model=True, model_path=path, report=print)

    judged = _ask(found, "Is Paris in France? Answer Yes or No.", max_tokens=1, logprobs=True, top_logprobs=10)[
        "logprobs"
    ]["content"][0]["top_logprobs"]
    probabilities = {each["token"]: math.exp(each["logprob"]) for each in judged}
    assert probabilities["Yes"] > probabilities["No"]

    schema = {
        "type": "object",
        "properties": {"capital": {"type": "string", "maxLength": 20}},
        "required": ["capital"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
    answered = _ask(found, "What is the capital of France?", max_tokens=30, response_format=form)
    assert json.loads(answered["message"]["content"]) == {"capital": "Paris"}
    assert answered["finish_reason"] == "stop"

    assert httpx.post(f"{found.model_url}/chat/completions", json={}, trust_env=False).status_code == 401
    assert str(home) not in httpx.get(f"{found.model_url}/models", trust_env=False).text

    first = model_server_state(home).pid
    assert start_servers(home, model=True, model_path=path, report=print) == found
    assert model_server_state(home).pid == first

    _kill_9(first)
    assert revive_servers(home) == ("model",)
    assert _ask(found, "Say hello.", max_tokens=1)["message"]["content"]

    with locked(home):
        stop_model_server(home)
    assert find_running("python", str(home / "model.key")) == []
    assert revive_servers(home) == ()

"""Start a simulated model for a test, talk to it, stop it."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from burnish.errors import InvalidInput, LocalServerFailed, Unavailable
from burnish.testing.script import Script, read_script

STOP_SECONDS = 5


@dataclass(frozen=True)
class Prompted:
    """One call as the model saw it. text: the messages' texts, or the texts to embed, joined by newlines."""

    kind: str
    model: str
    text: str


@dataclass(frozen=True)
class Calls:
    """What a simulated model has been asked since it started or was reset.

    distinct: requests that differ in any byte; count - distinct were repeated. most_in_flight: at any one moment.
    by_status: "200", another HTTP status, "dropped", or "abandoned" by the caller; calls in flight are in none.
    prompts: the latest, oldest first. cpu_seconds: of the server process since it started.
    """

    count: int
    distinct: int
    in_flight: int
    most_in_flight: int
    by_kind: Mapping[str, int]
    by_status: Mapping[str, int]
    prompts: tuple[Prompted, ...]
    cpu_seconds: float


@dataclass(frozen=True)
class SimulatedModel:
    """A running simulated model. url: what an OpenAI client takes as its base URL, /v1 included."""

    url: str
    key: str
    pid: int

    def calls(self) -> Calls:
        found = self._request("GET", "/calls")
        prompts = tuple(Prompted(**prompt) for prompt in found.pop("prompts"))
        return Calls(prompts=prompts, **found)

    def set_script(self, script: Script | Mapping[str, Any]) -> None:
        """Play another script, from its start; the counts stay."""
        self._request("POST", "/script", read_script(script).model_dump_json())

    def reset(self) -> None:
        """Play the script from its start again and count from nought."""
        self._request("POST", "/reset")

    def _request(self, method: str, path: str, body: str = "") -> dict[str, Any]:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            connection.request(method, path, body.encode(), {"authorization": f"Bearer {self.key}"})
            response = connection.getresponse()
            content = json.loads(response.read())
        except OSError as error:
            raise Unavailable(f"the simulated model at {self.url} does not answer; has it been stopped?") from error
        finally:
            connection.close()
        if response.status != 200:
            raise InvalidInput(content["error"]["message"])
        return content


@contextmanager
def simulated_model(
    script: Script | Mapping[str, Any] | None = None, *, key: str | None = None
) -> Generator[SimulatedModel]:
    """A simulated model in a process of its own, for as long as the block lasts and never longer than this process.

    Without a script it answers every call with a minimal valid instance of the schema asked for. Raises InvalidInput
    for a script that cannot be read, before anything is started.
    """
    wanted = None if script is None else read_script(script)
    key = key or f"simulated-{secrets.token_hex(8)}"
    process = _start(key)
    try:
        model = _address(process, key)
        if wanted is not None:
            model.set_script(wanted)
        yield model
    finally:
        _stop(process)


def _start(key: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "burnish.testing.server", "--port", "0", "--key", key, "--until-input-ends"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours


def _address(process: subprocess.Popen[str], key: str) -> SimulatedModel:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise LocalServerFailed(f"the simulated model did not start (exit code {process.wait()}); see its error output")
    return SimulatedModel(key=key, **json.loads(line))


def _stop(process: subprocess.Popen[str]) -> None:
    """Closing its input would do, had no forked child of ours kept a copy of it open."""
    process.terminate()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

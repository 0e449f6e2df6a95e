"""A client of the HTTP API: ask a question, submit a batch, read answers, results and the audit trail.

    with Client("http://127.0.0.1:8321") as burnish:
        answer = burnish.ask("How long is the Danube?", strategy="hyde", wait=60)
        job = burnish.submit([{"custom_id": "q1", "question": "..."}], strategy="self_irag")
        for line in burnish.results(job["id"]):
            ...

Whatever goes wrong is one of burnish's own errors, with the server's words as its message: InvalidInput (and what is
wrong line by line in its `errors`), NotFound, Unavailable, or BurnishError for a fault of the server.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

import httpx

from burnish.errors import BurnishError, InvalidInput, NotFound, Unavailable

Json: TypeAlias = dict[str, Any]
JSON_LINES = "application/jsonl"
_BLOCK_BYTES = 64 * 1024


class Client:
    """A connection to the API at `url`. timeout: seconds to wait for a reply, on top of what `wait` asks for."""

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        self._timeout = timeout
        # The API is a server of one's own: a proxy that the environment names is not meant for it.
        self._http = httpx.Client(base_url=url.rstrip("/"), timeout=timeout, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def ready(self) -> bool:
        """Whether the API answers and reaches its database and its broker."""
        try:
            return self._http.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def ask(
        self,
        question: str,
        *,
        strategy: str | None = None,
        collection: str | None = None,
        config: Mapping[str, Any] | None = None,
        wait: int | None = None,
    ) -> Json:
        """Ask one question. With `wait`, its answer if it ends within so many seconds; else how it stands."""
        body = {"question": question, **_given(strategy=strategy, collection=collection, config=config)}
        if wait is None:
            return self._call("POST", "/v1/answers", json=body)
        timeout = httpx.Timeout(self._timeout, read=self._timeout + wait)
        return self._call("POST", "/v1/answers", json=body, headers={"Prefer": f"wait={wait}"}, timeout=timeout)

    def answer(self, answer_id: str) -> Json:
        return self._call("GET", f"/v1/answers/{answer_id}")

    def steps(self, answer_id: str, *, full: bool = False) -> Json:
        """The audit tree of an answer; `full` with every prompt and reply uncut."""
        return self._call("GET", f"/v1/answers/{answer_id}/steps", params={"full": full})

    def retry_answer(self, answer_id: str) -> Json:
        return self._call("POST", f"/v1/answers/{answer_id}/retry")

    def submit(
        self,
        lines: Iterable[Mapping[str, Any] | bytes],
        *,
        name: str | None = None,
        strategy: str | None = None,
        collection: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Json:
        """Submit questions as one job, sent as they come. What a line does not say, the keywords say for it.

        lines: mappings with "question" and, if wanted, "custom_id", "strategy", "collection", "config", "gold" and
            "metadata"; or lines of JSON as they stand in a file, so that a file opened in binary mode will do.

        The job that comes back lists under "rejected_lines" the first 1,000 that cannot be used, and counts all of them
        under "rejected". Raises InvalidInput if none can be used.
        """
        params = _given(name=name, strategy=strategy, collection=collection)
        if config is not None:
            params["config"] = json.dumps(config)
        headers = {"Content-Type": JSON_LINES}
        return self._call("POST", "/v1/jobs", params=params, headers=headers, content=_json_lines(lines))

    def job(self, job_id: str) -> Json:
        """How far a job has come: its status, counts and costs."""
        return self._call("GET", f"/v1/jobs/{job_id}")

    def jobs(self, *, limit: int = 20, after: str | None = None) -> list[Json]:
        """The latest jobs, newest first; `after` is the id of the last one already seen."""
        return self._call("GET", "/v1/jobs", params={"limit": limit, **_given(after=after)})["jobs"]

    def results(self, job_id: str, outcome: str | None = None) -> Iterator[Json]:
        """The answers of a job that have ended, in the order of submission, read as they are taken."""
        yield from self._lines(f"/v1/jobs/{job_id}/results", _given(outcome=outcome))

    def rejected(self, job_id: str) -> Iterator[Json]:
        """The lines of a job that could not be used, each with its number and why."""
        yield from self._lines(f"/v1/jobs/{job_id}/rejected", {})

    def retry_job(self, job_id: str, outcomes: Sequence[str] = ("failed",)) -> Json:
        """Ask again the questions of a job that ended so. What was recorded before is not done twice."""
        return self._call("POST", f"/v1/jobs/{job_id}/retry", json={"outcomes": list(outcomes)})

    def cancel(self, job_id: str) -> Json:
        return self._call("POST", f"/v1/jobs/{job_id}/cancel")

    def add_file(self, path: Path | str, collection: str = "default", *, name: str | None = None) -> Json:
        """Ingest one file. name: the id of its document; without one, the file's name."""
        file = Path(path)
        params = {"name": name or file.name, "collection": collection}
        return self._call("POST", "/v1/documents", params=params, content=file.read_bytes(), timeout=None)

    def add_documents(self, documents: Iterable[Mapping[str, Any]], collection: str = "default") -> Json:
        """Ingest texts: mappings with "id" and "text" and, if wanted, "title" and "metadata"."""
        body = {"collection": collection, "documents": list(documents)}
        return self._call("POST", "/v1/documents", json=body, timeout=None)

    def collections(self) -> list[Json]:
        return self._call("GET", "/v1/collections")["collections"]

    def _call(self, method: str, path: str, **request: Any) -> Json:
        with self._send(method, path, **request) as response:
            response.read()
            return response.json()

    def _lines(self, path: str, params: Mapping[str, Any]) -> Iterator[Json]:
        with self._send("GET", path, params=params) as response:
            for line in _split_lines(response.iter_bytes(_BLOCK_BYTES)):
                yield json.loads(line)

    @contextmanager
    def _send(self, method: str, path: str, **request: Any) -> Generator[httpx.Response]:
        try:
            with self._http.stream(method, path, **request) as response:
                if not response.is_success:
                    response.read()
                    raise _error_of(response)
                yield response
        except httpx.TimeoutException as error:
            raise Unavailable(f"burnish at {self._http.base_url} did not answer in time") from error
        except httpx.ConnectError as error:
            raise Unavailable(f"no burnish answers at {self._http.base_url}: start it with `burnish up`") from error
        except httpx.TransportError as error:
            raise Unavailable(f"the connection to burnish at {self._http.base_url} broke off") from error


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _json_lines(lines: Iterable[Mapping[str, Any] | bytes]) -> Iterator[bytes]:
    """In blocks, since a request to write for each line would cost more than the line."""
    block = bytearray()
    for line in lines:
        block += line.rstrip(b"\r\n") if isinstance(line, bytes) else json.dumps(line).encode()
        block += b"\n"
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def _split_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """At newlines alone: a text may hold other characters that split lines elsewhere."""
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from (line for line in lines if line)
    if rest:
        yield rest


def _error_of(response: httpx.Response) -> BurnishError:
    problem = _problem_of(response)
    detail = str(problem.get("detail") or problem.get("title") or f"the server said {response.status_code}")
    if response.status_code == 404:
        return NotFound(detail)
    if response.status_code in (502, 503, 504):
        return Unavailable(detail)
    if response.is_client_error:
        errors: Any = problem.get("errors")
        return InvalidInput(detail, cast("list[Json]", errors) if isinstance(errors, list) else ())
    return BurnishError(detail)


def _problem_of(response: httpx.Response) -> Json:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return cast("Json", problem) if isinstance(problem, dict) else {}

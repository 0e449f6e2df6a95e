"""The simulated model as a program: `python -m burnish.testing.server --port 0 --script FILE`.

It prints one JSON line, {"url": ..., "pid": ...}, once it listens on 127.0.0.1, and serves until SIGTERM or SIGINT.

    POST /v1/chat/completions   POST /v1/embeddings   GET /v1/models   GET /health
    GET /calls                  what was asked, counted
    POST /script                play another script from its start; the counts stay
    POST /reset                 play the script from its start and count from nought

It shares its machine with what it tests, so it must cost little. Of the HTTP servers that burnish's dependencies bring,
each answering a fixed text after 0.2 s to 64 callers, aiohttp's low-level one took least CPU: 0.15 ms a call, where
aiohttp with routes took 0.22, tornado 0.34 and uvicorn on h11 0.44.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from burnish.errors import InvalidInput
from burnish.testing import wire
from burnish.testing.log import CallLog, Ending
from burnish.testing.playback import Plan, Playback
from burnish.testing.script import Script, read_script

HOST = "127.0.0.1"
MAX_BODY_BYTES = 64 * 1024 * 1024

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class SimulatedServer:
    """The routes, the script being played and the counts."""

    def __init__(self, script: Script, key: str | None) -> None:
        self._expected = None if key is None else f"Bearer {key}"
        self._playback = Playback(script)
        self._log = CallLog(script.keep)
        self._routes: dict[str, tuple[str, Handler]] = {
            "/v1/chat/completions": ("POST", self._chat),
            "/v1/embeddings": ("POST", self._embeddings),
            "/v1/models": ("GET", self._models),
            "/health": ("GET", self._health),
            "/calls": ("GET", self._calls),
            "/script": ("POST", self._set_script),
            "/reset": ("POST", self._reset),
        }

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        method, handler = self._routes.get(request.path, ("", None))
        if handler is None:
            return _error(404, f"there is no {request.path}")
        if request.method != method:
            return _error(405, f"{request.path} takes {method}")
        if handler != self._health and self._expected not in (None, request.headers.get("authorization")):
            return _error(401, "the key in the Authorization header is missing or wrong")
        try:
            return await handler(request)
        except InvalidInput as problem:
            return _error(400, str(problem))

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        asked = wire.read_chat(body)
        plan = self._playback.plan(asked.call)
        with self._log.open(asked.call, body) as ending:
            number = self._log.count
            failure = await _failure(request, plan, ending)
            if failure is not None:
                return failure
            if asked.stream:
                response = await _streamed(request, asked, plan, number)
            else:
                response = _json(wire.completion(asked, plan, number))
            ending.end_as(200)
            return response

    async def _embeddings(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        asked = wire.read_embeddings(body, self._playback.script.dimension)
        plan = self._playback.plan(asked.call)
        with self._log.open(asked.call, body) as ending:
            failure = await _failure(request, plan, ending)
            if failure is not None:
                return failure
            ending.end_as(200)
            return _json(wire.embeddings(asked))

    async def _models(self, _: web.BaseRequest) -> web.StreamResponse:
        model = {"id": "simulated", "object": "model", "created": 0, "owned_by": "burnish"}
        return _json({"object": "list", "data": [model]})

    async def _health(self, _: web.BaseRequest) -> web.StreamResponse:
        return _json({"status": "ok"})

    async def _calls(self, _: web.BaseRequest) -> web.StreamResponse:
        return _json(self._log.summary())

    async def _set_script(self, request: web.BaseRequest) -> web.StreamResponse:
        script = read_script(await request.read())
        self._playback = Playback(script)
        self._log.keep(script.keep)
        return _json({"rules": len(script.rules)})

    async def _reset(self, _: web.BaseRequest) -> web.StreamResponse:
        script = self._playback.script
        self._playback, self._log = Playback(script), CallLog(script.keep)
        return _json({"rules": len(script.rules)})


async def _failure(request: web.BaseRequest, plan: Plan, ending: Ending) -> web.StreamResponse | None:
    """Wait as long as the plan says; then the failure it holds, if any."""
    if plan.latency:
        await asyncio.sleep(plan.latency)
    if plan.drop:
        ending.end_as("dropped")
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
    if plan.status is not None:
        ending.end_as(plan.status)
        return _error(plan.status, "a failure that the script asks for", plan.retry_after)
    return None


async def _streamed(request: web.BaseRequest, asked: wire.ChatRequest, plan: Plan, number: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for chunk in wire.completion_chunks(asked, plan, number):
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """ASCII, since a lone surrogate that came in as an escape can only leave as one."""
    body = json.dumps(content).encode()
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


def _error(status: int, message: str, retry_after: float | None = None) -> web.Response:
    headers = None if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return _json(wire.error(status, message), status, headers)


async def serve(script: Script, port: int, key: str | None, until_input_ends: bool) -> None:
    """Serve until told to stop; port 0 lets the system choose one."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    runner = web.ServerRunner(_listener(script, key), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, HOST, port)
    await site.start()
    _announce(runner.addresses[0][1])
    if until_input_ends:
        await _read_to_end(stop)
    # What was imported lives as long as the process: looking through it again at every collection is waste.
    gc.freeze()
    await stop.wait()
    await runner.cleanup()


def _listener(script: Script, key: str | None) -> web.Server:
    request_with_room = partial(web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=MAX_BODY_BYTES)
    # Cancelled with its connection, an abandoned call is in flight no longer, as on a real server.
    return web.Server(
        SimulatedServer(script, key), request_factory=request_with_room, handler_cancellation=True, access_log=None
    )


def _announce(port: int) -> None:
    sys.stdout.write(json.dumps({"url": f"http://{HOST}:{port}/v1", "pid": os.getpid()}) + "\n")
    sys.stdout.flush()


async def _read_to_end(stop: asyncio.Event) -> None:
    class Watch(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio names it
            stop.set()

    await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m burnish.testing.server", description="A simulated language model.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 lets the system choose")
    parser.add_argument("--script", type=Path, help="JSON file; without one every call gets a minimal valid answer")
    parser.add_argument("--key", help="the API key that calls must bring")
    parser.add_argument("--until-input-ends", action="store_true", help="stop when standard input is closed")
    given = parser.parse_args()
    try:
        script = read_script(given.script.read_bytes()) if given.script else Script()
    except (OSError, InvalidInput) as problem:
        parser.error(str(problem))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(script, given.port, given.key, given.until_input_ends))


if __name__ == "__main__":
    main()

"""An audit tree as it is sent: prompts, replies and passages cut to what a person takes in, unless wanted in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from burnish.store.trail import CallTrail, RunTrail, StepTrail

EXCERPT_CHARACTERS = 280
_PASSAGE_FIELDS = ("document_id", "title", "chunk_id", "start", "end", "score")


def trail_of(run: RunTrail, *, full: bool) -> dict[str, Any]:
    return {**_shallow(run, "steps"), "steps": [_step(step, full) for step in run.steps]}


def _step(step: StepTrail, full: bool) -> dict[str, Any]:
    return {
        **_shallow(step, "request", "reply", "call", "run"),
        "request": step.request if full else _request(step.request),
        "reply": step.reply if full else _reply(step.request, step.reply),
        "call": _call(step.call, full) if step.call else None,
        "run": trail_of(step.run, full=full) if step.run else None,
    }


def _shallow(value: RunTrail | StepTrail, *without: str) -> dict[str, Any]:
    return {name: inner for name, inner in vars(value).items() if name not in without}


def _call(call: CallTrail, full: bool) -> dict[str, Any]:
    return {name: value for name, value in asdict(call).items() if full or name not in ("request", "reply")}


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    match request.get("effect"):
        case "ask":
            prompt: Mapping[str, Any] = request["prompt"]
            shown = {"effect": "ask", "prompt": _excerpt(prompt["user"]), "max_tokens": prompt["max_tokens"]}
            return {**shown, "temperature": request.get("temperature"), "seed": request.get("seed")}
        case "retrieve":
            queries: Sequence[Mapping[str, Any]] = request["queries"]
            return {**request, "queries": [{**query, "text": _excerpt(query["text"])} for query in queries]}
        case _:
            return dict(request)


def _reply(request: Mapping[str, Any], reply: Any) -> Any:
    match request.get("effect"), reply:
        case "ask", {"text": str(text)}:
            return {**cast("dict[str, Any]", reply), "text": _excerpt(text)}
        case "retrieve", list():
            return [_passage(passage) for passage in cast("list[Mapping[str, Any]]", reply)]
        case _:
            return reply


def _passage(passage: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: passage.get(name) for name in _PASSAGE_FIELDS}, "text": _excerpt(str(passage.get("text")))}


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARACTERS else text[: EXCERPT_CHARACTERS - 1] + "…"

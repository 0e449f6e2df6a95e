"""Effects, replies and answers as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from pydantic import TypeAdapter

from burnish import errors
from burnish.effects import Ask, Note, Reply, Retrieve, Subquestion
from burnish.engine import Item, SingleEffect
from burnish.errors import BurnishError, EffectFailed
from burnish.results import Answer, Passage

_ASK = TypeAdapter(Ask)
_REPLY = TypeAdapter(Reply)
_PASSAGES = TypeAdapter(tuple[Passage, ...])
_ANSWER = TypeAdapter(Answer)


def kind_of(effect: SingleEffect) -> str:
    """The name of a step's kind: that of the prompt for an Ask, else the effect's own."""
    return effect.prompt.kind if isinstance(effect, Ask) else type(effect).__name__.lower()


def dump_item(item: Item) -> dict[str, Any]:
    """The columns of a step that tell what was asked for."""
    return {
        "key": item.key,
        "position": item.position,
        "kind": kind_of(item.effect),
        "request": dump_effect(item.effect),
    }


def dump_effect(effect: SingleEffect) -> dict[str, Any]:
    match effect:
        case Ask():
            return {"effect": "ask", **_ASK.dump_python(effect, mode="json")}
        case Note():
            kinds = sorted({type(record).__name__ for record in effect.records})
            return {"effect": "note", "records": len(effect.records), "of": kinds}
        case Subquestion():
            return {"effect": "subquestion", "question": effect.question, "strategy": effect.strategy}
        case Retrieve():
            return {"effect": "retrieve", **asdict(effect)}


def load_ask(request: Mapping[str, Any]) -> Ask:
    return _ASK.validate_python({name: value for name, value in request.items() if name != "effect"})


def dump_reply(reply: Any) -> Any:
    match reply:
        case Reply():
            return _REPLY.dump_python(reply, mode="json")
        case tuple():
            return _PASSAGES.dump_python(cast("tuple[Passage, ...]", reply), mode="json")
        case _:
            return None


def load_reply(request: Mapping[str, Any], reply: Any) -> Any:
    match request["effect"]:
        case "ask":
            return _REPLY.validate_python(reply)
        case "retrieve":
            return _PASSAGES.validate_python(reply)
        case _:
            return None


def dump_answer(answer: Answer) -> dict[str, Any]:
    return _ANSWER.dump_python(answer, mode="json")


def load_answer(value: Mapping[str, Any]) -> Answer:
    return _ANSWER.validate_python(value)


def dump_failure(failure: BurnishError) -> dict[str, Any]:
    return {"type": type(failure).__name__, "message": str(failure), "retryable": failure.retryable}


def load_failure(value: Mapping[str, Any]) -> EffectFailed:
    """The failure as it was; one of a type that is no longer known comes back as a plain EffectFailed."""
    kind = getattr(errors, str(value.get("type")), EffectFailed)
    known = isinstance(kind, type) and issubclass(kind, EffectFailed)
    return (kind if known else EffectFailed)(str(value.get("message", "")))

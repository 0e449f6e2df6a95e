"""The bodies of the OpenAI API that the simulated model reads and writes; tokens are counted as words."""

from __future__ import annotations

import base64
import json
import time
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from burnish.errors import InvalidInput
from burnish.testing.playback import EMBEDDINGS, Call, Plan
from burnish.testing.vectors import embed

MAX_TOP_LOGPROBS = 20
MAX_DIMENSION = 8192


@dataclass(frozen=True)
class ChatRequest:
    """top_logprobs: None where no log-probabilities are wanted. with_usage: only read in a stream."""

    call: Call
    top_logprobs: int | None = None
    stream: bool = False
    with_usage: bool = False


@dataclass(frozen=True)
class EmbeddingsRequest:
    call: Call
    texts: tuple[str, ...]
    dimension: int
    as_base64: bool


def read_chat(body: bytes) -> ChatRequest:
    """Raises InvalidInput for what OpenAI would refuse as well."""
    sent = _read_object(body)
    kind, schema = _reply_form(sent.get("response_format"))
    options = sent.get("stream_options")
    return ChatRequest(
        call=Call(kind, _model(sent), _messages_text(sent.get("messages")), schema),
        top_logprobs=_top_logprobs(sent) if sent.get("logprobs") is True else None,
        stream=sent.get("stream") is True,
        with_usage=isinstance(options, dict) and cast("dict[str, Any]", options).get("include_usage") is True,
    )


def read_embeddings(body: bytes, dimension: int) -> EmbeddingsRequest:
    """`dimension` holds where the request names none. Texts only: token numbers have no words to compare."""
    sent = _read_object(body)
    given = sent.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in cast("list[Any]", texts)):
        raise InvalidInput("input must be a text or a list of texts")
    wanted = sent.get("dimensions")
    if wanted is None:
        wanted = dimension
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= MAX_DIMENSION:
        raise InvalidInput(f"dimensions must be a whole number from 1 to {MAX_DIMENSION}")
    call = Call(EMBEDDINGS, _model(sent), "\n".join(cast("list[str]", texts)))
    return EmbeddingsRequest(call, tuple(cast("list[str]", texts)), wanted, sent.get("encoding_format") == "base64")


def completion(request: ChatRequest, plan: Plan, number: int) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": plan.text},
        "logprobs": _logprobs(request, plan),
        "finish_reason": plan.finish_reason,
    }
    return {**_head("chat.completion", request, number), "choices": [choice], "usage": _usage(request, plan)}


def completion_chunks(request: ChatRequest, plan: Plan, number: int) -> Iterator[dict[str, Any]]:
    """The same completion in pieces: the text, the end, and the usage if it was asked for."""
    head = _head("chat.completion.chunk", request, number)
    said = {"index": 0, "delta": {"role": "assistant", "content": plan.text}, "finish_reason": None}
    yield {**head, "choices": [{**said, "logprobs": _logprobs(request, plan)}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": plan.finish_reason}]}
    if request.with_usage:
        yield {**head, "choices": [], "usage": _usage(request, plan)}


def embeddings(request: EmbeddingsRequest) -> dict[str, Any]:
    vectors = (embed(text, request.dimension) for text in request.texts)
    data = [
        {"object": "embedding", "index": nth, "embedding": _packed(vector) if request.as_base64 else vector}
        for nth, vector in enumerate(vectors)
    ]
    tokens = _words(request.call.text)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request.call.model, "data": data, "usage": usage}


def error(status: int, message: str) -> dict[str, Any]:
    names = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    name = names.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": name, "param": None, "code": name}}


def _read_object(body: bytes) -> Mapping[str, Any]:
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput("the body is not JSON") from problem
    if not isinstance(sent, dict):
        raise InvalidInput("the body must be a JSON object")
    return cast("dict[str, Any]", sent)


def _model(sent: Mapping[str, Any]) -> str:
    if not isinstance(sent.get("model"), str):
        raise InvalidInput("model must be a text")
    return sent["model"]


def _messages_text(messages: Any) -> str:
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages must be a list that is not empty")
    return "\n".join(_message_text(message) for message in cast("list[Any]", messages))


def _message_text(message: Any) -> str:
    if not isinstance(message, dict):
        raise InvalidInput("each message must be an object")
    content = cast("dict[str, Any]", message).get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise InvalidInput("a message's content must be a text or a list of parts")
    parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
    return "\n".join(str(part["text"]) for part in parts if "text" in part)


def _reply_form(wanted: Any) -> tuple[str, Any]:
    form = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {"type": "text"}
    if form.get("type") == "json_object":
        return "json_object", {"type": "object"}
    if form.get("type") != "json_schema":
        return "text", None
    described = form.get("json_schema")
    named = cast("dict[str, Any]", described) if isinstance(described, dict) else {}
    if not isinstance(named.get("name"), str):
        raise InvalidInput("response_format.json_schema.name must be a text")
    return named["name"], named.get("schema", {"type": "object"})


def _top_logprobs(sent: Mapping[str, Any]) -> int:
    count = sent.get("top_logprobs") or 0
    if not isinstance(count, int) or not 0 <= count <= MAX_TOP_LOGPROBS:
        raise InvalidInput(f"top_logprobs must be a whole number from 0 to {MAX_TOP_LOGPROBS}")
    return count


def _logprobs(request: ChatRequest, plan: Plan) -> dict[str, Any] | None:
    if request.top_logprobs is None or not plan.logprobs:
        return None
    likeliest = sorted(plan.logprobs.items(), key=lambda item: -item[1])
    said = (plan.text, plan.logprobs[plan.text]) if plan.text in plan.logprobs else likeliest[0]
    top = [_token(*item) for item in likeliest[: request.top_logprobs]]
    return {"content": [{**_token(*said), "top_logprobs": top}], "refusal": None}


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "surrogatepass"))}


def _head(kind: str, request: ChatRequest, number: int) -> dict[str, Any]:
    return {"id": f"simulated-{number}", "object": kind, "created": int(time.time()), "model": request.call.model}


def _usage(request: ChatRequest, plan: Plan) -> dict[str, int]:
    prompt, said = _words(request.call.text), _words(plan.text)
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _words(text: str) -> int:
    return len(text.split())


def _packed(vector: list[float]) -> str:
    """Little-endian 32-bit floats, as the OpenAI client asks for them unless told otherwise."""
    return base64.b64encode(array("f", vector).tobytes()).decode()

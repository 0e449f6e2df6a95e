"""What a language model gave, read as a reply.

It gives a text, or a mapping or an object that holds one: as `text`, `content`, `answer`, `response`, `output_text` or
`generated_text`, as a list of `content` blocks with texts, or as the first of `choices` (chat completions). Beside it
may stand what it took: `usage` or `usage_metadata` with token counts, and a cost in US dollars.

Some clients give their error in place of raising it: as {"error": ...}, or as a text that begins "Error:". Such a value
is raised, for an error that is read as an answer is a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from burnish.adapters.reading import first_of, read_number
from burnish.adapters.retries import may_pass_by_status
from burnish.effects import Reply
from burnish.errors import LanguageModelFailed, LanguageModelRefused, LanguageModelUnavailable

TEXT_NAMES = ("text", "content", "answer", "response", "output_text", "generated_text")
USAGE_NAMES = ("usage", "usage_metadata")
PROMPT_TOKENS_NAMES = ("prompt_tokens", "input_tokens")
COMPLETION_TOKENS_NAMES = ("completion_tokens", "output_tokens")
COST_NAMES = ("cost_usd", "response_cost", "cost")
# With or without the sign that some clients put first. An answer that we ask for is JSON or a sentence.
_ERROR_TEXT = re.compile(r"\s*(?:[❌⚠️⏱🚫\[(]+\s*)?(?:error|exception|خطأ)\s*:", re.IGNORECASE)
_ERROR_SIGN = re.compile(r"\s*[❌⚠]\ufe0f?\s*\S")
_STATUS = re.compile(r"\b([45]\d\d)\b")
_MAY_PASS = re.compile(
    r"time[d-]?\s?out|connect|unavailable|overloaded|rate.?limit|too many requests|temporar|try again|attempts failed",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MeteredReply(Reply):
    """A reply and what it took: tries, tokens and US dollars. None where the model does not tell."""

    tries: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class ErrorReply(Exception):
    """The error that a client gave in place of raising it, in its words."""


def read_reply(said: Any) -> MeteredReply:
    """The reply in what a model gave. Raises LanguageModelFailed for an error, and where there is no text in it."""
    _check_no_error(said)
    choice = _first_choice(said)
    text = _text_of(said) if choice is None else _text_of(first_of(choice, ("message",)) or choice)
    if text is None:
        raise LanguageModelFailed(f"generate must give a text, not {type(said).__name__}")
    if _ERROR_TEXT.match(text) or _ERROR_SIGN.match(text):
        raise _given_error(text, _status_in(text)) from ErrorReply(text)
    usage: Any = first_of(said, USAGE_NAMES) or {}
    hidden: Any = first_of(said, ("_hidden_params",)) or {}
    costs = (read_number(first_of(holder, COST_NAMES)) for holder in (said, usage, hidden))
    return MeteredReply(
        text=text,
        truncated=first_of(choice or said, ("finish_reason", "stop_reason")) in ("length", "max_tokens"),
        prompt_tokens=_count(first_of(usage, PROMPT_TOKENS_NAMES)),
        completion_tokens=_count(first_of(usage, COMPLETION_TOKENS_NAMES)),
        cost_usd=next((cost for cost in costs if cost is not None), None),
    )


def _check_no_error(said: Any) -> None:
    error: Any = cast("Mapping[str, Any]", said).get("error") if isinstance(said, Mapping) else None
    if error:
        codes = (first_of(holder, ("status_code", "status", "code")) for holder in (error, cast("Any", said)))
        status = next((number for code in codes if (number := read_number(code))), None)
        message = first_of(error, ("message",), str) or str(error)
        raise _given_error(message, int(status) if status else _status_in(message)) from ErrorReply(message)


def _given_error(message: str, status: int | None) -> LanguageModelFailed:
    """The error by its kind. Its words, which may hold a key, decide only where there is no status."""
    may_pass = may_pass_by_status(status) if status else _MAY_PASS.search(message) is not None
    kind = LanguageModelUnavailable if may_pass else LanguageModelRefused
    return kind("generate gave an error in place of a text")


def _status_in(message: str) -> int | None:
    found = _STATUS.search(message)
    return int(found[1]) if found else None


def _first_choice(said: Any) -> Any:
    choices = None if isinstance(said, str) else first_of(said, ("choices",), Sequence)
    return choices[0] if choices else None


def _text_of(said: Any) -> str | None:
    if isinstance(said, str):
        return said
    held = first_of(said, TEXT_NAMES, (str, list))
    if isinstance(held, str):
        return held
    blocks = cast("list[Any]", held) if isinstance(held, list) else []
    texts = [block if isinstance(block, str) else first_of(block, ("text",), str) for block in blocks]
    return "".join(text for text in texts if text) or None


def _count(value: Any) -> int | None:
    number = read_number(value)
    return None if number is None else int(number)

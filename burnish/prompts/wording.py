"""What all prompts share: how passages and questions are set out, and the fixed phrases of both languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from burnish.effects import Prompt
from burnish.results import Passage
from burnish.text.language import detect_language

PromptLanguage = Literal["en", "ar"]

NO_EVIDENCE = {
    "en": "The documents hold no answer to this question.",
    "ar": "لا تحتوي الوثائق على إجابة لهذا السؤال.",
}
FAILED = {
    "en": "No answer: the question could not be processed.",
    "ar": "لا توجد إجابة: تعذّرت معالجة السؤال.",
}
_ONCE_MORE = {
    "en": "Reply with one short JSON object and nothing else.",
    "ar": "أجب بكائن JSON واحد قصير دون أي نص آخر.",
}
_QUESTION = {"en": "Question", "ar": "السؤال"}
# Our own markers, and those with which chat templates begin and end a turn: a server may take them for its own.
_MARKER = re.compile(r"<(?=\s*/?\s*(?:passage|answer|question|s|start_of_turn|end_of_turn)\b|\|)", re.IGNORECASE)


def language_of(question: str) -> PromptLanguage:
    """The language whose prompts serve a question: Arabic for Arabic, English for all others."""
    return "ar" if detect_language(question) == "ar" else "en"


def show_passages(passages: Sequence[Passage]) -> str:
    return "\n".join(
        f'<passage id="{number}" title="{_attribute(passage.title)}">\n{inert(passage.text)}\n</passage>'
        for number, passage in enumerate(passages, 1)
    )


def show_question(question: str, language: PromptLanguage) -> str:
    return f"{_QUESTION[language]}: {inert(question)}"


def inert(text: str) -> str:
    """The text with any marker in it disarmed, so that it cannot end the block, the turn or a reply's text.

    A small model that copies a `"` into a JSON text does not escape it, and so ends its quote there.
    """
    return _MARKER.sub("‹", text).replace('"', "'")


def _attribute(text: str) -> str:
    return " ".join(inert(text).split())[:120]


def once_more(prompt: Prompt, language: PromptLanguage) -> Prompt:
    """The same prompt after a reply that could not be read or was cut, with room for a longer one."""
    return replace(prompt, user=f"{prompt.user}\n\n{_ONCE_MORE[language]}", max_tokens=prompt.max_tokens * 2)


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema of an object with just these properties, in this order, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text_schema(max_length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": max_length}


def texts_schema(max_items: int, max_length: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": max_items, "items": text_schema(max_length)}


def choice_schema(*choices: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices)}


def score_schema(scale: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": scale}

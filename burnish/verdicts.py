"""From what a model wrote to typed values: repaired where it can be, None where nothing can be read.

None means unknown and is never replaced by a middling number: a judge that could not be understood has not judged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from burnish.results import Evaluation

SCORE_SCALE = 5
MAX_ITEMS = 4
_DIMENSIONS = ("relevance", "accuracy", "completeness", "clarity")
_YES = frozenset({"yes", "true", "fully", "full", "نعم"})
_NO = frozenset({"no", "false", "not", "none", "لا", "كلا"})
_NUMBER = r"[+-]?\d+(?:[.,٫]\d+)?"
_FRACTION = re.compile(rf"({_NUMBER})\s*(?:/|out of|من)\s*({_NUMBER})")
_PERCENT = re.compile(rf"({_NUMBER})\s*[%٪]")


@dataclass(frozen=True)
class Draft:
    """An answer as a model gave it. quote: the words it says it rests on. answer: "" where it found none."""

    answer: str
    quote: str
    supported: bool | None


def read_object(text: str) -> Mapping[str, Any] | None:
    """The JSON object in a reply, repaired if need be; None where there is none."""
    import json_repair

    value: Any = json_repair.loads(_from_first("{", text))
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) and value else None


def read_draft(text: str) -> Draft | None:
    """A reply to `prompts.answering`; None where it holds no answer that can be read."""
    value = read_object(text)
    if value is None or not isinstance(value.get("answer"), str | int | float) or isinstance(value["answer"], bool):
        return None
    return Draft(_text(value["answer"]), _text(value.get("quote")), read_yes_or_no(value.get("supported")))


def read_evaluation(text: str) -> Evaluation | None:
    """A reply to `prompts.judging`, or the judging part of a combined one. Scores that cannot be read stay None."""
    value = read_object(text)
    if value is None or not any(name in value for name in (*_DIMENSIONS, "supported")):
        return None
    scores = {name: read_score(value.get(name), SCORE_SCALE) for name in _DIMENSIONS}
    return Evaluation(
        **scores,
        supported=read_yes_or_no(value.get("supported")),
        issues=read_texts(value.get("issues")),
        suggestions=read_texts(value.get("suggestions")),
    )


def read_score(value: Any, scale: float) -> float | None:
    """A score in [0, 1] from what a judge gave on a scale of 0 to `scale`.

    Numbers and numerals in any digits are taken on the stated scale; "90%" and "9/10" carry their own. Booleans, NaN
    and what lies outside the scale are unknown.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return _score_of_text(value.strip(), scale)
    return _on_scale(float(value), scale) if isinstance(value, int | float) else None


def _score_of_text(text: str, scale: float) -> float | None:
    if match := _FRACTION.fullmatch(text):
        return _on_scale(_number(match[1]), _number(match[2]))
    if match := _PERCENT.fullmatch(text):
        return _on_scale(_number(match[1]), 100)
    return _on_scale(_number(text), scale) if re.fullmatch(_NUMBER, text) else None


def _number(text: str) -> float:
    # float() reads the digits of every script.
    return float(text.replace("٫", ".").replace(",", "."))


def _on_scale(value: float, scale: float) -> float | None:
    return value / scale if math.isfinite(value) and scale > 0 and 0 <= value <= scale else None


def read_yes_or_no(value: Any) -> bool | None:
    """True, False, or None for anything that is neither a plain yes nor a plain no ("partly" among them)."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    first = re.match(r"\w+", value.strip().lower())
    word = first[0] if first else ""
    return True if word in _YES else False if word in _NO else None


def read_texts(value: Any, limit: int = MAX_ITEMS) -> tuple[str, ...]:
    """The non-empty texts of a list, or of a single text; anything else in it is left out."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(text for item in items if isinstance(item, str) and (text := item.strip()))[:limit]


def read_sub_questions(text: str) -> tuple[str, ...]:
    """Sub-questions out of a JSON object or array, or, failing that, out of a numbered or bulleted list."""
    import json_repair

    value: Any = json_repair.loads(_from_first("[{", text))
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).values()
        value = next(filter(lambda item: isinstance(item, list), items), None)
    if isinstance(value, list) and value:
        return tuple(question for item in cast("list[Any]", value) if (question := _question_of(item)))
    return tuple(question for match in _LISTED.finditer(text) if (question := match[1].strip(" *_\"'")))


def _from_first(starts: str, text: str) -> str:
    found = [place for character in starts if (place := text.find(character)) >= 0]
    return text[min(found) :] if found else ""


_LISTED = re.compile(r"^\s*(?:\*\*)?(?:[Qس]?\d+\s*[.):-]|[-*•–])\s*(?:\*\*)?\s*(.+?)\s*$", re.MULTILINE)


def _question_of(item: Any) -> str:
    if isinstance(item, dict):
        item = next((value for value in cast("dict[str, Any]", item).values() if isinstance(value, str)), "")
    return item.strip() if isinstance(item, str) else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()

"""From what a model wrote to typed values: repaired where it can be, None where nothing can be read.

None means unknown and is never replaced by a middling number: a judge that could not be understood has not judged.
Nothing here raises, whatever the model wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from burnish.results import Evaluation
from burnish.text.normalise import clean, words

SCORE_SCALE = 5
MAX_ITEMS = 4
# No reply that burnish asks for comes near these, and the time to repair one grows with their square.
MAX_CHARACTERS = 20_000
MAX_BRACKETS = 100
_DIMENSIONS = ("relevance", "accuracy", "completeness", "clarity")
_YES = frozenset({"yes", "true", "fully", "full", "نعم"})
_NO = frozenset({"no", "false", "none", "unsupported", "لا", "كلا"})
_NUMBER = r"[+-]?\d+(?:[.,٫]\d+)?"
_FRACTION = re.compile(rf"({_NUMBER})\s*(?:/|out of|من)\s*({_NUMBER})")
_PERCENT = re.compile(rf"({_NUMBER})\s*[%٪]")
_OBJECT = re.compile(r"\{\s*[\"'“”‘’]?\w+[\"'“”‘’]?\s*:")
_LIST = re.compile(r"\[\s*[\"'“”‘’«{\[]")
_MARKS = r"(?:\*\*|__)?"
_NUMBERED = rf"(?:question\s*|q|السؤال\s*|س)?\d+\s*{_MARKS}\s*[.):-]"
_LISTED = re.compile(rf"^\s*{_MARKS}(?:{_NUMBERED}|[-*•–])\s*{_MARKS}\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """An answer as a model gave it. quote: the words it says it rests on. answer: "" where it found none."""

    answer: str
    quote: str
    supported: bool | None


def read_object(text: str) -> Mapping[str, Any] | None:
    """The first JSON object in a reply, repaired if need be; None where there is none."""
    text = _without_thoughts(text)
    value = _repaired(text[_start(text, _OBJECT, "{") :])
    if isinstance(value, list):
        value = next(filter(_is_object, cast("list[Any]", value)), None)
    return value if _is_object(value) and value else None


def read_draft(text: str) -> Draft | None:
    """A reply to `prompts.answering`; None where it holds no answer that can be read. A null answer is none found."""
    value = _fields(text)
    answer = value.get("answer", True)
    if isinstance(answer, bool) or not isinstance(answer, str | int | float | None):
        return None
    return Draft(_text(answer), _text(value.get("quote")), read_yes_or_no(value.get("supported")))


def read_evaluation(text: str) -> Evaluation | None:
    """A reply to `prompts.judging`, or the judging part of a combined one. Scores that cannot be read stay None."""
    value = _fields(text)
    if not any(name in value for name in (*_DIMENSIONS, "supported")):
        return None
    scale = _scale_of(value.get(name) for name in _DIMENSIONS)
    return Evaluation(
        relevance=read_score(value.get("relevance"), scale),
        accuracy=read_score(value.get("accuracy"), scale),
        completeness=read_score(value.get("completeness"), scale),
        clarity=read_score(value.get("clarity"), scale),
        supported=read_yes_or_no(value.get("supported")),
        issues=read_texts(value.get("issues")),
        suggestions=read_texts(value.get("suggestions")),
    )


def read_merged(text: str) -> str | None:
    """A reply to `planning.merge`: its answer, or the whole of a reply in plain words; None where there is neither."""
    value = _fields(text)
    if value:
        return _text(value.get("answer")) or None
    plain = clean(_without_thoughts(text)).strip()
    return plain if plain and "{" not in plain else None


def read_score(value: Any, scale: float) -> float | None:
    """A score in [0, 1] from what a judge gave on a scale of 0 to `scale`.

    Numbers and numerals in any digits are taken on the stated scale; "90%" and "9/10" carry their own. Booleans, NaN
    and what lies outside the scale are unknown.
    """
    if isinstance(value, str):
        if match := _FRACTION.fullmatch(value.strip()):
            return _on_scale(_number(match[1]), _number(match[2]))
        if match := _PERCENT.fullmatch(value.strip()):
            return _on_scale(_number(match[1]), 100)
    numeral = _numeral(value)
    return None if numeral is None else _on_scale(numeral, scale)


def _scale_of(given: Iterable[Any]) -> float:
    """The scale of marks that were asked for from 1 up: a mark between 0 and 1 shows that they came as shares."""
    marks = [mark for value in given if (mark := _numeral(value)) is not None]
    return 1 if any(0 < mark < 1 for mark in marks) else SCORE_SCALE


def _numeral(value: Any) -> float | None:
    """A number, or a text that is one and nothing else."""
    if isinstance(value, str):
        return _number(value.strip()) if re.fullmatch(_NUMBER, value.strip()) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(text: str) -> float:
    # float() reads the digits of every script.
    return float(text.replace("٫", ".").replace(",", "."))


def _on_scale(value: float, scale: float) -> float | None:
    # NaN compares as false, and a number too large for a float is refused before it is divided.
    return value / scale if scale > 0 and 0 <= value <= scale else None


def read_yes_or_no(value: Any) -> bool | None:
    """True, False, or None for anything that is neither a plain yes nor a plain no ("partly" among them)."""
    if isinstance(value, bool):
        return value
    said = words(value) if isinstance(value, str) else ()
    if said[:2] == ("not", "supported"):
        return False
    return True if said and said[0] in _YES else False if said and said[0] in _NO else None


def read_texts(value: Any, limit: int = MAX_ITEMS) -> tuple[str, ...]:
    """The non-empty texts of a list, or of a single text; anything else in it is left out."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return tuple(text for item in items if isinstance(item, str) and (text := _text(item)))[:limit]


def read_sub_questions(text: str) -> tuple[str, ...] | None:
    """Sub-questions out of a JSON object or array, else a numbered or bulleted list; None where there is neither."""
    text = _without_thoughts(text)
    starts = [match.start() for pattern in (_OBJECT, _LIST) if (match := pattern.search(text))]
    value = _repaired(text[min(starts) :]) if starts else None
    if _is_object(value):
        value = _items_of(value)
    if isinstance(value, list):
        return tuple(question for item in cast("list[Any]", value) if (question := _question_of(item)))
    listed = tuple(question for match in _LISTED.finditer(text) if (question := _text(match[1].strip(" *_\"'"))))
    return listed or None


def _items_of(value: Mapping[str, Any]) -> list[Any]:
    """The list in an object, or, where each question has a name of its own, all that it holds."""
    lists = (cast("list[Any]", held) for held in value.values() if isinstance(held, list))
    return next(lists, list(value.values()))


def _question_of(item: Any) -> str:
    """A question alone, or the longest text of an object: what stands beside a question is a number or a label."""
    if _is_object(item):
        texts = [value for value in item.values() if isinstance(value, str)]
        item = max(texts, key=len, default="")
    return _text(item) if isinstance(item, str) else ""


def _fields(text: str) -> Mapping[str, Any]:
    """The object in a reply as one level of lower-case names: models nest and capitalise as they please."""
    value = read_object(text) or {}
    nested = filter(_is_object, value.values())
    return {str(name).strip().lower(): held for level in (*nested, value) for name, held in level.items()}


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _without_thoughts(text: str) -> str:
    """What a reasoning model says once it has done thinking aloud."""
    return text.rpartition("</think>")[2][:MAX_CHARACTERS]


def _start(text: str, pattern: re.Pattern[str], otherwise: str) -> int:
    match = pattern.search(text)
    place = match.start() if match else text.find(otherwise)
    return place if place >= 0 else len(text)


def _repaired(text: str) -> Any:
    import json_repair

    if text.count("{") + text.count("[") > MAX_BRACKETS:
        return None
    try:
        return json_repair.loads(text)
    except Exception:  # the repairer is not proof against every text: RecursionError and AssertionError were seen
        return None


def _text(value: str | float | None) -> str:
    is_nothing = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if is_nothing else clean(str(value)).strip()

"""From what a model wrote to typed values: repaired where it can be, None where nothing can be read.

None means unknown and is never replaced by a middling number: a judge that could not be understood has not judged.
Nothing here raises, whatever the model wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard, cast

from burnish.results import Evaluation
from burnish.text.normalise import clean, words
from burnish.text.sentences import sentences

SCORE_SCALE = 5
MAX_ITEMS = 4
# No reply that burnish asks for comes near these, and the time to repair one grows with their square.
MAX_CHARACTERS = 20_000
MAX_BRACKETS = 100
_DIMENSIONS = ("relevance", "accuracy", "completeness", "clarity")
_YES = frozenset({"yes", "true", "fully", "full", "نعم"})
_NO = frozenset({"no", "false", "none", "unsupported", "لا", "كلا"})
_PARTLY = frozenset({"partly", "partially", "partial", "some", "جزئيا"})
_CONCLUDES = ("answer is", "الجواب هو", "الاجابه هي")
_NUMBER = r"[+-]?\d+(?:[.,٫]\d+)?"
_FRACTION = re.compile(rf"({_NUMBER})\s*(?:/|out of|من)\s*({_NUMBER})")
_PERCENT = re.compile(rf"({_NUMBER})\s*[%٪]")
_BARE_DIGITS = re.compile(r'"(?:[^"\\]|\\.)*"|([٠-٩۰-۹]+(?:٫[٠-٩۰-۹]+)?)')  # outside of quoted texts
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


@dataclass(frozen=True)
class Support:
    """How far passages bear an answer out: 1 wholly, .5 in part, 0 not. unsupported: the claims that they do not."""

    degree: float
    unsupported: tuple[str, ...]


@dataclass(frozen=True)
class Sufficiency:
    """Whether passages suffice for a question, the fact that is missing, and a query for it; "" for those not given."""

    sufficient: bool | None
    missing: str
    next_query: str


@dataclass(frozen=True)
class Thought:
    """A sentence of reasoning. concludes: it gives the answer."""

    text: str
    concludes: bool


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


def read_support(text: str) -> Support | None:
    """A reply to `reflecting.support`; None where it says neither fully, partly, yes nor no."""
    value = _fields(text)
    said = value.get("supported")
    grade = read_yes_or_no(said)
    if grade is None and not (isinstance(said, str) and _PARTLY.intersection(words(said)[:1])):
        return None
    return Support(0.5 if grade is None else float(grade), read_texts(value.get("unsupported")))


def read_use(text: str) -> float | None:
    """A reply to `reflecting.use` in [-1, 1]: no and yes are the ends, the marks 1 to 5 are -1, -.5, 0, .5 and 1."""
    value = _fields(text)
    useful, mark = read_yes_or_no(value.get("useful")), read_score(value.get("utility"), SCORE_SCALE)
    if useful is not None:
        return 1.0 if useful else -1.0
    degree = None if mark is None else (mark * SCORE_SCALE - 3) / 2
    return degree if degree is not None and degree >= -1 else None


def read_sufficiency(text: str) -> Sufficiency | None:
    """A reply to `searching.sufficiency`; None where it says neither whether they suffice nor what to search for."""
    value = _fields(text)
    sufficient = read_yes_or_no(value.get("sufficient"))
    missing, query = (_line(value.get(name)) for name in ("missing", "next_query"))
    return None if sufficient is None and not missing and not query else Sufficiency(sufficient, missing, query)


def read_query(text: str) -> str | None:
    """A reply to `searching.rephrase`, as one line: its query, or the whole of a reply in plain words."""
    return _line(_read_text(text, "query")) or None


def read_thought(text: str) -> Thought | None:
    """A reply to `searching.think`: its first sentence; None where there is none."""
    plain = clean(_without_thoughts(text)).strip()
    first = next((plain[sentence.start : sentence.end] for sentence in sentences(plain)), None)
    if first is None or not words(first):
        return None
    return Thought(_line(first), any(f" {phrase} " in f" {' '.join(words(first))} " for phrase in _CONCLUDES))


def read_choice(text: str, names: Sequence[str]) -> tuple[str, str] | None:
    """A reply to `choosing.choose`: one of the names, and why; None where it names none of them."""
    value = _fields(text)
    said = "_".join(words(_line(value.get("strategy"))))
    return (said, _line(value.get("reason"))) if said in names else None


def read_merged(text: str) -> str | None:
    """A reply to `planning.merge`: its answer, or the whole of a reply in plain words; None where there is neither."""
    return _read_text(text, "answer")


def _read_text(text: str, name: str) -> str | None:
    """The text of this name in the reply's object; of a reply without any object the whole."""
    value = _fields(text)
    if value:
        return _text(value.get(name)) or None
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


@lru_cache(maxsize=64)  # a reply that answers and judges is read for both
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

    text = _BARE_DIGITS.sub(lambda match: _as_written_in_json(match[1]) if match[1] else match[0], text)
    if text.count("{") + text.count("[") > MAX_BRACKETS:
        return None
    try:
        return json_repair.loads(text)
    except Exception:  # the repairer is not proof against every text: RecursionError and AssertionError were seen
        return None


def _as_written_in_json(digits: str) -> str:
    return "".join("." if digit == "٫" else str(int(digit)) for digit in digits)


def _text(value: str | float | None) -> str:
    is_nothing = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if is_nothing else clean(str(value)).strip()


def _line(value: Any) -> str:
    """A text as one line; "" for what is none."""
    return " ".join(_text(value).split()) if isinstance(value, str) else ""

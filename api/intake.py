"""What was sent becomes questions that can be stored, and a precise word on whatever cannot.

A line that cannot be used fails alone: it is set aside with its number, and the others are asked. Texts are cleaned
before they are looked at, so that nothing that Postgres or a model would choke on goes further.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel, ValidationError

from api.requests import MAX_ID_CHARACTERS, QuestionRequest
from burnish.config import StrategyConfig
from burnish.errors import InvalidInput
from burnish.store.questions import NewQuestion
from burnish.strategies.registry import check_strategy
from burnish.text.language import detect_language
from burnish.text.storable import storable

MAX_LINE_BYTES = 1_000_000
DEFAULT_STRATEGY = "self_irag"
DEFAULT_COLLECTION = "default"
SINGLE_ID = "answer"

_Request = TypeVar("_Request", bound=BaseModel)


@dataclass(frozen=True)
class Defaults:
    """What a question does not say. Raises InvalidInput where nothing could come of it."""

    strategy: str = DEFAULT_STRATEGY
    collection: str = DEFAULT_COLLECTION
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _check_strategy(self.strategy)
        _check_config(self.config)


@dataclass(frozen=True)
class Limits:
    """The collections there are, by name, and the most that is taken."""

    collections: Mapping[str, UUID]
    question_characters: int
    questions: int


def read_json(data: bytes) -> Any:
    """The value that the bytes hold, its texts cleaned. Raises InvalidInput that says where they are no JSON."""
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)
        return storable(value)
    except UnicodeDecodeError:
        raise fault("malformed_json", "this is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise fault("malformed_json", f"this is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise fault("malformed_json", "this JSON nests too deeply") from None
    except InvalidInput as error:
        raise fault("malformed_json", str(error)) from None
    except ValueError:
        raise fault("malformed_json", "this JSON holds a number that cannot be read") from None


def read_request(kind: type[_Request], value: Any) -> _Request:
    """The value as a request of this kind. Raises InvalidInput with an entry for each field that is wrong."""
    if not isinstance(value, Mapping):
        raise fault("not_an_object", "this must be a JSON object")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise _invalid(error) from None


def read_question(value: Any, custom_id: str, defaults: Defaults, limits: Limits) -> NewQuestion:
    """The question that the value holds, with `custom_id` if it brings none. Raises InvalidInput."""
    asked = read_request(QuestionRequest, value)
    strategy, collection = asked.strategy or defaults.strategy, asked.collection or defaults.collection
    _check_strategy(strategy)
    if collection not in limits.collections:
        raise fault("unknown_collection", f"there is no collection {collection!r}; ingest documents into it first")
    text = _question_text(asked.question, limits.question_characters)
    return NewQuestion(
        custom_id=_custom_id(asked.custom_id, custom_id),
        text=text,
        language=detect_language(text),
        strategy=strategy,
        config=merged(defaults.config, _check_config(asked.config or {})),
        collection_id=limits.collections[collection],
        gold=_gold(asked.gold),
        details={**(asked.model_extra or {}), **(asked.metadata or {})},
    )


class Intake:
    """Takes the lines of a job one after the other. `questions` can be asked; `rejected` says why the others cannot."""

    def __init__(self, defaults: Defaults, limits: Limits) -> None:
        self.questions: list[NewQuestion] = []
        self.rejected: list[dict[str, Any]] = []
        self._defaults = defaults
        self._limits = limits
        self._ids: set[str] = set()

    def take(self, line: int, value: Any) -> None:
        """A line as the JSON value that it holds."""
        try:
            question = read_question(value, f"line-{line}", self._defaults, self._limits)
            if question.custom_id in self._ids:
                raise fault("duplicate_custom_id", f"an earlier line has the custom_id {question.custom_id!r} already")
        except InvalidInput as error:
            self._reject(line, value, error)
        else:
            self._ids.add(question.custom_id)
            self.questions.append(question)
        if len(self.questions) + len(self.rejected) > self._limits.questions:
            raise fault("too_many_questions", f"a job takes at most {self._limits.questions:,} questions: send several")

    def take_bytes(self, line: int, data: bytes) -> None:
        """A line as it came."""
        try:
            if len(data) > MAX_LINE_BYTES:
                raise fault("line_too_long", f"the line has more than {MAX_LINE_BYTES:,} bytes")
            value = read_json(data)
        except InvalidInput as error:
            self._reject(line, None, error)
        else:
            self.take(line, value)

    def check_usable(self) -> None:
        """Raises InvalidInput where not one line can be used."""
        if not self.questions:
            raise InvalidInput(self._nothing_usable(), self.rejected[:1000])

    def _nothing_usable(self) -> str:
        if not self.rejected:
            return "there is no question in it"
        return f"none of the {len(self.rejected):,} lines can be used; the first: {self.rejected[0]['message']}"

    def _reject(self, line: int, value: Any, error: InvalidInput) -> None:
        custom_id: Any = cast("Mapping[str, Any]", value).get("custom_id") if isinstance(value, Mapping) else None
        named = {"custom_id": str(custom_id)[:MAX_ID_CHARACTERS]} if isinstance(custom_id, str | int) else {}
        self.rejected.append({"line": line, **named, "code": error.errors[0]["code"], "message": str(error)})


class LineSplitter:
    """Cuts a stream into lines numbered from 1. Of a line that is too long only the beginning is kept."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._number = 0

    def feed(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines that this block ends, without those that are blank."""
        *ended, rest = block.split(b"\n")
        for part in ended:
            self._keep(part)
            yield from self._end_line()
        self._keep(rest)

    def finish(self) -> Iterator[tuple[int, bytes]]:
        """The last line, if nothing ended it."""
        if self._rest:
            yield from self._end_line()

    def _keep(self, part: bytes) -> None:
        room = MAX_LINE_BYTES + 1 - len(self._rest)
        self._rest += part[:room]

    def _end_line(self) -> Iterator[tuple[int, bytes]]:
        self._number += 1
        line = bytes(self._rest)
        self._rest.clear()
        if line.strip():
            yield self._number, line


def fault(code: str, message: str) -> InvalidInput:
    """One thing that is wrong."""
    return InvalidInput(message, [{"code": code, "message": message}])


def _invalid(error: ValidationError) -> InvalidInput:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    errors = [
        {
            "code": "missing_field" if each["type"] == "missing" else "wrong_field",
            "field": ".".join(str(part) for part in each["loc"]),
            "message": f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}",
        }
        for each in found
    ]
    return InvalidInput("; ".join(each["message"] for each in errors[:5]), errors)


def _check_strategy(name: str) -> None:
    try:
        check_strategy(name)
    except InvalidInput as error:
        raise fault("unknown_strategy", str(error)) from None


def _check_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        if config:
            StrategyConfig.from_mapping(config)
    except InvalidInput as error:
        raise fault("invalid_config", str(error)) from None
    return config


def _question_text(question: str, most: int) -> str:
    text = question.strip()
    if not text:
        raise fault("empty_question", "the question is empty")
    if len(text) > most:
        raise fault("question_too_long", f"the question has {len(text):,} characters and the limit is {most:,}")
    return text


def _custom_id(given: str | int | None, default: str) -> str:
    custom_id = default if given is None else str(given).strip()
    if not custom_id or len(custom_id) > MAX_ID_CHARACTERS:
        raise fault("invalid_custom_id", f"a custom_id must have 1 to {MAX_ID_CHARACTERS} characters")
    return custom_id


def _gold(given: str | list[str] | dict[str, Any] | None) -> dict[str, Any] | None:
    match given:
        case str():
            return {"answers": [given]}
        case list():
            return {"answers": given}
        case _:
            return given


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, section by section."""
    merged = dict(base)
    for name, value in over.items():
        below: Any = merged.get(name)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[name] = {**cast("dict[str, Any]", below), **cast("dict[str, Any]", value)} if both else value
    return merged


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(written)
    return value

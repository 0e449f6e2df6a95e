"""What the simulated model says, and when it fails: a script of rules, as data that JSON can hold.

    {"rules": [{"kind": "judge", "reply": [{"supported": false}, {"supported": true}]},
               {"match": "Question: (?P<question>.+)", "reply": "You asked: {question}"},
               {"match": "Oslo", "status": 429, "retry_after": 0.5, "times": 2}],
     "latency": [0.1, 0.3]}

The first rule that fits a call answers it; what no rule fits, the `default` rule answers. A rule with `times` fits
that many calls and then no more, so that a fault followed by the next rule is a fault that passes. Nothing here is
random: the same calls in the same order get the same replies, and a latency depends on the prompt alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from burnish.errors import InvalidInput


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


def _ordered(interval: tuple[float, float]) -> tuple[float, float]:
    if interval[0] > interval[1]:
        raise ValueError("the lower latency must come first")
    return interval


Regex: TypeAlias = Annotated[str, AfterValidator(_compiles)]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=3600)]
Latency: TypeAlias = Seconds | Annotated[tuple[Seconds, Seconds], AfterValidator(_ordered)]
Reply: TypeAlias = str | dict[str, Any]
LogProbability: TypeAlias = Annotated[float, Field(le=0, allow_inf_nan=False)]


class Rule(BaseModel):
    """Which calls it fits, and what they get.

    match: regular expression searched for in the messages' texts, joined by newlines.
    kind: regular expression for the whole name of the JSON schema asked for; "text" is a call without a schema,
        "json_object" one for any JSON, "embeddings" a call for vectors. Vectors heed only rules that have a kind.
    model: regular expression for the whole model name.
    reply: a text; an object, sent as JSON; a list of these, taken in turn and begun again; or None: an instance of
        the schema asked for. `{name}` and `{1}` stand for what the groups of `match` captured.
    latency: seconds, or (lowest, highest) with the prompt deciding; None is the script's.
    status: of 400 and above, sent with an OpenAI error and, if given, `retry_after` seconds.
    drop: close the connection without an answer.
    times: how many calls it fits before it is spent; None is without end.
    logprobs: natural logarithms of the first token's probabilities; without a reply the likeliest is the reply.

    Made with values that cannot be used, it raises pydantic's ValidationError; `read_script` raises InvalidInput.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: Regex | None = None
    kind: Regex | None = None
    model: Regex | None = None
    reply: Reply | list[Reply] | None = None
    latency: Latency | None = None
    status: int | None = Field(default=None, ge=400, le=599)
    retry_after: Seconds | None = None
    drop: bool = False
    times: int | None = Field(default=None, ge=1)
    logprobs: dict[str, LogProbability] | None = Field(default=None, min_length=1)
    finish_reason: str = "stop"

    @model_validator(mode="after")
    def _does_one_thing(self) -> Rule:
        replies = self.reply is not None or self.logprobs is not None
        if replies + self.drop + (self.status is not None) > 1:
            raise ValueError("a rule replies, or fails with a status, or drops the connection; write two rules instead")
        if self.retry_after is not None and self.status is None:
            raise ValueError("retry_after needs a status")
        if self.reply == []:
            raise ValueError("an empty list holds no reply")
        return self


class Script(BaseModel):
    """All that a simulated model does.

    latency: seconds of a completion whose rule names none; vectors come at once unless their rule names some.
    default_text: what completions say, and strings in JSON hold, where no reply is scripted.
    dimension: of vectors, where the caller names none.
    seed: another one gives every prompt another latency. keep: how many of the latest prompts are kept to be read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[Rule, ...] = ()
    default: Rule = Rule()
    latency: Latency = 0.0
    default_text: str = Field(default="This is a simulated answer.", min_length=1)
    dimension: int = Field(default=384, ge=1, le=8192)
    seed: int = 0
    keep: int = Field(default=100, ge=0, le=100_000)

    @model_validator(mode="after")
    def _default_fits_all(self) -> Script:
        default = self.default
        if any(value is not None for value in (default.match, default.kind, default.model, default.times)):
            raise ValueError("the default rule answers every call: it takes no match, kind, model or times")
        return self


def read_script(source: Script | Mapping[str, Any] | str | bytes) -> Script:
    """A script from a mapping or from JSON text; InvalidInput says where it is wrong."""
    if isinstance(source, Script):
        return source
    try:
        if isinstance(source, str | bytes):
            return Script.model_validate_json(source)
        return Script.model_validate(source)
    except ValidationError as error:
        raise InvalidInput(f"the script cannot be used: {_first_fault(error)}") from error


def _first_fault(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False)
    # Of the alternatives of a union the one whose own check failed is the one that was meant.
    fault = next((fault for fault in faults if fault["type"] == "value_error"), faults[0])
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else fault["msg"]

"""Which rule of a script answers a call, and what it makes of it. No I/O, no clock."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from burnish.testing.instances import minimal_instance
from burnish.testing.script import Latency, Reply, Rule, Script

EMBEDDINGS = "embeddings"

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Call:
    """What a rule looks at. kind: see `Rule`. schema: of the reply, or None for a plain text."""

    kind: str
    model: str
    text: str
    schema: Any = None


@dataclass(frozen=True)
class Plan:
    """What to do with a call. latency: in seconds. status: None where it succeeds."""

    latency: float
    text: str = ""
    finish_reason: str = "stop"
    logprobs: Mapping[str, float] | None = None
    status: int | None = None
    retry_after: float | None = None
    drop: bool = False


@dataclass
class _Entry:
    """A rule with its patterns compiled, and how many calls it has answered."""

    rule: Rule
    used: int = 0
    match: re.Pattern[str] | None = field(init=False)
    kind: re.Pattern[str] | None = field(init=False)
    model: re.Pattern[str] | None = field(init=False)

    def __post_init__(self) -> None:
        self.match, self.kind, self.model = (
            None if pattern is None else re.compile(pattern)
            for pattern in (self.rule.match, self.rule.kind, self.rule.model)
        )

    def fits(self, call: Call) -> bool:
        """Everything but the text, which costs most to look at."""
        if self.rule.times is not None and self.used >= self.rule.times:
            return False
        if self.kind is None and call.kind == EMBEDDINGS:
            return False
        if self.kind is not None and not self.kind.fullmatch(call.kind):
            return False
        return self.model is None or self.model.fullmatch(call.model) is not None


class Playback:
    """A script being played: it remembers which rules are spent and whose turn it is."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._entries = [_Entry(rule) for rule in script.rules]
        self._default = _Entry(script.default)

    def plan(self, call: Call) -> Plan:
        """What this call gets. InvalidInput where its schema admits no instance."""
        entry, found = self._first_that_fits(call)
        if entry is None:
            return Plan(latency=0.0)
        plan = self._planned(entry, call, found)
        entry.used += 1
        return plan

    def _first_that_fits(self, call: Call) -> tuple[_Entry | None, re.Match[str] | None]:
        for entry in self._entries:
            if entry.fits(call):
                found = entry.match.search(call.text) if entry.match else None
                if found or not entry.match:
                    return entry, found
        return (None if call.kind == EMBEDDINGS else self._default), None

    def _planned(self, entry: _Entry, call: Call, found: re.Match[str] | None) -> Plan:
        rule = entry.rule
        latency = rule.latency
        if latency is None:
            latency = 0.0 if call.kind == EMBEDDINGS else self.script.latency
        fails = rule.drop or rule.status is not None or call.kind == EMBEDDINGS
        return Plan(
            latency=_seconds(latency, self.script.seed, call.text),
            text="" if fails else self._text(entry, call, found),
            finish_reason=rule.finish_reason,
            logprobs=rule.logprobs,
            status=rule.status,
            retry_after=rule.retry_after,
            drop=rule.drop,
        )

    def _text(self, entry: _Entry, call: Call, found: re.Match[str] | None) -> str:
        reply = entry.rule.reply
        if isinstance(reply, list):
            reply = reply[entry.used % len(reply)]
        if reply is not None:
            return _as_text(reply if found is None else _filled(reply, found))
        if entry.rule.logprobs:
            return max(entry.rule.logprobs, key=entry.rule.logprobs.__getitem__)
        if call.schema is None:
            return self.script.default_text
        return json.dumps(minimal_instance(call.schema, self.script.default_text), ensure_ascii=False)


def _as_text(reply: Reply) -> str:
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def _filled(reply: Any, found: re.Match[str]) -> Any:
    """Captures are put into the strings of an object before it becomes JSON, so that quotes in them do no harm."""
    match reply:
        case str():
            return _SLOT.sub(lambda slot: _captured(slot, found), reply)
        case dict():
            return {name: _filled(value, found) for name, value in cast("dict[str, Any]", reply).items()}
        case list():
            return [_filled(value, found) for value in cast("list[Any]", reply)]
        case _:
            return reply


def _captured(slot: re.Match[str], found: re.Match[str]) -> str:
    name = slot[1]
    if name in found.re.groupindex:
        return found[name] or ""
    if name.isdecimal() and int(name) <= found.re.groups:
        return found[int(name)] or ""
    return slot[0]


def _seconds(latency: Latency, seed: int, text: str) -> float:
    if not isinstance(latency, tuple):
        return latency
    lowest, highest = latency
    share = zlib.crc32(f"{seed}\n{text}".encode("utf-8", "surrogatepass")) / 0xFFFFFFFF
    return lowest + (highest - lowest) * share

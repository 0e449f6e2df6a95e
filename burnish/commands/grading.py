"""An answer against its gold, by the rule of `examples/README.md`: words in a row, after folding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from burnish.text.normalise import words


class Verdict(StrEnum):
    RIGHT = "right"
    RIGHTLY_ABSTAINED = "rightly abstained"
    WRONG = "wrong"
    WRONGLY_ABSTAINED = "abstained, but the documents tell"
    NO_ANSWER = "no answer"

    @property
    def is_right(self) -> bool:
        return self in (Verdict.RIGHT, Verdict.RIGHTLY_ABSTAINED)


def verdict_on(gold: Mapping[str, Any], outcome: str | None, answer: str | None) -> Verdict:
    """Whether the answer is right; where no document tells, abstaining is."""
    wanted = needed(gold)
    if outcome == "abstained":
        return Verdict.WRONGLY_ABSTAINED if wanted else Verdict.RIGHTLY_ABSTAINED
    if outcome != "succeeded":
        return Verdict.NO_ANSWER
    holds = bool(wanted) and all(any(stands_in(short, answer or "") for short in accepted) for accepted in wanted)
    return Verdict.RIGHT if holds else Verdict.WRONG


def needed(gold: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """Of each list one must stand in the answer."""
    if "all_of" in gold:
        return gold["all_of"]
    return [gold["answers"]] if gold["answers"] else []


def stands_in(short: str, text: str) -> bool:
    """Whether the words of the short answer occur in the text in a row, as whole words."""
    return _padded(words(short)) in _padded(words(text))


def _padded(listed: Iterable[str]) -> str:
    return f" {' '.join(listed)} "

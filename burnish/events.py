"""What happens while a question is answered, told as it happens.

An event says where it stands: `path` leads from the question to the run it belongs to, by the positions of the
sub-questions between them, () for the question's own run; `position` counts the effects of that run from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from burnish.effects import Ask, Note, Retrieve, Subquestion

Path: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class EffectBegun:
    """The strategy wants something of the world: a search, a call of the model, an answer to a sub-question."""

    path: Path
    position: int
    effect: Retrieve | Ask | Subquestion | Note


@dataclass(frozen=True)
class EffectEnded:
    """It has its reply: Passages, a Reply, an Answer, None for a Note, or the EffectFailed that came in its place."""

    path: Path
    position: int
    effect: Retrieve | Ask | Subquestion | Note
    reply: Any


Observe: TypeAlias = Callable[[EffectBegun | EffectEnded], None]


@dataclass(frozen=True)
class Recorded:
    """An audit record was written: an iteration with its scores, an imagined document, the answer to a part."""

    path: Path
    record: Any


@dataclass(frozen=True)
class Finished:
    """The last event of every stream: the result, as `query` would have returned it."""

    result: Any

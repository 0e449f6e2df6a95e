"""All that a strategy may ask of the world, as plain data, and typed ways to ask it.

A strategy is a generator. It yields an effect and is sent the reply:

    Retrieve        -> tuple[Passage, ...]         best first, perhaps empty
    Ask             -> Reply                       one call of the language model
    Together        -> tuple[reply or EffectFailed, ...]   in the order asked; it never raises
    Subquestion     -> Answer                      a run of its own, with a journal of its own
    Note            -> None                        an audit row

An effect that fails is thrown into the generator as `EffectFailed`, so that the strategy may recover. Effects are
frozen and compare by value: an effect, and how many equal ones came before it, name the reply in the journal.
Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from burnish.config import StrategyConfig
from burnish.errors import EffectFailed
from burnish.results import Answer, AuditRecord, Passage


@dataclass(frozen=True)
class SearchQuery:
    """A text to search with: the words of a question, or a passage imagined to answer it."""

    text: str
    role: Literal["question", "passage"] = "question"


@dataclass(frozen=True)
class Retrieve:
    """Search the question's collection.

    combine: "rrf" searches once for each query and merges the rankings by reciprocal rank; "mean" averages the
        query vectors and searches once (HyDE as published, Gao et al. 2022, section 3).
    top_k: passages taken from each single search. limit: passages returned in all.
    """

    queries: tuple[SearchQuery, ...]
    top_k: int
    limit: int
    combine: Literal["rrf", "mean"] = "rrf"


@dataclass(frozen=True)
class Prompt:
    """What a language model is shown: `system` is fixed text for its kind (so servers can cache it), `user` varies.

    schema: JSON schema of the wanted reply, or None for plain text.
    choices: the labels of a one-token reply whose probabilities are wanted, or ().
    """

    kind: str
    system: str
    user: str
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ask:
    """Call the language model once. `seed` tells apart samples of one prompt."""

    prompt: Prompt
    temperature: float = 0.0
    seed: int | None = None


@dataclass(frozen=True)
class Reply:
    """What the language model said.

    probabilities: of each of the prompt's choices, summing to at most 1; empty where the server gives none.
    truncated: the reply was cut at `max_tokens`.
    """

    text: str
    probabilities: Mapping[str, float] = field(default_factory=dict[str, float])
    truncated: bool = False


@dataclass(frozen=True)
class Subquestion:
    """Answer another question by a run of its own.

    ancestors: the normalised questions above it, so that none is asked again below itself.
    """

    question: str
    strategy: str
    config: StrategyConfig
    depth: int
    ancestors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """Write audit rows. With `boundary`, the work that follows is a task of its own, chained to this one."""

    records: tuple[AuditRecord, ...]
    boundary: bool = False


@dataclass(frozen=True)
class Together:
    """Do several things at once."""

    effects: tuple[Ask | Subquestion, ...]


Effect: TypeAlias = Retrieve | Ask | Together | Subquestion | Note
Strategy: TypeAlias = Generator[Effect, Any, Answer]


def retrieve(request: Retrieve) -> Generator[Effect, Any, tuple[Passage, ...]]:
    return cast("tuple[Passage, ...]", (yield request))


def ask(request: Ask) -> Generator[Effect, Any, Reply]:
    return cast("Reply", (yield request))


def ask_together(requests: Iterable[Ask]) -> Generator[Effect, Any, tuple[Reply | EffectFailed, ...]]:
    """Ask several at once; nothing is asked, and nothing yielded, for no requests."""
    effects = tuple(requests)
    if not effects:
        return ()
    return cast("tuple[Reply | EffectFailed, ...]", (yield Together(effects)))


def answer_together(
    subquestions: Iterable[Subquestion],
) -> Generator[Effect, Any, tuple[Answer | EffectFailed, ...]]:
    effects = tuple(subquestions)
    if not effects:
        return ()
    return cast("tuple[Answer | EffectFailed, ...]", (yield Together(effects)))


def note(*records: AuditRecord, boundary: bool = False) -> Generator[Effect, Any, None]:
    if records:
        yield Note(records, boundary)

"""The events of a question, put together as the tree of its runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from burnish.adapters.replies import MeteredReply
from burnish.effects import Ask, Note, Retrieve, Subquestion
from burnish.errors import EffectFailed, LanguageModelFailed
from burnish.events import EffectBegun, EffectEnded, Path
from burnish.results import Answer, AuditRecord

R = TypeVar("R")


@dataclass
class Run:
    """One run of a strategy: what it asked of the world and what it came to, `ending` being None while it is under way.

    calls: the replies of the model, or what came in their place. searches: how many were made. parts: the runs of the
    sub-questions, in the order in which they were begun. found: distinct passages that all searches gave.
    """

    asked: Subquestion
    begun: float
    ended: float | None = None
    ending: Answer | EffectFailed | None = None
    records: list[AuditRecord] = field(default_factory=list[AuditRecord])
    calls: list[MeteredReply | LanguageModelFailed] = field(default_factory=list[MeteredReply | LanguageModelFailed])
    searches: int = 0
    found: int = 0
    parts: list[Run] = field(default_factory=list["Run"])

    def tree(self) -> Iterator[Run]:
        """This run and all those below it."""
        yield self
        for part in self.parts:
            yield from part.tree()

    @property
    def all_calls(self) -> list[MeteredReply | LanguageModelFailed]:
        return [call for run in self.tree() for call in run.calls]

    def recorded(self, kind: type[R]) -> list[R]:
        """The audit records of one kind, of this run alone."""
        return [record for record in self.records if isinstance(record, kind)]


class Recording:
    """Listens to the engine, and holds the tree of runs as far as it is known."""

    def __init__(self, asked: Subquestion, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.root = Run(asked, clock())
        self._runs: dict[Path, Run] = {(): self.root}

    def __call__(self, event: EffectBegun | EffectEnded) -> None:
        run = self._runs[event.path]
        below = (*event.path, event.position)
        match event.effect:
            case Subquestion() as child if isinstance(event, EffectBegun):
                self._runs[below] = Run(child, self._clock())
                run.parts.append(self._runs[below])
            case Subquestion() if isinstance(event, EffectEnded):
                self._end(self._runs[below], event.reply)
            case Ask() if isinstance(event, EffectEnded):
                run.calls.append(event.reply)
            case Retrieve() as search if isinstance(event, EffectEnded):
                run.searches += len(search.queries)
            case Note() as note if isinstance(event, EffectEnded):
                run.records += note.records
            case _:
                pass

    def end(self, ending: Answer | EffectFailed, found: int) -> Run:
        """The whole tree, now that the question has come to its end."""
        self._end(self.root, ending)
        self.root.found = found
        return self.root

    def _end(self, run: Run, ending: Answer | EffectFailed) -> None:
        run.ended, run.ending = self._clock(), ending

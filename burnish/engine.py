"""Drive a strategy from a journal.

A strategy is a deterministic generator: given the same replies it asks the same things in the same order. So a run is
fully described by its replies, and to resume one is to begin again and feed it what it was told before. `Flow` does
this without any I/O: `proceed` runs the strategy through the recorded replies until it wants something that has none.
Whoever drives it performs that, supplies the reply, and proceeds.

    flow = Flow(strategy, recorded)
    while isinstance(step := flow.proceed(), Wanted):
        for item in step.items:
            flow.supply(item.key, perform(item.effect))      # a reply, or an EffectFailed to be thrown in
    step.answer

A reply is filed under its request: a digest of the effect, of the scope (the model and collection it is asked of) and
of how many equal requests came before it in the run. Filed by position, a strategy that changes under a running
question would be fed replies to questions it never asked; filed by request it keeps every reply that still fits.

Drivers differ only in how they perform: `run` in threads, `arun` on an event loop, and the workers by Celery tasks.
`arun` tells an observer of each effect that it begins and ends (`burnish.events`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from burnish.effects import Ask, Effect, Note, Retrieve, Strategy, Subquestion, Together
from burnish.errors import EffectFailed
from burnish.events import EffectBegun, EffectEnded, Observe, Path
from burnish.results import Answer

T = TypeVar("T")

SingleEffect: TypeAlias = Retrieve | Ask | Subquestion | Note


@dataclass(frozen=True)
class Item:
    """An effect that has no reply yet. `key` names it in the journal; `position` counts the effects before it."""

    key: str
    position: int
    effect: SingleEffect


@dataclass(frozen=True)
class Wanted:
    """What the strategy needs before it can go on; several items only for a `Together`."""

    items: tuple[Item, ...]
    together: bool


@dataclass(frozen=True)
class Finished:
    answer: Answer


class Flow:
    """A strategy under way, and the replies it has had.

    filed: whether its replies may outlive the run, and so are filed under their requests; otherwise by position.
    """

    def __init__(
        self, strategy: Strategy, recorded: Mapping[str, Any] | None = None, scope: str = "", *, filed: bool = True
    ) -> None:
        self._strategy = strategy
        self._replies: dict[str, Any] = dict(recorded or {})
        self._scope = scope
        self._filed = filed
        self._seen: Counter[str] = Counter()
        self._asked = 0
        self._step: Wanted | Finished | None = None

    def proceed(self) -> Wanted | Finished:
        """Run on as far as the replies reach. Raises what the strategy raises, EffectFailed above all."""
        if self._step is None:
            self._step = self._resume(lambda: next(self._strategy))
        while isinstance(self._step, Wanted):
            missing = tuple(item for item in self._step.items if item.key not in self._replies)
            if missing:
                return Wanted(missing, self._step.together)
            self._step = self._answer(self._step)
        return self._step

    def supply(self, key: str, reply: Any) -> None:
        """Give the reply to the item of this key; an EffectFailed tells that there will be none."""
        self._replies[key] = reply

    def _answer(self, step: Wanted) -> Wanted | Finished:
        replies = tuple(self._replies[item.key] for item in step.items)
        if step.together:
            return self._resume(lambda: self._strategy.send(replies))
        if isinstance(replies[0], EffectFailed):
            return self._resume(lambda: self._strategy.throw(replies[0]))
        return self._resume(lambda: self._strategy.send(replies[0]))

    def _resume(self, step: Callable[[], Effect]) -> Wanted | Finished:
        try:
            effect = step()
        except StopIteration as stop:
            return Finished(stop.value)
        if isinstance(effect, Together):
            return Wanted(tuple(self._named(each) for each in effect.effects), together=True)
        return Wanted((self._named(effect),), together=False)

    def _named(self, effect: SingleEffect) -> Item:
        key = self._file(effect) if self._filed else str(self._asked)
        self._asked += 1
        return Item(key, self._asked - 1, effect)

    def _file(self, effect: SingleEffect) -> str:
        request = request_digest(effect, self._scope)
        self._seen[request] += 1
        return hashlib.sha256(f"{request}:{self._seen[request] - 1}".encode()).hexdigest()


def request_digest(effect: SingleEffect, scope: str = "") -> str:
    """A digest of what is asked, equal for equal requests in any process."""
    request = [scope, type(effect).__name__, effect]
    written = json.dumps(request, default=vars, sort_keys=True, ensure_ascii=False)  # of a dataclass, its fields
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


Begin: TypeAlias = Callable[[Subquestion], Strategy]


def run(
    asked: Subquestion,
    begin: Begin,
    perform: Callable[[Retrieve | Ask], Any],
    *,
    journal: dict[str, Any] | None = None,
    threads: int = 8,
) -> Answer:
    """Answer with a `perform` that blocks; what a strategy asks for together is done in threads.

    journal: replies of an earlier, unfinished run of the same question; new replies are added to it.
    Raises EffectFailed where the strategy could not recover from one. The journal of a run that failed keeps no
    failures, so running again tries again what failed, and only that.
    """
    with ThreadPoolExecutor(threads) as pool:

        async def perform_in_pool(effect: Retrieve | Ask) -> Any:
            return await asyncio.get_running_loop().run_in_executor(pool, perform, effect)

        return run_to_end(arun(asked, begin, perform_in_pool, journal=journal))


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, for callers who are not on an event loop, and for those who are."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # The caller is inside a loop, as in a notebook, and a thread runs one loop at a time.
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, work).result()


async def arun(
    asked: Subquestion,
    begin: Begin,
    perform: Callable[[Retrieve | Ask], Awaitable[Any]],
    *,
    journal: dict[str, Any] | None = None,
    observe: Observe | None = None,
) -> Answer:
    """As `run`, on the caller's event loop: what a strategy asks for together, sub-questions too, runs concurrently.

    Where one of several breaks off, the others are brought to their end and recorded before its error is raised.
    observe: is told of every effect that is not in the journal, in this run and in those of its sub-questions.
    """
    driver = _Driver(begin, perform, observe or _ignore, filed=journal is not None)
    return await driver.answer(asked, {} if journal is None else journal, ())


def _ignore(_event: EffectBegun | EffectEnded) -> None:
    pass


class _Driver:
    """Drives a run and the runs of its sub-questions."""

    def __init__(
        self, begin: Begin, perform: Callable[[Retrieve | Ask], Awaitable[Any]], observe: Observe, *, filed: bool
    ) -> None:
        self._begin = begin
        self._perform = perform
        self._observe = observe
        self._filed = filed

    async def answer(self, asked: Subquestion, journal: dict[str, Any], path: Path) -> Answer:
        flow = Flow(self._begin(asked), journal, filed=self._filed)

        async def record(item: Item) -> None:
            journal[item.key] = reply = await self._reply_or_failure(item, journal, path)
            flow.supply(item.key, reply)

        try:
            while isinstance(step := flow.proceed(), Wanted):
                if not step.together and not isinstance(step.items[0].effect, Subquestion):
                    await record(step.items[0])
                    continue
                # Tasks of their own, for a chain of sub-questions must not be as deep as the stack.
                endings = await asyncio.gather(*(record(item) for item in step.items), return_exceptions=True)
                for broken in filter(None, endings):
                    raise broken
        except EffectFailed:
            _forget_failures(journal)
            raise
        return step.answer

    async def _reply_or_failure(self, item: Item, journal: dict[str, Any], path: Path) -> Any:
        self._observe(EffectBegun(path, item.position, item.effect))
        try:
            reply = await self._reply(item, journal, path)
        except EffectFailed as failure:
            reply = failure
        self._observe(EffectEnded(path, item.position, item.effect, reply))
        return reply

    async def _reply(self, item: Item, journal: dict[str, Any], path: Path) -> Any:
        match item.effect:
            case Note():
                return None
            case Subquestion() as child:
                return await self.answer(child, journal.setdefault(f"{item.key}/", {}), (*path, item.position))
            case effect:
                return await self._perform(effect)


def _forget_failures(journal: dict[str, Any]) -> None:
    for key in [key for key, reply in journal.items() if isinstance(reply, EffectFailed)]:
        del journal[key]

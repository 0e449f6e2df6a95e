"""What all classes have in common: how a question is asked, alone, in a batch or as a stream, and what becomes of it.

Nothing that goes wrong on the way is raised: the result says `failed`, and why, in `error` and in the log. With
`raise_on_error=True` it is raised, as LLMCallError, RetrievalError, or their root RAGSystemError for a cap that was
reached or a time that ran out. What can be seen beforehand (an empty question, a value out of range, an object without
its method) always raises InvalidInput, which is a ValueError.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypedDict, TypeVar

from burnish.adapters.backends import Backend
from burnish.adapters.calling import Caller, threads
from burnish.adapters.gates import Gate
from burnish.adapters.models import Model
from burnish.adapters.performing import Limits, Performer
from burnish.adapters.retries import Retries
from burnish.asking import asked_for, without_answer
from burnish.classic.batches import in_order
from burnish.classic.facts import public_record, told
from burnish.classic.recording import Recording, Run
from burnish.classic.results import Result
from burnish.config import StrategyConfig
from burnish.effects import Note, Subquestion
from burnish.engine import arun, run_to_end
from burnish.errors import (
    BudgetExceeded,
    EffectFailed,
    InvalidInput,
    LanguageModelFailed,
    LLMCallError,
    RAGSystemError,
    RetrievalError,
    RetrievalFailed,
)
from burnish.events import EffectBegun, EffectEnded, Finished, Observe, Recorded
from burnish.strategies.registry import begin

R = TypeVar("R", bound=Result)

Event = EffectBegun | EffectEnded | Recorded | Finished

THREADS = 64
QUESTIONS_PER_CALL = 2


class RunningOptions(TypedDict, total=False):
    """What every class takes by name, beside what its strategy needs.

    raise_on_error: raise what a result would tell as `failed`. timeout: seconds for a question, none by default; a call
        that blocks cannot be stopped when they are over, but is not waited for.
    settings: all that the class's own parameters do not name: caps on calls and cost, how to search, how leaves behave.
    sleep: waits before a call is sent again; `asyncio.sleep` by default.
    """

    raise_on_error: bool
    timeout: float | None
    settings: StrategyConfig | None
    sleep: Callable[[float], Awaitable[Any]]


@dataclass(frozen=True)
class Asking:
    """How one question is asked. gates: see Limits. observe: hears all that the recording hears."""

    caller: Caller
    context: Mapping[str, Any] | None = None
    gates: tuple[Gate, ...] = ()
    observe: Observe | None = None


class StrategyRAG(ABC, Generic[R]):
    """A strategy, a retriever and a language model. Asks nothing of either until there is a question."""

    strategy: ClassVar[str]

    def __init__(
        self,
        rag_system: Any,
        llm: Any,
        *,
        raise_on_error: bool = False,
        timeout: float | None = None,
        settings: StrategyConfig | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise InvalidInput("timeout must be a number of seconds above 0, or None")
        self.rag_system = rag_system
        self.llm = llm
        self.raise_on_error = raise_on_error
        self.timeout = timeout
        self.settings = settings or StrategyConfig()
        self._sleep = sleep
        self._pool = _pool()

    @property
    def rag_system(self) -> Any:
        """The retriever. Another one may be put in its place; InvalidInput is raised for what has no search."""
        return self._rag_system

    @rag_system.setter
    def rag_system(self, retriever: Any) -> None:
        self._backend = Backend(retriever)
        self._rag_system = retriever

    @property
    def llm(self) -> Any:
        """The language model. Another one may be put in its place; InvalidInput is raised for what cannot be asked."""
        return self._llm

    @llm.setter
    def llm(self, language_model: Any) -> None:
        if language_model is None:
            raise InvalidInput(f"{type(self).__name__} requires an LLM")
        self._model = Model(language_model)
        self._llm = language_model

    @abstractmethod
    def strategy_config(self) -> StrategyConfig:
        """All that the strategy is told. Raises InvalidInput for a value that cannot be used."""

    @abstractmethod
    def get_stats(self) -> dict[str, Any]:
        """What the class was told, as plain values."""

    @abstractmethod
    def result_of(self, run: Run) -> R:
        """A run as this class tells it."""

    def _most_retries(self) -> int:
        return 2

    def _gates(self) -> tuple[Gate, ...]:
        """What bounds the calls of one question that are in flight together."""
        return ()

    def query(self, query: str, context: Mapping[str, Any] | None = None) -> R:
        """The result for a question. `context` is handed to the retriever where its search takes one."""
        return run_to_end(self._ask(self._asked(query), Asking(Caller(self._pool, blocking=True), context)))

    async def aquery(self, query: str, context: Mapping[str, Any] | None = None) -> R:
        """As `query`, on the caller's event loop: coroutines are awaited, and what blocks runs in threads."""
        return await self._ask(self._asked(query), Asking(Caller(self._pool, blocking=False), context))

    async def abatch(
        self, queries: Iterable[str], max_concurrency: int = 32, context: Mapping[str, Any] | None = None
    ) -> list[R]:
        """The results for many questions, in their order, with at most so many calls of the model in flight.

        The cap holds over all questions, so that one which waits leaves its place to another. Every question is
        checked before the first is asked. With `raise_on_error`, the first failure ends the batch.
        """
        config = self.strategy_config()
        asked = [asked_for(query, self.strategy, config) for query in queries]
        if max_concurrency < 1:
            raise InvalidInput("max_concurrency must be at least 1")
        gates = (Gate(max_concurrency),)
        with threads(2 * max_concurrency) as pool:
            how = Asking(Caller(pool, blocking=False), context, gates)
            return await in_order(asked, lambda each: self._ask(each, how), QUESTIONS_PER_CALL * max_concurrency)

    async def astream(self, query: str, context: Mapping[str, Any] | None = None) -> AsyncGenerator[Event]:
        """What happens, as it happens: effects that begin and end, audit records, and last `Finished` with the result.

        Leaving the iteration early cancels the question.
        """
        asked, heard = self._asked(query), asyncio.Queue[Event | None]()

        def hear(event: EffectBegun | EffectEnded) -> None:
            for each in _public(event):
                heard.put_nowait(each)

        how = Asking(Caller(self._pool, blocking=False), context, observe=hear)
        answering = asyncio.create_task(self._ask(asked, how))
        answering.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (event := await heard.get()) is not None:
                yield event
            yield Finished(await answering)
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)

    def add_document(self, text: str, metadata: Mapping[str, Any] | None = None) -> Any:
        """Hand a document to the retriever, and return what it returns."""
        return run_to_end(self._add(text, metadata, blocking=True))

    async def aadd_document(self, text: str, metadata: Mapping[str, Any] | None = None) -> Any:
        return await self._add(text, metadata, blocking=False)

    def close(self) -> None:
        """Let the threads go. The object may be used again, and has new ones then."""
        self._pool.shutdown(wait=False)
        self._pool = _pool()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asked(self, query: str, depth: int = 0) -> Subquestion:
        return asked_for(query, self.strategy, self.strategy_config(), depth)

    async def _add(self, text: str, metadata: Mapping[str, Any] | None, *, blocking: bool) -> Any:
        return await self._backend.add_document(text, metadata or {}, Caller(self._pool, blocking))

    async def _ask(self, asked: Subquestion, how: Asking) -> R:
        recording = Recording(asked)
        performer = self._performer(asked.config, how)

        def observe(event: EffectBegun | EffectEnded) -> None:
            recording(event)
            if how.observe is not None:
                how.observe(event)

        try:
            async with asyncio.timeout(self.timeout):
                answer = await arun(asked, begin, performer.perform, observe=observe)
        except (EffectFailed, BudgetExceeded, TimeoutError) as failure:
            if self.raise_on_error:
                raise error_of(failure) from failure
            result = self.result_of(recording.end(without_answer(asked.question, failure), performer.found))
            result.error = told(failure)
            return result
        return self.result_of(recording.end(answer, performer.found))

    def _performer(self, config: StrategyConfig, how: Asking) -> Performer:
        limits = Limits(config.max_calls, config.max_cost_usd, (*self._gates(), *how.gates))
        retries = Retries(self._most_retries(), sleep=self._sleep)
        return Performer(self._backend, self._model, how.caller, limits, retries, how.context)


def error_of(failure: EffectFailed | BudgetExceeded | TimeoutError) -> RAGSystemError:
    """The failure as the classes raise it, with what the caller's own object said at its end."""
    kind = RAGSystemError
    if isinstance(failure, LanguageModelFailed | RetrievalFailed):
        kind = LLMCallError if isinstance(failure, LanguageModelFailed) else RetrievalError
    message = str(failure) or "the time for the question ran out"
    return kind(f"{message}: {failure.__cause__}" if failure.__cause__ else message)


def _public(event: EffectBegun | EffectEnded) -> list[Event]:
    if not isinstance(event.effect, Note):
        return [event]
    records = event.effect.records if isinstance(event, EffectEnded) else ()
    return [Recorded(event.path, public_record(record)) for record in records]


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="burnish")

"""How a RAG system searches: other wordings, a search for each, one ranking of all, and that weighed once more.

A wording whose search fails is left out as long as another's succeeds; a reranker that fails leaves the order as it
was. Such a result is given but not remembered. What is remembered is forgotten with every change of the documents: a
search that was under way meanwhile belongs to what was there before, and is not given to those who ask afterwards.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from burnish.errors import InvalidInput, UnknownShape
from burnish.rag_system.cache import RetrievalCache
from burnish.rag_system.chunks import Scored
from burnish.rag_system.errors import RAGRetrievalError
from burnish.rag_system.expansion import QueryExpander
from burnish.rag_system.flights import SingleFlight
from burnish.rag_system.flow import Flow, Work, do, do_all
from burnish.rag_system.merging import merge_retrieval_results
from burnish.rag_system.reranking import Reranker
from burnish.rag_system.stores import searching

logger = logging.getLogger(__name__)

# A reranker can only raise what it is shown.
OVERFETCH = 4


@dataclass(frozen=True)
class SearchRequest:
    query: str
    top_k: int
    min_score: float
    filters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Found:
    """complete: nothing failed on the way."""

    results: Sequence[Scored]
    complete: bool


@dataclass(frozen=True)
class Searcher:
    """The parts that search. expander, reranker: ours, or objects with `expand(query)`, `rerank(query=, chunks=)`."""

    vector_db: Any
    expander: Any = None
    reranker: Any = None

    def scope(self, request: SearchRequest) -> Hashable:
        """All that decides a result beside its question and `top_k`."""
        expander, reranker = self.expander, self.reranker
        parts = (_Itself(self.vector_db), _Itself(expander), _Itself(reranker))
        wordings = (expander.max_variants, expander.use_llm) if isinstance(expander, QueryExpander) else None
        ranking = (reranker.config, reranker.mode) if isinstance(reranker, Reranker) else None
        filters = json.dumps(request.filters, sort_keys=True, default=repr)
        return parts, wordings, ranking, request.min_score, filters

    def finding(self, request: SearchRequest) -> Flow[Found]:
        """Raises RAGRetrievalError where no search succeeds."""
        wordings = yield from self._wordings(request.query)
        outcomes = yield from do_all([self._search(wording, request) for wording in wordings])
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        _check(failures, len(outcomes), request.query)
        rankings: list[list[Scored]] = [[] if isinstance(outcome, Exception) else outcome for outcome in outcomes]
        merged = merge_retrieval_results(rankings, self._depth(request.top_k))
        ranked = yield from self._reranked(request.query, merged)
        results = (ranked if ranked is not None else merged)[: self._kept(request.top_k)]
        return Found(results, complete=not failures and ranked is not None)

    def _wordings(self, query: str) -> Flow[list[str]]:
        if self.expander is None:
            return [query]
        if isinstance(self.expander, QueryExpander):
            return (yield from self.expander.expanding(query))
        try:
            expanded = yield from do(Work(lambda: self.expander.expand(query)))
        except Exception as error:
            logger.warning("the question is not expanded: %s", type(error).__name__)
            return [query]
        return list(dict.fromkeys([query, *expanded]))

    def _search(self, wording: str, request: SearchRequest) -> Work:
        return searching(self.vector_db, wording, self._depth(request.top_k), request.min_score, request.filters)

    def _reranked(self, query: str, results: list[Scored]) -> Flow[list[Scored] | None]:
        """None where the reranker failed."""
        if self.reranker is None or not results:
            return results
        try:
            if isinstance(self.reranker, Reranker):
                return (yield from self.reranker.reranking(query, results))
            return list((yield from do(Work(lambda: self.reranker.rerank(query=query, chunks=results)))))
        except Exception as error:
            logger.warning("what was found is not reranked: %s", type(error).__name__)
            return None

    def _depth(self, top_k: int) -> int:
        return top_k if self.reranker is None else OVERFETCH * max(top_k, self._kept(top_k))

    def _kept(self, top_k: int) -> int:
        wanted = self.reranker.config.top_k if isinstance(self.reranker, Reranker) else None
        return wanted or top_k


class _Itself:
    """An object as a key: equal to itself alone, and kept alive, so that no other is ever taken for it."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


class Lookup:
    """Searches that were made already, or are being made, and those to be made; for threads and tasks alike."""

    def __init__(self, cache: RetrievalCache | None) -> None:
        self.cache = cache
        self._flights: SingleFlight[Sequence[Scored]] = SingleFlight()
        self._lock = Lock()
        self._changes = 0

    def find(self, request: SearchRequest, scope: Hashable, search: Callable[[], Found]) -> list[Scored]:
        scope = (self._changes, scope)
        known = self._known(request, scope, counted=True)
        if known is not None:
            return known

        def searched() -> Sequence[Scored]:
            late = self._known(request, scope)
            return late if late is not None else self._remember(request, scope, search())

        return list(self._flights.do((request.query, request.top_k, scope), searched))

    async def afind(
        self, request: SearchRequest, scope: Hashable, search: Callable[[], Awaitable[Found]]
    ) -> list[Scored]:
        scope = (self._changes, scope)
        known = self._known(request, scope, counted=True)
        if known is not None:
            return known

        async def searched() -> Sequence[Scored]:
            late = self._known(request, scope)
            return late if late is not None else self._remember(request, scope, await search())

        return list(await self._flights.ado((request.query, request.top_k, scope), searched))

    def forget(self) -> None:
        """The documents have changed."""
        with self._lock:
            self._changes += 1
        if self.cache is not None:
            self.cache.clear()

    def _known(self, request: SearchRequest, scope: Hashable, *, counted: bool = False) -> list[Scored] | None:
        if self.cache is None:
            return None
        look = self.cache.get if counted else self.cache.peek
        return look(request.query, request.top_k, scope)

    def _remember(self, request: SearchRequest, scope: Hashable, found: Found) -> Sequence[Scored]:
        if self.cache is not None and found.results and found.complete:
            self.cache.set(request.query, request.top_k, found.results, scope)
        return found.results


def _check(failures: Sequence[Exception], searches: int, query: str) -> None:
    for failure in failures:
        if isinstance(failure, InvalidInput):
            raise failure
        logger.warning("one of %d searches failed: %s", searches, type(failure).__name__)
    if len(failures) == searches:
        first = failures[0]
        told = str(first) if isinstance(first, UnknownShape) else f"the vector database raised {type(first).__name__}"
        raise RAGRetrievalError(told, query=query) from first

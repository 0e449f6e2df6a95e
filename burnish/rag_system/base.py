"""What every RAG system has, and the point to subclass for one that searches or answers in another way."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from threading import Lock
from types import TracebackType
from typing import Any, Literal, Self

from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.documents import Documents
from burnish.rag_system.flow import in_thread

logger = logging.getLogger(__name__)

QUERY_COUNTS = ("total_queries", "successful_queries", "failed_queries")
STORED_COUNTS = ("total_documents", "total_chunks")


class BaseRAGSystem(ABC):
    """A system that takes documents in, finds what is in them and answers from it.

    A subclass writes `add_documents`, `retrieve` and `generate`; their asynchronous twins run those in threads until it
    has better ones. `stats` holds counts; `_count` changes them, from any thread.
    """

    def __init__(self, config: RAGConfig | None = None) -> None:
        self.config = config or RAGConfig()
        self.config.validate()
        self.stats: dict[str, int] = dict.fromkeys((*QUERY_COUNTS, *STORED_COUNTS), 0)
        self._stats_lock = Lock()

    @abstractmethod
    def add_documents(self, docs: Documents) -> dict[str, int]:
        """Take documents in, and say of each how many chunks it came to."""

    @abstractmethod
    def retrieve(self, query: str, top_k: int | None = None) -> list[Scored]:
        """(chunk, score) pairs, best first; an empty list where nothing is found."""

    @abstractmethod
    def generate(self, query: str, **kwargs: Any) -> str:
        """The answer to a question."""

    async def aadd_documents(self, docs: Documents) -> dict[str, int]:
        return await in_thread(self.add_documents, docs)

    async def aretrieve(self, query: str, top_k: int | None = None) -> list[Scored]:
        return await in_thread(self.retrieve, query, top_k)

    async def agenerate(self, query: str, **kwargs: Any) -> str:
        return await in_thread(lambda: self.generate(query, **kwargs))

    def remove_document(self, doc_id: str) -> int:
        """Take a document out, and say how many chunks it had."""
        raise NotImplementedError(f"{type(self).__name__} cannot remove documents")

    def save(self, path: str) -> None:
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    @classmethod
    def load(cls, path: str, *args: Any, **kwargs: Any) -> Self:
        raise NotImplementedError(f"{cls.__name__} cannot be loaded")

    def get_stats(self) -> dict[str, Any]:
        with self._stats_lock:
            return dict(self.stats)

    def reset_stats(self) -> None:
        """Begin the counts of questions anew; those of what is stored stay."""
        with self._stats_lock:
            self.stats.update(dict.fromkeys(QUERY_COUNTS, 0))

    def validate_connection(self, test_query: str) -> dict[str, Any]:
        """Whether searching and answering work, tried with a question.

        {"success": both work, "reason": what does not, "components": {"retrieval": bool, "generation": bool}}
        """
        try:
            found = self.retrieve(test_query, top_k=1)
        except Exception as error:
            return _report(f"the search raised {type(error).__name__}", retrieval=False, generation=False)
        if not found:
            return _report("the search works and found nothing: are there documents?", retrieval=True, generation=False)
        try:
            fault = self._generation_fault(test_query)
        except Exception as error:
            fault = f"it raised {type(error).__name__}"
        return _report(f"the search works, generating does not: {fault}" if fault else "", True, not fault)

    def _generation_fault(self, query: str) -> str | None:
        """What is wrong with an answer; None where nothing is."""
        return None if self.generate(query).strip() else "the answer is empty"

    def cleanup(self) -> None:  # noqa: B027 most systems hold nothing
        """Let go of what the system holds."""

    def _count(self, **changes: int) -> None:
        """Add to the counts, none of which falls below 0."""
        with self._stats_lock:
            for name, change in changes.items():
                self.stats[name] = max(0, self.stats.get(name, 0) + change)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.cleanup()
        return False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        await in_thread(self.cleanup)
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._counts()})"

    def _counts(self) -> str:
        stats = self.get_stats()
        told = {"docs": "total_documents", "chunks": "total_chunks", "queries": "total_queries"}
        return ", ".join(f"{name}={stats[key]}" for name, key in told.items())


def _report(reason: str, retrieval: bool, generation: bool) -> dict[str, Any]:
    return {
        "success": retrieval and generation,
        "reason": reason or "searching and answering work",
        "components": {"retrieval": retrieval, "generation": generation},
    }

"""What a RAG system holds, and every way in which that changes: none of them forgets a count, a version or a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Protocol

from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.flow import Flow
from burnish.rag_system.history import VersionHistory
from burnish.rag_system.ingestion import Ingester, Written, groups
from burnish.rag_system.stores import ChunkedDocument


class Count(Protocol):
    def __call__(self, **changes: int) -> None: ...


class Holdings:
    """The documents that came in through this system: how many chunks each has, and what it said before.

    ingester: gives the system's parts as they are now. count: adds to its statistics.
    """

    def __init__(self, ingester: Callable[[], Ingester], count: Count) -> None:
        self.history = VersionHistory()
        self._ingester = ingester
        self._count = count
        self._lock = Lock()
        self._chunks: dict[str, int] = {}

    @property
    def chunks(self) -> dict[str, int]:
        """The number of chunks of each document."""
        with self._lock:
            return dict(self._chunks)

    def restore(self, chunks: Mapping[str, int], versions: Mapping[str, Any]) -> None:
        """Take on what was saved: `chunks`, and `to_json` of the history. The statistics are not touched."""
        self.history.restore(versions)
        with self._lock:
            self._chunks = dict(chunks)

    def ingesting(self, documents: Sequence[LoadedDocument]) -> Flow[dict[str, int]]:
        """How many chunks of each document were stored. Raises what the vector database raises."""
        ingester = self._ingester()
        ingester.check()
        results = {str(document.doc_id): 0 for document in documents}
        for group in groups(documents, ingester.config.ingest_batch_size):
            stored = yield from self.storing((yield from ingester.cutting(group)))
            results |= {each.document.doc_id: len(each.document.chunks) for each in stored}
        return results

    def cutting(self, documents: Sequence[LoadedDocument]) -> Flow[list[ChunkedDocument]]:
        ingester = self._ingester()
        ingester.check()
        return (yield from ingester.cutting(documents))

    def storing(self, documents: Sequence[ChunkedDocument]) -> Flow[list[Written]]:
        """The documents that were stored, in place of what stood under their ids."""
        if not documents:
            return []
        stored = yield from self._ingester().storing(documents, self.chunks)
        self._enter(stored)
        return stored

    def removing(self, doc_id: str) -> Flow[int]:
        """How many chunks were removed. Raises what the vector database raises."""
        removed = yield from self._ingester().removing(doc_id)
        with self._lock:
            self._chunks.pop(doc_id, None)
        self.history.forget(doc_id)
        if removed:
            self._count(total_documents=-1, total_chunks=-removed)
        return removed

    def _enter(self, stored: Iterable[Written]) -> None:
        for document in (each.document for each in stored):
            with self._lock:
                before = self._chunks.get(document.doc_id)
                self._chunks[document.doc_id] = len(document.chunks)
            self.history.note(document)
            self._count(total_documents=int(before is None), total_chunks=len(document.chunks) - (before or 0))

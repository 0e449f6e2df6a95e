"""How a RAG system takes documents in: cut, and stored in place of what stood under their ids.

Documents are taken in groups of `ingest_batch_size`, each cut and then written together. One that cannot be cut or
stored as it is counts no chunks, and its earlier form stays; a store that fails ends the ingest with its own error,
the groups before it written. A store that takes no whole documents is told to remove the earlier form, and then to add
the new one: if it fails between the two, the document is gone until it is added again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from burnish.adapters.passages import read_number
from burnish.adapters.signatures import method_of
from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.chunking import chunk_function, cut
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.flow import Flow, Work, do, do_all, in_thread
from burnish.rag_system.stores import ChunkedDocument, DocumentStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Written:
    """A document that was stored. embedded: of its chunks, those whose vectors were not there yet; None if not told."""

    document: ChunkedDocument
    embedded: int | None


@dataclass(frozen=True)
class Ingester:
    """The parts that take documents in.

    writing: is held while a store that knows no documents is changed. changed: is told after each change, one that
    failed halfway too, by whoever made it: where nobody waits for a thread any more, it is told none the less.
    """

    vector_db: Any
    chunker: Any
    config: RAGConfig
    writing: Lock
    changed: Callable[[], None]

    def check(self) -> None:
        """Raise RAGInitializationError for a chunker that can cut nothing: that is no single document's fault."""
        chunk_function(self.chunker, self.config)

    def cutting(self, documents: Sequence[LoadedDocument]) -> Flow[list[ChunkedDocument]]:
        """The documents with their chunks, those left out that have no text or that the chunker fails on."""
        usable = [document for document in documents if _has_text(document)]
        for document in documents:
            if not _has_text(document):
                logger.warning("document %s holds no text: left out", document.doc_id)
        outcomes = yield from do_all([Work(partial(cut, self.chunker, self.config, each)) for each in usable])
        for document, outcome in zip(usable, outcomes, strict=True):
            if isinstance(outcome, Exception):
                logger.error("document %s could not be cut: %s", document.doc_id, type(outcome).__name__)
        return [each for each in outcomes if not isinstance(each, Exception) and each.chunks]

    def storing(self, documents: Sequence[ChunkedDocument], known: Container[str]) -> Flow[list[Written]]:
        """The documents that were stored. Raises what the store raises, but for InvalidInput over a single document.

        known: the ids of those that were stored by this system before.
        """
        if not isinstance(self.vector_db, DocumentStore):
            return (yield from self._adding(documents, known))
        try:
            return (yield from do(Work(lambda: self._put(documents))))
        except DimensionMismatch:
            raise
        except InvalidInput as error:
            if len(documents) == 1:
                logger.warning("document %s cannot be stored: %s", documents[0].doc_id, error)
                return []
        stored: list[Written] = []
        for document in documents:
            stored += yield from self.storing([document], known)
        return stored

    def removing(self, doc_id: str) -> Flow[int]:
        """How many chunks were removed; 0 where the store says nothing that can be read. Raises what it raises."""

        def remove() -> Any:
            try:
                return self.vector_db.remove_by_doc_id(doc_id)
            finally:
                self.changed()

        return max(0, int(read_number((yield from do(Work(remove)))) or 0))

    def _put(self, documents: Sequence[ChunkedDocument]) -> list[Written]:
        try:
            embedded = self.vector_db.put(documents)
        finally:
            self.changed()
        return [Written(document, embedded if len(documents) == 1 else None) for document in documents]

    def _adding(self, documents: Sequence[ChunkedDocument], known: Container[str]) -> Flow[list[Written]]:
        chunks = [chunk for document in documents for chunk in document.chunks]
        native = method_of(self.vector_db, ("aadd",))

        def add() -> Any:
            try:
                with self.writing:
                    self._remove_old(documents, known)
                    return self.vector_db.add(chunks)
            finally:
                self.changed()

        async def aadd() -> Any:
            try:
                await in_thread(self._remove_old, documents, known)
                return await native(chunks) if native is not None else None
            finally:
                self.changed()

        yield from do(Work(add, aadd if native is not None else None))
        return [Written(document, None) for document in documents]

    def _remove_old(self, documents: Iterable[ChunkedDocument], known: Container[str]) -> None:
        """Take out what stands under these ids, where the store can. It may hold some that we did not put there."""
        remove = method_of(self.vector_db, ("remove_by_doc_id",))
        for document in documents:
            is_known = document.doc_id in known
            if remove is None:
                if is_known:
                    logger.warning("the store cannot remove: document %s stays beside its new form", document.doc_id)
                continue
            try:
                remove(document.doc_id)
            except Exception as error:
                if is_known:
                    raise
                logger.debug("nothing removed for document %s: %s", document.doc_id, type(error).__name__)


def _has_text(document: LoadedDocument) -> bool:
    text: Any = document.page_content
    return isinstance(text, str) and bool(text.strip())


def groups(documents: Iterable[LoadedDocument], most: int) -> Iterator[list[LoadedDocument]]:
    """Consecutive documents, at most so many, no two with the same id: the later takes the earlier one's place."""
    group: dict[str, LoadedDocument] = {}
    for document in documents:
        doc_id = str(document.doc_id)
        if doc_id in group or len(group) == most:
            yield list(group.values())
            group = {}
        group[doc_id] = document
    if group:
        yield list(group.values())

"""Documents that change: nothing is done for what is no news, and only new chunks are embedded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from burnish.errors import NotFound
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.flow import Flow, arun, run
from burnish.rag_system.history import DocumentVersion

if TYPE_CHECKING:
    from burnish.rag_system.system import RAGSystem


@dataclass(frozen=True)
class DocumentUpdate:
    """What came of `add_or_update`. version: the one in force, 0 for none.

    status: "failed" where the document holds no text, or cannot be cut or stored: what stood there before stays.
    added, removed, kept: chunks by their text, beside the version before. embedded: those whose vectors had to be made;
    None where the vector database does not tell.
    """

    doc_id: str
    version: int
    status: Literal["added", "updated", "unchanged", "failed"]
    added: int = 0
    removed: int = 0
    kept: int = 0
    embedded: int | None = 0


class DocumentVersionManager:
    """Stores documents of a RAG system by what is new in them, and brings back what they said before.

    The latest ten versions of each are kept, with the system and where it is saved. What other ways of ingestion do to
    such a document is a version too; to remove it is to forget them.
    """

    def __init__(self, rag_system: RAGSystem) -> None:
        self._holdings = rag_system.holdings

    def add_or_update(self, document: LoadedDocument) -> DocumentUpdate:
        """Store the document if its text, metadata or chunks are news. Raises what the vector database raises."""
        return run(self.updating(document))

    async def aadd_or_update(self, document: LoadedDocument) -> DocumentUpdate:
        return await arun(self.updating(document))

    def versions(self, doc_id: str) -> tuple[DocumentVersion, ...]:
        """Those that are kept, oldest first; the last is the one in force."""
        return self._holdings.history.versions(doc_id)

    def rollback(self, doc_id: str, version: int) -> DocumentUpdate:
        """Put an earlier version in force again, as a new one. Raises NotFound for a version that is not kept."""
        wanted = next((each for each in self.versions(doc_id) if each.version == version), None)
        if wanted is None:
            raise NotFound(f"there is no version {version} of document {doc_id!r}")
        return self.add_or_update(LoadedDocument(wanted.text, dict(wanted.metadata), doc_id))

    def updating(self, document: LoadedDocument) -> Flow[DocumentUpdate]:
        history, doc_id = self._holdings.history, str(document.doc_id)
        before, was_there = history.latest(doc_id), doc_id in self._holdings.chunks
        failed = DocumentUpdate(doc_id, before.version if before else 0, "failed")
        chunked = yield from self._holdings.cutting([document])
        if not chunked:
            return failed
        if before is not None and before.says(chunked[0]):
            return DocumentUpdate(doc_id, before.version, "unchanged", kept=len(before.chunks))
        stored = yield from self._holdings.storing(chunked)
        if not stored:
            return failed
        after = history.latest(doc_id) or history.append(chunked[0])
        old, new = Counter(before.chunks if before else ()), Counter(after.chunks)
        return DocumentUpdate(
            doc_id=doc_id,
            version=after.version,
            status="updated" if was_there else "added",
            added=(new - old).total(),
            removed=(old - new).total(),
            kept=(new & old).total(),
            embedded=stored[0].embedded,
        )

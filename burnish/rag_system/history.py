"""What documents said before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from burnish.errors import InvalidInput
from burnish.rag_system.chunks import text_of
from burnish.rag_system.stores import ChunkedDocument
from burnish.text.normalise import clean
from burnish.text.storable import storable

MAX_VERSIONS = 10


@dataclass(frozen=True)
class DocumentVersion:
    """What a document said. `version` counts from 1; `chunks` are its chunks' texts; `created_at` is UTC, ISO 8601."""

    version: int
    text: str
    metadata: Mapping[str, Any]
    chunks: tuple[str, ...]
    created_at: str

    def says(self, document: ChunkedDocument) -> bool:
        """Whether the document is this version, its text, its metadata and its chunks the same."""
        return (self.text, self.metadata, self.chunks) == _content(document)


class VersionHistory:
    """The latest versions of the documents that are kept track of; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, tuple[DocumentVersion, ...]] = {}

    def versions(self, doc_id: str) -> tuple[DocumentVersion, ...]:
        """Those that are kept, oldest first; the last is the one in force."""
        with self._lock:
            return self._held.get(doc_id, ())

    def latest(self, doc_id: str) -> DocumentVersion | None:
        return next(reversed(self.versions(doc_id)), None)

    def note(self, document: ChunkedDocument) -> None:
        """The document was stored: if it is kept track of, and says something else now, this is a new version."""
        latest = self.latest(document.doc_id)
        if latest is not None and not latest.says(document):
            self.append(document)

    def append(self, document: ChunkedDocument) -> DocumentVersion:
        """The document as its newest version, kept track of from now on."""
        text, metadata, chunks = _content(document)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        with self._lock:
            before = self._held.get(document.doc_id, ())
            number = before[-1].version + 1 if before else 1
            version = DocumentVersion(number, text, metadata, chunks, made)
            self._held[document.doc_id] = (*before, version)[-MAX_VERSIONS:]
        return version

    def forget(self, doc_id: str) -> None:
        with self._lock:
            self._held.pop(doc_id, None)

    def to_json(self) -> dict[str, Any]:
        with self._lock:
            return {doc_id: [asdict(version) for version in versions] for doc_id, versions in self._held.items()}

    def restore(self, saved: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        """Take on what `to_json` gave. Raises InvalidInput for anything else."""
        try:
            held = {doc_id: tuple(_version(**version) for version in versions) for doc_id, versions in saved.items()}
        except (TypeError, AttributeError) as error:
            raise InvalidInput("what was saved of the documents' versions is damaged") from error
        with self._lock:
            self._held = held


def _content(document: ChunkedDocument) -> tuple[str, Any, tuple[str, ...]]:
    """What makes a version, in the form that a saved one has."""
    chunks: Sequence[str] = [clean(text_of(chunk)) for chunk in document.chunks]
    return clean(document.text), storable(dict(document.metadata)), tuple(chunks)


def _version(*, chunks: Iterable[str], **fields: Any) -> DocumentVersion:
    return DocumentVersion(chunks=tuple(chunks), **fields)

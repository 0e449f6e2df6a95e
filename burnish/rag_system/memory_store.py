"""A vector database in this process, with no server: exact search over an array of unit vectors.

What is held is never changed in place but replaced as a whole, under a lock that only writers take: a search sees one
state, and waits for nobody. New rows go behind the old ones into room kept for them, so that many small additions do
not copy everything each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np

from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.chunks import DocumentChunk, Scored, as_document_chunk
from burnish.rag_system.config import is_whole
from burnish.rag_system.embedding import TextEmbedder
from burnish.rag_system.memory_file import read_rows, write_rows
from burnish.rag_system.stores import ChunkedDocument, DocumentStore, grouped, matches
from burnish.world.embeddings import Vectors

EMBED_BATCH = 64
FIRST_ROOM = 64


@dataclass(frozen=True)
class _Rows:
    """`chunks[n]` has the vector `room[n]`; what stands behind the first `count` is not there yet."""

    chunks: list[DocumentChunk]
    room: Vectors
    count: int

    @property
    def vectors(self) -> Vectors:
        return self.room[: self.count]


class MemoryStore(DocumentStore):
    """Chunks and their vectors in memory; safe to use from many threads.

    embedder: whatever `TextEmbedder` takes; the embedded multilingual-e5-small if none is given. Scores are cosine
    similarities. Chunks of any kind are kept as DocumentChunks, with their text, ids and metadata.
    """

    def __init__(self, embedder: Any = None) -> None:
        self._embedder = embedder if isinstance(embedder, TextEmbedder) else TextEmbedder(embedder)
        self._lock = Lock()
        self._rows = _Rows([], np.empty((0, 0), np.float32), 0)

    @property
    def size(self) -> int:
        return self._rows.count

    def put(self, documents: Sequence[ChunkedDocument]) -> int:
        """See DocumentStore. A chunk whose text its document had before keeps its vector."""
        latest = {document.doc_id: document for document in documents}
        chunks = [
            as_document_chunk(chunk, document.doc_id, place, document.metadata)
            for document in latest.values()
            for place, chunk in enumerate(document.chunks)
        ]
        known = self._vectors_of(latest)
        embedded = self._embedded({chunk.text for chunk in chunks if (chunk.doc_id, chunk.text) not in known})
        vectors = [known.get((chunk.doc_id, chunk.text), embedded.get(chunk.text)) for chunk in chunks]
        with self._lock:
            kept = [n for n, chunk in enumerate(self._held()) if chunk.doc_id not in latest]
            self._replace(kept, chunks, vectors)
        return sum((chunk.doc_id, chunk.text) not in known for chunk in chunks)

    def add(self, chunks: Sequence[Any]) -> None:
        """See DocumentStore. A chunk takes the place of the one with its id in its document."""
        made = [
            as_document_chunk(chunk, doc_id, place + self._chunks_of(doc_id), {})
            for doc_id, group in grouped(chunks).items()
            for place, chunk in enumerate(group)
        ]
        embedded = self._embedded({chunk.text for chunk in made})
        names = {(chunk.doc_id, chunk.chunk_id) for chunk in made}
        with self._lock:
            kept = [n for n, chunk in enumerate(self._held()) if (chunk.doc_id, chunk.chunk_id) not in names]
            self._replace(kept, made, [embedded[chunk.text] for chunk in made])

    def search(
        self,
        query: str,
        top_k: int = 5,
        score_threshold: float = 0.0,
        filters: Mapping[str, Any] | None = None,
    ) -> list[Scored]:
        """See DocumentStore. filters: values that a chunk's metadata must hold, of a list one of them."""
        if not is_whole(top_k, 1):
            raise InvalidInput("top_k must be a whole number above 0")
        rows = self._rows
        if rows.count == 0 or not query.strip():
            return []
        scores = rows.vectors @ self._embedder.embed([query], "question")[0]
        eligible = scores >= score_threshold
        if filters:
            eligible &= np.fromiter((matches(chunk, filters) for chunk in rows.chunks[: rows.count]), bool, rows.count)
        places = np.flatnonzero(eligible)
        best = places[np.argsort(-scores[places], kind="stable")[:top_k]]
        return [(rows.chunks[place], float(scores[place])) for place in best]

    def remove_by_doc_id(self, doc_id: str) -> int:
        with self._lock:
            before = self._rows.count
            kept = [n for n, chunk in enumerate(self._held()) if chunk.doc_id != doc_id]
            if len(kept) < before:
                self._replace(kept, [], [])
            return before - len(kept)

    def save(self, path: str | Path) -> None:
        """Write all to one file in the folder `path`, which takes the place of an earlier one in one step."""
        rows = self._rows
        write_rows(Path(path), rows.chunks[: rows.count], rows.vectors, self._embedder.model)

    def load(self, path: str | Path) -> Self:
        """See DocumentStore. Raises InvalidInput for a damaged file, DimensionMismatch for another model's vectors."""
        chunks, vectors, model = read_rows(Path(path))
        own = self._embedder.model
        if len(chunks) and (model != own or vectors.shape[1] != self._embedder.dimension):
            raise DimensionMismatch(
                f"what was saved there was embedded by {model!r} ({vectors.shape[1]} numbers), not by {own!r}: load it "
                "with the model that it was saved with"
            )
        with self._lock:
            self._rows = _Rows(chunks, vectors, len(chunks))
        return self

    def _held(self) -> list[DocumentChunk]:
        return self._rows.chunks[: self._rows.count]

    def _chunks_of(self, doc_id: str) -> int:
        return sum(chunk.doc_id == doc_id for chunk in self._held())

    def _vectors_of(self, doc_ids: Iterable[str]) -> dict[tuple[str, str], Vectors]:
        wanted, rows = frozenset(doc_ids), self._rows
        places = (n for n in range(rows.count) if rows.chunks[n].doc_id in wanted)
        return {(rows.chunks[n].doc_id, rows.chunks[n].text): rows.room[n] for n in places}

    def _embedded(self, texts: Iterable[str]) -> dict[str, Vectors]:
        listed = sorted(texts)
        vectors: dict[str, Vectors] = {}
        for start in range(0, len(listed), EMBED_BATCH):
            batch = listed[start : start + EMBED_BATCH]
            vectors.update(zip(batch, self._embedder.embed(batch, "passage"), strict=True))
        return vectors

    def _replace(self, kept: Sequence[int], chunks: Sequence[DocumentChunk], vectors: Sequence[Any]) -> None:
        """Keep these rows and add those; the caller holds the lock."""
        rows, count = self._rows, len(kept) + len(chunks)
        new = np.asarray(vectors, np.float32).reshape(len(chunks), -1) if chunks else rows.room[:0]
        if rows.count and chunks and new.shape[1] != rows.room.shape[1]:
            raise DimensionMismatch(f"vectors of {new.shape[1]} numbers do not go with those of {rows.room.shape[1]}")
        if len(kept) == rows.count and count <= len(rows.room):
            rows.room[rows.count : count] = new
            rows.chunks[rows.count :] = chunks
            self._rows = _Rows(rows.chunks, rows.room, count)
            return
        width = new.shape[1] if chunks else rows.room.shape[1]
        room = np.empty((max(FIRST_ROOM, 2 * count), width), np.float32)
        room[: len(kept)] = rows.room[list(kept)] if rows.count else 0
        room[len(kept) : count] = new
        self._rows = _Rows([*(rows.chunks[n] for n in kept), *chunks], room, count)

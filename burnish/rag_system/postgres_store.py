"""A RAG system's vector database in Postgres: a collection of burnish's own tables, searched by vectors and words.

The same collection can be asked through the service, and documents ingested there are found here. A document is stored
as the text that its chunks are slices of. Where a chunker made chunks that are none (it reworded or trimmed inside),
the chunks, one after the other, are stored as the document's text: that a chunk stands verbatim in its document is what
citations rest on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from sqlalchemy import Connection, Engine, Text, cast, func, select

from burnish.effects import Retrieve, SearchQuery
from burnish.errors import InvalidInput, NotFound
from burnish.rag_system.chunks import DocumentChunk, Scored, metadata_of, text_of
from burnish.rag_system.config import is_whole
from burnish.rag_system.embedding import TextEmbedder
from burnish.rag_system.postgres_documents import BETWEEN, new_document, with_title, with_vectors
from burnish.rag_system.stores import ChunkedDocument, DocumentStore, grouped
from burnish.results import Passage
from burnish.store.models import Chunk, Document
from burnish.store.search_index import (
    NewDocument,
    ensure_collection,
    find_collection,
    lock_collection,
    remove_documents,
    stored_documents,
    write_documents,
)
from burnish.text.normalise import clean
from burnish.world.embeddings import check_collection, vector_literal
from burnish.world.retrieval import search

EMBED_BATCH = 32
FILE_NAME = "postgres.json"
# Words and vectors each rank what they find; this is the fused score of what both put first.
BEST_SCORE = 2 / 61


class PostgresStore(DocumentStore):
    """A collection in Postgres, made at first use, in a database that `alembic upgrade head` has made ready.

    database: `burnish.store.connection.make_engine(url)`. embedder: whatever `TextEmbedder` takes.
    Scores are shares of the best that could be: 1 for what both vectors and words put first. Of the metadata, those of
    documents are kept. Raises DimensionMismatch where the collection was embedded by another model.
    """

    def __init__(self, database: Engine, embedder: Any = None, collection: str = "default") -> None:
        if not collection.strip() or collection != clean(collection):
            raise InvalidInput("a collection's name must be a text of printable characters")
        self.collection = collection
        self._database = database
        self._embedder = embedder if isinstance(embedder, TextEmbedder) else TextEmbedder(embedder)

    @property
    def size(self) -> int:
        with self._database.begin() as connection:
            found = find_collection(connection, self.collection)
            return 0 if found is None else found.chunk_count

    def put(self, documents: Sequence[ChunkedDocument]) -> int:
        """See DocumentStore. A chunk whose text its document had before, under the same title, keeps its vector."""
        made = {document.doc_id: new_document(document) for document in documents}
        with self._database.begin() as connection:
            collection = ensure_collection(connection, self.collection, self._embedder.model, self._embedder.dimension)
            check_collection(self.collection, collection.embedding_model, collection.dimension, self._embedder)
            stored = stored_documents(connection, collection.id, made)
            changed = [
                document
                for doc_id, document in made.items()
                if doc_id not in stored or stored[doc_id].content_hash != document.content_hash
            ]
            known = _known_vectors(
                connection, [stored[each.external_id].id for each in changed if each.external_id in stored]
            )
        embedded = self._embedded(changed, known)
        ready = [_complete(document, known | embedded) for document in changed]
        with self._database.begin() as connection:
            lock_collection(connection, collection.id)
            stored = stored_documents(connection, collection.id, [each.external_id for each in ready], for_update=True)
            write_documents(connection, collection.id, ready, stored)
        return len(embedded)

    def add(self, chunks: Sequence[Any]) -> None:
        """See DocumentStore. Of those who add to one document at the same time, the last one's chunks stay."""
        with self._database.begin() as connection:
            held = _held(connection, self.collection, groups := grouped(chunks))
        self.put([_extended(held.get(doc_id), doc_id, group) for doc_id, group in groups.items()])

    def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
        """See DocumentStore. Raises RetrievalFailed where the database does not answer."""
        if not is_whole(top_k, 1):
            raise InvalidInput("top_k must be a whole number above 0")
        request = Retrieve((SearchQuery(query),), top_k=top_k, limit=top_k)
        with self._database.begin() as connection:
            found = find_collection(connection, self.collection)
        if found is None or not clean(query).strip():
            return []
        try:
            passages = search(self._database, self._embedder, found.id, request)
            with self._database.begin() as connection:
                details = _details(connection, found.id, {passage.document_id for passage in passages})
        except NotFound:  # it was dropped meanwhile
            return []
        scored = ((_chunk_of(passage, details), passage.score / BEST_SCORE) for passage in passages)
        return [(chunk, score) for chunk, score in scored if score >= score_threshold]

    def remove_by_doc_id(self, doc_id: str) -> int:
        with self._database.begin() as connection:
            found = find_collection(connection, self.collection)
            if found is None:
                return 0
            lock_collection(connection, found.id)
            ids = [each.id for each in stored_documents(connection, found.id, [doc_id], for_update=True).values()]
            count = connection.scalar(select(func.count()).select_from(Chunk).where(Chunk.document_id.in_(ids))) or 0
            remove_documents(connection, found.id, ids)
            return count

    def save(self, path: str | Path) -> None:
        """Write down which collection it is: what it holds is in Postgres."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE_NAME).write_text(json.dumps({"collection": self.collection}), "utf-8")

    def load(self, path: str | Path) -> Self:
        """See DocumentStore. Raises InvalidInput where this is not the collection that was saved, or it is gone."""
        try:
            saved = json.loads((Path(path) / FILE_NAME).read_text("utf-8"))["collection"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path} names no collection in Postgres") from error
        if saved != self.collection:
            raise InvalidInput(f"what was saved there is the collection {saved!r}, not {self.collection!r}")
        with self._database.begin() as connection:
            if find_collection(connection, self.collection) is None:
                raise InvalidInput(f"the database holds no collection {self.collection!r}")
        return self

    def _embedded(self, documents: Sequence[NewDocument], known: dict[str, str]) -> dict[str, str]:
        """A vector for each text that has none; none for those in a language that the model does not know."""
        languages = self._embedder.languages
        wanted = {
            with_title(document.title, chunk.text): None
            for document in documents
            for chunk in document.chunks
            if languages is None or chunk.language in languages
        }
        texts = [text for text in wanted if text not in known]
        batches = (texts[start : start + EMBED_BATCH] for start in range(0, len(texts), EMBED_BATCH))
        return {
            text: vector_literal(vector)
            for batch in batches
            for text, vector in zip(batch, self._embedder.embed(batch, "passage"), strict=True)
        }


def _complete(document: NewDocument, vectors: dict[str, str]) -> NewDocument:
    return with_vectors(document, [vectors.get(with_title(document.title, chunk.text)) for chunk in document.chunks])


def _known_vectors(connection: Connection, document_ids: Sequence[UUID]) -> dict[str, str]:
    """The vectors that these documents' chunks have already, by what they were made of."""
    if not document_ids:
        return {}
    rows = connection.execute(
        select(Document.title, Chunk.text, cast(Chunk.embedding, Text))
        .join(Document, Document.id == Chunk.document_id)
        .where(Document.id.in_(document_ids), Chunk.embedding.is_not(None))
    )
    return {with_title(title, text): vector for title, text, vector in rows}


def _held(connection: Connection, collection: str, doc_ids: Iterable[str]) -> dict[str, ChunkedDocument]:
    """These documents as they are stored."""
    found = find_collection(connection, collection)
    if found is None:
        return {}
    wanted = (Document.collection_id == found.id, Document.external_id.in_(list(doc_ids)))
    documents = connection.execute(select(Document.external_id, Document.text, Document.details).where(*wanted)).all()
    rows = connection.execute(
        select(Document.external_id, Chunk.text).join(Chunk).where(*wanted).order_by(Document.id, Chunk.position)
    ).all()
    return {
        doc_id: ChunkedDocument(doc_id, text, tuple(chunk for owner, chunk in rows if owner == doc_id), details)
        for doc_id, text, details in documents
    }


def _extended(held: ChunkedDocument | None, doc_id: str, chunks: Sequence[Any]) -> ChunkedDocument:
    """A document as it is stored with more chunks behind, those that it has already left out."""
    before = held or ChunkedDocument(doc_id, "", ())
    new = [text for chunk in chunks if (text := text_of(chunk)) not in before.chunks]
    metadata = {name: value for chunk in chunks for name, value in metadata_of(chunk).items()}
    text = BETWEEN.join(filter(None, (before.text, *new)))
    return ChunkedDocument(doc_id, text, (*before.chunks, *new), {**before.metadata, **metadata})


def _details(connection: Connection, collection_id: UUID, doc_ids: set[str]) -> dict[str, dict[str, Any]]:
    rows = connection.execute(
        select(Document.external_id, Document.details).where(
            Document.collection_id == collection_id, Document.external_id.in_(doc_ids)
        )
    )
    return {row.external_id: row.details for row in rows}


def _chunk_of(passage: Passage, details: dict[str, dict[str, Any]]) -> DocumentChunk:
    return DocumentChunk(
        text=passage.text,
        doc_id=passage.document_id,
        chunk_id=passage.chunk_id,
        metadata=details.get(passage.document_id, {}),
        start=passage.start,
        end=passage.end,
    )

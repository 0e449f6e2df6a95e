"""Writing what is searched: documents, their chunks, and the counts that BM25 needs, kept exact.

`lexemes` says in how many chunks of a collection each stem stands, `collections.chunk_count` and `.word_count` how many
chunks and words there are. They change in the transaction that changes the chunks, and under the collection's lock,
one writer at a time: so they are always what a recount would give. Readers never wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, cast
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Row, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from uuid_utils.compat import uuid7

from burnish.store.models import Chunk, Collection, Document
from burnish.store.vector_index import INDEX_PREFIX, ensure_vector_index


@dataclass(frozen=True)
class StoredDocument:
    id: UUID
    content_hash: str


@dataclass(frozen=True)
class NewChunk:
    """A chunk to store. embedding: a pgvector literal, or None for one that only words find."""

    position: int
    start: int
    end: int
    text: str
    folded: str
    language: str
    search_config: str
    word_count: int
    embedding: str | None


@dataclass(frozen=True)
class NewDocument:
    """A document to store under its external id, in place of what stands there."""

    external_id: str
    title: str
    text: str
    media_type: str
    source: str
    language: str
    content_hash: str
    details: Mapping[str, Any]
    chunks: tuple[NewChunk, ...]


_LEXEMES_OF = """
    SELECT search_config::text AS search_config, entry.lexeme, count(*) AS chunk_count
    FROM chunks CROSS JOIN LATERAL unnest(chunks.search) AS entry
    WHERE document_id = ANY(:document_ids)
    GROUP BY 1, 2
"""
_COUNT_LEXEMES = text(
    f"""
    INSERT INTO lexemes (collection_id, search_config, lexeme, chunk_count)
    SELECT :collection_id, search_config, lexeme, chunk_count FROM ({_LEXEMES_OF}) AS come ORDER BY 2, 3
    ON CONFLICT (collection_id, search_config, lexeme)
    DO UPDATE SET chunk_count = lexemes.chunk_count + excluded.chunk_count
    """  # noqa: S608 constants only
)
_FORGET_LEXEMES = text(
    f"""
    WITH gone AS MATERIALIZED ({_LEXEMES_OF}),
    unused AS (
        DELETE FROM lexemes USING gone
        WHERE lexemes.collection_id = :collection_id AND lexemes.search_config = gone.search_config
          AND lexemes.lexeme = gone.lexeme AND lexemes.chunk_count <= gone.chunk_count
    )
    UPDATE lexemes SET chunk_count = lexemes.chunk_count - gone.chunk_count FROM gone
    WHERE lexemes.collection_id = :collection_id AND lexemes.search_config = gone.search_config
      AND lexemes.lexeme = gone.lexeme AND lexemes.chunk_count > gone.chunk_count
    """  # noqa: S608 constants only
)
_CHUNK_COLUMNS = (
    "id, collection_id, document_id, position, start_offset, end_offset, text, folded, language, search_config,"
    " word_count, embedding"
)
_INDEX_EXISTS = text("SELECT to_regclass(:name) IS NOT NULL")
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


def ensure_collection(connection: Connection, name: str, embedding_model: str, dimension: int) -> Row[Any]:
    """The collection of this name, made if there is none, with an index for its vectors."""
    found = find_collection(connection, name)
    if found is not None:
        return found
    _ensure_index(connection, dimension)
    values = {"id": uuid7(), "name": name, "embedding_model": embedding_model, "dimension": dimension}
    connection.execute(insert(Collection).values(values).on_conflict_do_nothing(index_elements=["name"]))
    return connection.execute(select(Collection).where(Collection.name == name)).one()


def find_collection(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(select(Collection).where(Collection.name == name)).one_or_none()


def stored_documents(
    connection: Connection, collection_id: UUID, external_ids: Iterable[str], *, for_update: bool = False
) -> dict[str, StoredDocument]:
    """What is stored under these external ids; `for_update` locks the rows, in their order."""
    wanted = (
        select(Document.external_id, Document.id, Document.content_hash)
        .where(Document.collection_id == collection_id, Document.external_id.in_(sorted(external_ids)))
        .order_by(Document.external_id)
    )
    rows = connection.execute(wanted.with_for_update() if for_update else wanted)
    return {external_id: StoredDocument(document_id, content_hash) for external_id, document_id, content_hash in rows}


def lock_collection(connection: Connection, collection_id: UUID) -> None:
    """Be the one writer of the collection until the transaction ends."""
    connection.execute(_LOCK, {"name": f"burnish.collection.{collection_id}"})


def write_documents(
    connection: Connection, collection_id: UUID, documents: Sequence[NewDocument], stored: Mapping[str, StoredDocument]
) -> None:
    """Store the documents in place of `stored`, those of their external ids that exist; the caller holds the lock."""
    if not documents:
        return
    kept = [stored[document.external_id].id for document in documents if document.external_id in stored]
    _remove_chunks(connection, collection_id, kept)
    ids = [stored[each.external_id].id if each.external_id in stored else uuid7() for each in documents]
    _upsert(connection, collection_id, documents, ids)
    _copy_chunks(connection, collection_id, zip(ids, documents, strict=True))
    connection.execute(_COUNT_LEXEMES, {"collection_id": collection_id, "document_ids": ids})
    chunks = [chunk for document in documents for chunk in document.chunks]
    _add_to_counts(connection, collection_id, len(chunks), sum(chunk.word_count for chunk in chunks))


def remove_documents(connection: Connection, collection_id: UUID, document_ids: Sequence[UUID]) -> None:
    """Delete the documents with their chunks and counts; the caller holds the lock."""
    _remove_chunks(connection, collection_id, document_ids)
    connection.execute(delete(Document).where(Document.id.in_(document_ids)))


def _ensure_index(connection: Connection, dimension: int) -> None:
    """Making an index waits for all writers, so it is made only where it is missing, and by one at a time."""
    connection.execute(_LOCK, {"name": f"burnish.vector_index.{dimension}"})
    if not connection.scalar(_INDEX_EXISTS, {"name": f"{INDEX_PREFIX}{dimension}_idx"}):
        ensure_vector_index(connection, dimension)


def _remove_chunks(connection: Connection, collection_id: UUID, document_ids: Sequence[UUID]) -> None:
    if not document_ids:
        return
    connection.execute(_FORGET_LEXEMES, {"collection_id": collection_id, "document_ids": list(document_ids)})
    gone = delete(Chunk).where(Chunk.document_id.in_(document_ids)).returning(Chunk.word_count).cte("gone")
    chunks, words = connection.execute(select(func.count(), func.coalesce(func.sum(gone.c.word_count), 0))).one()
    _add_to_counts(connection, collection_id, -chunks, -words)


def _upsert(connection: Connection, collection_id: UUID, documents: Sequence[NewDocument], ids: Sequence[UUID]) -> None:
    rows = [
        {
            "id": document_id,
            "collection_id": collection_id,
            "external_id": document.external_id,
            "title": document.title,
            "text": document.text,
            "media_type": document.media_type,
            "source": document.source,
            "language": document.language,
            "content_hash": document.content_hash,
            "details": dict(document.details),
        }
        for document_id, document in zip(ids, documents, strict=True)
    ]
    new = insert(Document)
    replaced = {name: new.excluded[name] for name in rows[0] if name not in ("id", "collection_id", "external_id")}
    connection.execute(
        new.on_conflict_do_update(
            index_elements=["collection_id", "external_id"], set_={**replaced, "updated_at": func.now()}
        ),
        rows,
    )


def _copy_chunks(connection: Connection, collection_id: UUID, documents: Iterable[tuple[UUID, NewDocument]]) -> None:
    driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    with driver.cursor() as cursor, cursor.copy(f"COPY chunks ({_CHUNK_COLUMNS}) FROM STDIN") as copy:
        for document_id, document in documents:
            for chunk in document.chunks:
                copy.write_row((uuid7(), collection_id, document_id, *astuple(chunk)))


def _add_to_counts(connection: Connection, collection_id: UUID, chunks: int, words: int) -> None:
    connection.execute(
        update(Collection)
        .where(Collection.id == collection_id)
        .values(chunk_count=Collection.chunk_count + chunks, word_count=Collection.word_count + words),
    )

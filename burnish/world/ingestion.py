"""Documents into a collection: cut, folded, embedded and stored.

Documents are taken in groups. A group is cut and embedded with no transaction open, which may take long, and written
in one transaction, which does not. So a crash loses at most the group in hand, and the same ingest started again goes
on after the last group that was written: a document whose content is stored already is passed over by its hash.

A document's title belongs to what each of its chunks is found by, in words and in vectors, and not to what is quoted:
`chunks.text` stays a verbatim slice of the stored text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import Engine

from burnish.errors import InvalidInput, NotFound
from burnish.store.search_index import (
    NewChunk,
    NewDocument,
    ensure_collection,
    find_collection,
    lock_collection,
    remove_documents,
    stored_documents,
    write_documents,
)
from burnish.text.chunking import Chunk, split
from burnish.text.language import detect_language, search_config
from burnish.text.normalise import clean, fold, words
from burnish.world.documents import Document, UnreadableFile
from burnish.world.embeddings import Embedder, check_collection, check_dimension, vector_literal
from burnish.world.ingestion_intake import AS_A_RULE, MAX_ID_CHARACTERS, Cutting, content_hash, sift

GROUP_DOCUMENTS = 64
GROUP_CHARACTERS = 50_000
EMBED_BATCH = 32


@dataclass(frozen=True)
class IngestReport:
    """What became of the documents. failed: (source, reason) of each that was left out. chunks: written, in all."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    chunks: int = 0

    def __add__(self, other: IngestReport) -> IngestReport:
        return IngestReport(
            self.added + other.added,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.chunks + other.chunks,
        )


def ingest(
    database: Engine,
    embedder: Embedder,
    collection: str,
    documents: Iterable[Document | UnreadableFile],
    *,
    cutting: Cutting = AS_A_RULE,
    on_progress: Callable[[IngestReport], None] | None = None,
) -> IngestReport:
    """Store the documents in the collection, made at first use; a document replaces the one with its id.

    `on_progress` is given the report so far after each group. A document that cannot be used is reported and left out.
    Raises DimensionMismatch where the collection was embedded by another model, or the model breaks its promise; what
    the embedder raises passes through. Groups written before stay.
    """
    collection_id = _open(database, embedder, collection)
    report = IngestReport()
    for group in _groups(documents):
        report += _ingest_group(database, embedder, collection_id, group, cutting)
        if on_progress is not None:
            on_progress(report)
    return report


def delete_documents(database: Engine, collection: str, document_ids: Iterable[str]) -> int:
    """Delete documents by the ids they were ingested under, and say how many there were.

    Raises NotFound where there is no such collection.
    """
    with database.begin() as connection:
        found = find_collection(connection, collection)
        if found is None:
            raise NotFound(f"there is no collection {collection!r}")
        lock_collection(connection, found.id)
        stored = stored_documents(connection, found.id, document_ids, for_update=True)
        remove_documents(connection, found.id, [each.id for each in stored.values()])
    return len(stored)


def _open(database: Engine, embedder: Embedder, name: str) -> UUID:
    if not name.strip() or name != clean(name) or len(name) > MAX_ID_CHARACTERS:
        raise InvalidInput(f"a collection's name must be a text of 1 to {MAX_ID_CHARACTERS} printable characters")
    with database.begin() as connection:
        found = ensure_collection(connection, name, embedder.model, embedder.dimension)
        check_collection(name, found.embedding_model, found.dimension, embedder)
        return found.id


def _groups(documents: Iterable[Document | UnreadableFile]) -> Iterator[list[Document | UnreadableFile]]:
    """Consecutive documents, as many as are worth a transaction, no two with the same id."""
    group: list[Document | UnreadableFile] = []
    ids: set[str] = set()
    characters = 0
    for item in documents:
        key, size = (item.document_id, len(item.text)) if isinstance(item, Document) else ("", 0)
        if group and (key in ids or len(group) == GROUP_DOCUMENTS or characters + size > GROUP_CHARACTERS):
            yield group
            group, ids, characters = [], set[str](), 0
        group.append(item)
        characters += size
        if key:
            ids.add(key)
    if group:
        yield group


def _ingest_group(
    database: Engine,
    embedder: Embedder,
    collection_id: UUID,
    group: Sequence[Document | UnreadableFile],
    cutting: Cutting,
) -> IngestReport:
    usable, failed = sift(group)
    hashes = {each.document_id: content_hash(each, cutting) for each in usable}
    with database.begin() as connection:
        stored = stored_documents(connection, collection_id, hashes)
    changed = [
        document
        for document in usable
        if document.document_id not in stored
        or stored[document.document_id].content_hash != hashes[document.document_id]
    ]
    prepared = _prepare(embedder, changed, hashes, cutting)
    report = IngestReport(unchanged=len(usable) - len(changed), failed=failed)
    return report + _write(database, collection_id, prepared) if prepared else report


def _prepare(
    embedder: Embedder, documents: Sequence[Document], hashes: Mapping[str, str], cutting: Cutting
) -> list[NewDocument]:
    cut = [(document, _cut(document, cutting)) for document in documents]
    vectors = iter(_embed(embedder, [(document.title, chunk) for document, chunks in cut for chunk in chunks]))
    return [
        NewDocument(
            external_id=document.document_id,
            title=document.title,
            text=document.text,
            media_type=document.media_type,
            source=document.source,
            language=document.language,
            content_hash=hashes[document.document_id],
            details=document.metadata,
            chunks=tuple(replace(chunk, embedding=next(vectors)) for chunk in chunks),
        )
        for document, chunks in cut
    ]


def _cut(document: Document, cutting: Cutting) -> list[NewChunk]:
    parts = split(document.text, max_words=cutting.max_words, overlap_sentences=cutting.overlap_sentences)
    return [_chunk(document, part) for part in parts]


def _chunk(document: Document, part: Chunk) -> NewChunk:
    found = detect_language(part.text)
    language = document.language if found == "und" else found
    indexed = words(_with_title(document.title, part.text))
    return NewChunk(
        position=part.position,
        start=part.start,
        end=part.end,
        text=part.text,
        folded=" ".join(indexed),
        language=language,
        search_config=search_config(language),
        word_count=len(indexed),
        embedding=None,
    )


def _with_title(title: str, text: str) -> str:
    return text if fold(title) in fold(text) else f"{title}\n{text}"


def _embed(embedder: Embedder, chunks: Sequence[tuple[str, NewChunk]]) -> list[str | None]:
    """A vector for each chunk; None where the model does not know its language and would find it by chance."""
    known = [
        (index, _with_title(title, chunk.text))
        for index, (title, chunk) in enumerate(chunks)
        if embedder.languages is None or chunk.language in embedder.languages
    ]
    literals: list[str | None] = [None] * len(chunks)
    for start in range(0, len(known), EMBED_BATCH):
        batch = known[start : start + EMBED_BATCH]
        vectors = check_dimension(embedder.embed([text for _, text in batch], "passage"), len(batch), embedder)
        for (index, _), vector in zip(batch, vectors, strict=True):
            literals[index] = vector_literal(vector)
    return literals


def _write(database: Engine, collection_id: UUID, documents: Sequence[NewDocument]) -> IngestReport:
    """Store what is still news once we hold the lock: someone else may have stored the same meanwhile."""
    with database.begin() as connection:
        lock_collection(connection, collection_id)
        stored = stored_documents(
            connection, collection_id, [document.external_id for document in documents], for_update=True
        )
        news = [
            document
            for document in documents
            if document.external_id not in stored or stored[document.external_id].content_hash != document.content_hash
        ]
        write_documents(connection, collection_id, news, stored)
    updated = sum(document.external_id in stored for document in news)
    return IngestReport(
        added=len(news) - updated,
        updated=updated,
        unchanged=len(documents) - len(news),
        chunks=sum(len(document.chunks) for document in news),
    )

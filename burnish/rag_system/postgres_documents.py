"""From a document and its chunks to what Postgres stores: a text, and chunks that are slices of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from burnish.errors import InvalidInput
from burnish.rag_system.chunks import text_of
from burnish.rag_system.stores import ChunkedDocument
from burnish.store.search_index import NewChunk, NewDocument
from burnish.text.language import detect_language, search_config
from burnish.text.normalise import clean, fold, words
from burnish.text.storable import storable
from burnish.world.ingestion_intake import MAX_ID_CHARACTERS

BETWEEN = "\n\n"


def new_document(document: ChunkedDocument) -> NewDocument:
    """The document as it is stored, its vectors still missing.

    Raises InvalidInput for an id that cannot be stored, and for metadata that nest too deeply.
    """
    if document.doc_id != clean(document.doc_id) or not 0 < len(document.doc_id.strip()) <= MAX_ID_CHARACTERS:
        raise InvalidInput(f"a document's id must be a text of 1 to {MAX_ID_CHARACTERS} printable characters")
    pieces = [piece for chunk in document.chunks if (piece := clean(text_of(chunk))).strip()]
    text, spans = placed(clean(document.text), pieces)
    details: dict[str, Any] = storable(dict(document.metadata))
    title = " ".join(clean(str(details.get("title") or "")).split())
    language = detect_language(text)
    return NewDocument(
        external_id=document.doc_id,
        title=title,
        text=text,
        media_type="text/plain",
        source=clean(str(details.get("source") or "")),
        language=language,
        content_hash=_hash([title, text, pieces, details]),
        details=details,
        chunks=tuple(_chunk(place, span, text, title, language) for place, span in enumerate(spans)),
    )


def placed(text: str, pieces: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text with the span of each piece; where a piece is no slice of it, a text made of the pieces instead."""
    spans: list[tuple[int, int]] = []
    after = 0
    for piece in pieces:
        start = text.find(piece, after)
        if start < 0:
            return _joined(pieces)
        spans.append((start, start + len(piece)))
        after = start + 1
    return text, spans


def with_title(title: str, text: str) -> str:
    """What a chunk is found by: its text, with its document's title where that is no part of it."""
    return text if fold(title) in fold(text) else f"{title}\n{text}"


def with_vectors(document: NewDocument, vectors: Iterable[str | None]) -> NewDocument:
    chunks = zip(document.chunks, vectors, strict=True)
    return replace(document, chunks=tuple(replace(chunk, embedding=vector) for chunk, vector in chunks))


def _joined(pieces: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    spans: list[tuple[int, int]] = []
    start = 0
    for piece in pieces:
        spans.append((start, start + len(piece)))
        start += len(piece) + len(BETWEEN)
    return BETWEEN.join(pieces), spans


def _chunk(place: int, span: tuple[int, int], text: str, title: str, document_language: str) -> NewChunk:
    start, end = span
    found = detect_language(text[start:end])
    language = document_language if found == "und" else found
    indexed = words(with_title(title, text[start:end]))
    return NewChunk(
        position=place,
        start=start,
        end=end,
        text=text[start:end],
        folded=" ".join(indexed),
        language=language,
        search_config=search_config(language),
        word_count=len(indexed),
        embedding=None,
    )


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

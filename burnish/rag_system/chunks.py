"""Chunks, ours and anybody's: objects or mappings with a text, and perhaps an id, a document and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, TypeAlias, cast

from burnish.adapters.passages import FoundPassage, first_of, read_number
from burnish.text.normalise import text_hash

TEXT_NAMES = ("text", "content", "page_content")
DOCUMENT_NAMES = ("doc_id", "document_id")
CHUNK_NAMES = ("chunk_id", "id")
UNKNOWN = "unknown"

Scored: TypeAlias = tuple[Any, float]


@dataclass(frozen=True)
class DocumentChunk:
    """A piece of a document: `document_text[start:end] == text`, in characters, where these are known."""

    text: str
    doc_id: str
    chunk_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    start: int | None = None
    end: int | None = None


def text_of(chunk: Any) -> str:
    """The text of a chunk of any shape; "" where it has none."""
    return chunk if isinstance(chunk, str) else str(first_of(chunk, TEXT_NAMES, str) or "")


def document_id_of(chunk: Any) -> str | None:
    """The id of its document; None where it names none."""
    if isinstance(chunk, FoundPassage) and chunk.document_id == text_hash(chunk.text):
        return None  # a name that was made up for a passage that had none
    held = None if isinstance(chunk, str) else first_of(chunk, DOCUMENT_NAMES, str | int)
    return None if held is None else str(held)


def metadata_of(chunk: Any) -> Mapping[str, Any]:
    held = None if isinstance(chunk, str) else first_of(chunk, ("metadata",), Mapping)
    return cast("Mapping[str, Any]", held) if held else {}


def title_of(chunk: Any) -> str:
    return str(metadata_of(chunk).get("title") or first_of(metadata_of(chunk), ("source",), str) or "")


def identity_of(chunk: Any) -> tuple[str, str] | None:
    """(document, chunk), which names a chunk; None where either is missing: many number the chunks of each document."""
    held = None if isinstance(chunk, str) else first_of(chunk, CHUNK_NAMES, str | int)
    document_id = document_id_of(chunk)
    return None if held is None or held == "" or document_id is None else (document_id, str(held))


def content_key(chunk: Any) -> Any:
    """Equal for chunks that say the same, whatever their case, spacing and Arabic spelling."""
    text = text_of(chunk)
    return text_hash(text) if text.strip() else (identity_of(chunk) or id(chunk))


def as_document_chunk(chunk: Any, doc_id: str, position: int, metadata: Mapping[str, Any]) -> DocumentChunk:
    """The chunk as ours, in the document it was cut from; its own metadata go before those given."""
    identity = identity_of(chunk)
    start, end = (read_number(first_of(chunk, (name,), int)) for name in ("start", "end"))
    return DocumentChunk(
        text=text_of(chunk),
        doc_id=doc_id,
        chunk_id=identity[1] if identity else f"{doc_id}#{position}",
        metadata={**metadata, **metadata_of(chunk)},
        start=None if start is None else int(start),
        end=None if end is None else int(end),
    )


def with_metadata(chunk: Any, doc_id: str, position: int, metadata: Mapping[str, Any]) -> Any:
    """A chunk that a chunker gave, of its own kind where it can be, knowing its document's metadata.

    A bare text becomes a DocumentChunk. What a chunk says of itself stays; an object that can be told nothing stays as
    it is.
    """
    if isinstance(chunk, str):
        return DocumentChunk(chunk, doc_id, f"{doc_id}#{position}", dict(metadata))
    if not metadata or callable(chunk):
        return chunk
    merged = {**metadata, **metadata_of(chunk)}
    if isinstance(chunk, dict):
        return {**cast("dict[str, Any]", chunk), "metadata": merged}
    try:
        if is_dataclass(chunk) and hasattr(chunk, "metadata"):
            return replace(cast("Any", chunk), metadata=merged)
        cast("Any", chunk).metadata = merged
    except (AttributeError, TypeError, ValueError):
        pass
    return cast("Any", chunk)

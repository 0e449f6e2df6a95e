"""The chunker that comes with a RAG system."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from burnish.adapters.passages import first_of
from burnish.adapters.signatures import method_of
from burnish.errors import InvalidInput
from burnish.rag_system.chunks import TEXT_NAMES, DocumentChunk, with_metadata
from burnish.rag_system.config import RAGConfig, is_whole
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.errors import RAGInitializationError
from burnish.rag_system.options import names
from burnish.rag_system.stores import ChunkedDocument
from burnish.text.chunking import split

# `split` cuts no shorter than the longest stretch without a space that it keeps whole.
LEAST_CHARACTERS = 40
CHARACTERS_PER_WORD = 5
_SENTENCE: Final = re.compile(r"(?<=[.!?…؟؛۔])\s+|\n+")
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True)
class SentenceChunker:
    """Cuts a text at the ends of sentences; a chunk is a slice of the text and opens at a heading where there is one.

    chunk_size: characters of a chunk at most. overlap: those of the text before it that it may repeat at its head, from
    the start of a sentence, or else of a word. What is None here is taken from the RAGConfig of the system.
    """

    chunk_size: int | None = None
    overlap: int | None = None

    def __post_init__(self) -> None:
        size, overlap = _sizes(self.chunk_size, self.overlap, RAGConfig.overlap)
        if not is_whole(size, 1) or not is_whole(overlap, 0) or overlap >= size:
            raise InvalidInput("chunk_size must be above 0, and overlap 0 or more and smaller than it")

    def configured(self, config: RAGConfig) -> SentenceChunker:
        """The chunker, what it leaves open taken from the config."""
        if self.chunk_size is None:
            overlap = config.overlap if self.overlap is None else min(self.overlap, config.chunk_size // 2)
            return SentenceChunker(config.chunk_size, overlap)
        return SentenceChunker(*_sizes(self.chunk_size, self.overlap, config.overlap))

    def chunk_text(self, text: str, doc_id: str, metadata: Mapping[str, Any] | None = None) -> list[DocumentChunk]:
        size, overlap = _sizes(self.chunk_size, self.overlap, RAGConfig.overlap)
        most = max(LEAST_CHARACTERS, size - overlap)
        parts = split(text, max_words=max(1, most // CHARACTERS_PER_WORD), max_characters=most, overlap_sentences=0)
        starts = [_with_overlap(text, part.start, overlap) if part.position else part.start for part in parts]
        return [
            DocumentChunk(text[start : part.end], doc_id, f"{doc_id}#{part.position}", metadata or {}, start, part.end)
            for start, part in zip(starts, parts, strict=True)
        ]


def cut(chunker: Any, config: RAGConfig, document: LoadedDocument) -> ChunkedDocument:
    """The document with its chunks, by anybody's chunker: `chunk_text` or `chunk` of (text, doc_id), or `split_text`.

    The chunks know the document's metadata. What is empty is left out. Raises whatever the chunker raises.
    """
    doc_id = str(document.doc_id)
    made = list(chunk_function(chunker, config)(document.page_content, doc_id, document.metadata))
    named = (with_metadata(chunk, doc_id, place, document.metadata) for place, chunk in enumerate(made))
    chunks = tuple(chunk for chunk in named if not _is_blank(chunk))
    return ChunkedDocument(doc_id, document.page_content, chunks, document.metadata)


def chunk_function(chunker: Any, config: RAGConfig) -> Callable[[str, str, Mapping[str, Any]], Iterable[Any]]:
    """The chunker as a function of a text, its document's id and metadata. Raises RAGInitializationError."""
    if isinstance(chunker, SentenceChunker):
        return chunker.configured(config).chunk_text
    function = method_of(chunker, ("chunk_text", "chunk"))
    if function is not None:
        takes_metadata = names(function, "metadata")
        return lambda text, doc_id, metadata: function(
            text, doc_id, **({"metadata": dict(metadata)} if takes_metadata else {})
        )
    splitter: Any = method_of(chunker, ("split_text",)) or chunker
    if not callable(splitter):
        raise RAGInitializationError(f"{type(chunker).__name__} has no method chunk_text, chunk or split_text")
    plain = cast("Callable[[str], Iterable[Any]]", splitter)
    return lambda text, _doc_id, _metadata: plain(text)


def _sizes(chunk_size: int | None, overlap: int | None, usual_overlap: int) -> tuple[int, int]:
    """Both sizes; an overlap that nobody chose for this size is no more than a quarter of it."""
    size = RAGConfig.chunk_size if chunk_size is None else chunk_size
    return size, (min(usual_overlap, size // 4) if overlap is None else overlap)


def _is_blank(chunk: Any) -> bool:
    held = first_of(chunk, TEXT_NAMES)
    return isinstance(held, str) and not held.strip()


def _with_overlap(text: str, start: int, overlap: int) -> int:
    """Where a chunk begins that repeats up to `overlap` characters before its own start; a heading repeats none."""
    least = max(0, start - overlap)
    before = text[least:start]
    if not before.strip() or text.startswith("#", start):
        return start
    if least == 0 or text[least - 1].isspace():
        return least + len(before) - len(before.lstrip())
    places = (match.end() for pattern in (_SENTENCE, _SPACE) for match in pattern.finditer(before))
    return least + next((place for place in places if before[place:].strip()), len(before))

"""Which documents can be stored, in what form, and whether one has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from burnish.errors import InvalidInput
from burnish.text.chunking import MAX_WORDS
from burnish.text.language import detect_language
from burnish.text.normalise import clean
from burnish.text.storable import storable
from burnish.world.documents import Document, UnreadableFile

MAX_ID_CHARACTERS = 500


@dataclass(frozen=True)
class Cutting:
    """How documents are cut. Another cutting counts as a change: the document is cut and embedded anew."""

    max_words: int = MAX_WORDS
    overlap_sentences: int = 1


AS_A_RULE = Cutting()


def sift(group: Iterable[Document | UnreadableFile]) -> tuple[list[Document], tuple[tuple[str, str], ...]]:
    """The documents as they can be stored, and (source, reason) of those that cannot."""
    usable: list[Document] = []
    failed: list[tuple[str, str]] = []
    for item in group:
        if isinstance(item, UnreadableFile):
            failed.append((item.source, item.reason))
            continue
        try:
            usable.append(_storable(item))
        except InvalidInput as error:
            failed.append((item.source or item.document_id, str(error)))
    return usable, tuple(failed)


def content_hash(document: Document, cutting: Cutting) -> str:
    """Where a document was read from is left out: the same content from another place is the same document."""
    content = [document.title, document.text, document.language, document.metadata, vars(cutting)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _storable(document: Document) -> Document:
    document_id, text = clean(document.document_id), clean(document.text)
    if not document_id.strip() or len(document_id) > MAX_ID_CHARACTERS:
        raise InvalidInput(f"its id must have 1 to {MAX_ID_CHARACTERS} characters")
    if not text.strip():
        raise InvalidInput("there is no text in it")
    return replace(
        document,
        document_id=document_id,
        title=" ".join(clean(document.title).split()),
        text=text,
        source=clean(document.source),
        language=detect_language(text) if document.language == "und" else document.language,
        metadata=storable(document.metadata),
    )

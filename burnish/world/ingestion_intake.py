"""Which documents can be stored, in what form, and whether one has changed since."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from burnish.text.chunking import MAX_WORDS
from burnish.text.language import detect_language
from burnish.text.normalise import clean
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
        document = _storable(item)
        if reason := _why_unusable(document):
            failed.append((document.source or document.document_id, reason))
        else:
            usable.append(document)
    return usable, tuple(failed)


def content_hash(document: Document, cutting: Cutting) -> str:
    """Where a document was read from is left out: the same content from another place is the same document."""
    content = [document.title, document.text, document.language, document.metadata, vars(cutting)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _storable(document: Document) -> Document:
    text = clean(document.text)
    return replace(
        document,
        document_id=clean(document.document_id),
        title=" ".join(clean(document.title).split()),
        text=text,
        source=clean(document.source),
        language=detect_language(text) if document.language == "und" else document.language,
        metadata=_storable_value(document.metadata),
    )


def _storable_value(value: Any) -> Any:
    """The value as Postgres can keep it in JSON: no NUL, no NaN, no objects."""
    match value:
        case str():
            return clean(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case None | bool() | int():
            return value
        case Mapping():
            items = cast("Mapping[Any, Any]", value).items()
            return {clean(str(key)): _storable_value(inner) for key, inner in items}
        case list() | tuple():
            return [_storable_value(inner) for inner in cast("Sequence[Any]", value)]
        case _:
            return clean(str(value))


def _why_unusable(document: Document) -> str | None:
    if not document.document_id.strip() or len(document.document_id) > MAX_ID_CHARACTERS:
        return f"its id must have 1 to {MAX_ID_CHARACTERS} characters"
    return None if document.text.strip() else "there is no text in it"

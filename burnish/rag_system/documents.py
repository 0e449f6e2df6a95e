"""Documents as they are handed to a RAG system, in whichever form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from uuid import uuid4

from burnish.errors import InvalidInput

PREVIEW_CHARACTERS = 80


@dataclass
class LoadedDocument:
    """A document ready to be ingested. Without an id it is given one of its own, whatever else has the same text."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    doc_id: str | None = None

    def __post_init__(self) -> None:
        if not self.doc_id:
            content = str(self.page_content).encode("utf-8", "surrogatepass")
            self.doc_id = unique_id("doc_" + hashlib.sha256(content).hexdigest()[:8])

    def to_dict(self) -> dict[str, Any]:
        return {"doc_id": self.doc_id, "page_content": self.page_content, "metadata": self.metadata}

    def __repr__(self) -> str:
        preview = str(self.page_content)[:PREVIEW_CHARACTERS].replace("\n", " ").replace("\r", " ")
        return f"LoadedDocument(doc_id={self.doc_id!r}, preview={preview!r}...)"


Documents: TypeAlias = Iterable[LoadedDocument] | Mapping[str, str]


def unique_id(prefix: str) -> str:
    return f"{prefix}_{uuid4().hex[:12]}"


def documents_of(docs: Documents | LoadedDocument) -> list[LoadedDocument]:
    """The documents of a list, or of a mapping of texts by their ids. Raises InvalidInput for anything else."""
    if isinstance(docs, LoadedDocument):
        return [docs]
    if isinstance(docs, Mapping):
        texts = cast("Mapping[str, str]", docs)
        return [LoadedDocument(page_content=text, doc_id=str(doc_id)) for doc_id, text in texts.items()]
    if isinstance(docs, str | bytes):
        raise InvalidInput(
            "add_documents takes a list of LoadedDocument or a dict of texts by id; add_text takes a text"
        )
    listed = list(docs)
    for item in listed:
        if not isinstance(item, LoadedDocument):  # pyright: ignore[reportUnnecessaryIsInstance] it comes from outside
            raise InvalidInput(
                f"add_documents takes a list of LoadedDocument or a dict of texts by id, not a list of "
                f"{type(item).__name__}"
            )
    return listed

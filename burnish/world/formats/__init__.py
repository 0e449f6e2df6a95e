"""Reading one file's bytes into text: one module for each kind of file, chosen here.

Every reader takes the bytes and the most characters it may give back, and raises UnreadableDocument with a reason that
says what to do. The libraries they need are imported only when a file of their kind is met.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from burnish.errors import UnreadableDocument
from burnish.world.formats.content import Content

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
JSON_LINES = "application/jsonl"

_BY_SUFFIX: Final = {
    ".txt": PLAIN,
    ".text": PLAIN,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".html": HTML,
    ".htm": HTML,
    ".pdf": PDF,
    ".docx": WORD,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
}
_ALIASES: Final = {
    "application/x-ndjson": JSON_LINES,
    "application/x-jsonlines": JSON_LINES,
    "application/jsonlines": JSON_LINES,
    "application/xhtml+xml": HTML,
    "text/x-markdown": MARKDOWN,
}
_KNOWN: Final = frozenset(_BY_SUFFIX.values())


def media_type_of(name: str, declared: str | None = None) -> str:
    """The media type that a file's name says, or else the declared one; raises UnreadableDocument if it is not read.

    The name goes first, since browsers and tools declare many types as application/octet-stream or text/plain.
    """
    essence = (declared or "").partition(";")[0].strip().lower()
    essence = _ALIASES.get(essence, essence)
    suffix = PurePosixPath(name).suffix.lower()
    found = _BY_SUFFIX.get(suffix) or (essence if essence in _KNOWN else None)
    if found is None:
        kind = suffix or essence or "no suffix"
        raise UnreadableDocument(f"unknown kind of file ({kind}): burnish reads {', '.join(sorted(_BY_SUFFIX))}")
    return found


def extract(data: bytes, media_type: str, max_characters: int) -> Content:
    """What a file of one document says. `media_type` is one that `media_type_of` gives, and not JSON_LINES."""
    match media_type:
        case "application/pdf":
            from burnish.world.formats.pdf import read_pdf as read
        case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
            from burnish.world.formats.word import read_word as read
        case "text/html":
            from burnish.world.formats.web import read_html as read
        case "text/markdown":
            from burnish.world.formats.plain import read_markdown as read
        case _:
            from burnish.world.formats.plain import read_plain as read
    return read(data, max_characters)

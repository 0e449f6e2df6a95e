"""One document a line: {"id", "text", "title", "language", "metadata"}, of which only the text is needed.

"doc_id" and "document_id" are read for "id", "content" for "text", "lang" for "language". Other keys are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast

from burnish.errors import UnreadableDocument
from burnish.text.normalise import clean

_HOPELESS = 20
_LANGUAGE_LENGTHS: Final = (2, 3)


@dataclass(frozen=True)
class Record:
    """What a line holds. `document_id` and `language` are None where it does not say."""

    line: int
    document_id: str | None
    text: str
    title: str
    language: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class BadLine:
    line: int
    reason: str


def read_records(file: IO[bytes], max_bytes: int) -> Iterator[Record | BadLine]:
    """The record of each line that is not blank; lines count from 1.

    A file whose first 20 lines are all bad is some other kind of file, and is not read further.
    """
    bad, good = 0, False
    for number, line in _numbered_lines(file, max_bytes):
        read = _record(number, line, max_bytes)
        yield read
        good = good or isinstance(read, Record)
        bad += isinstance(read, BadLine)
        if bad == _HOPELESS and not good:
            yield BadLine(number, f"none of the first {bad} lines is a document: the rest of the file was not read")
            return


def _numbered_lines(file: IO[bytes], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines, one that is too long as far as `max_bytes` + 1, without holding the rest of it in memory."""
    number = 0
    while line := file.readline(max_bytes + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line
        while line and not line.endswith(b"\n"):
            line = file.readline(max_bytes + 1)


def _record(number: int, line: bytes, max_bytes: int) -> Record | BadLine:
    try:
        if len(line) > max_bytes:
            raise UnreadableDocument(
                f"the line has more than {max_bytes:,} bytes: split the document, or raise the limit"
            )
        return _from_object(number, _object(line))
    except UnreadableDocument as error:
        return BadLine(number, str(error))


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise UnreadableDocument("the line is not UTF-8: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnreadableDocument(f"the line is not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, RecursionError):
        raise UnreadableDocument(
            "the line is JSON beyond what can be read: it nests too deeply, or a number is too long"
        ) from None
    if not isinstance(value, dict):
        raise UnreadableDocument('the line is not a JSON object: write {"id": ..., "text": ...} on each line')
    return cast("dict[str, Any]", value)


def _from_object(number: int, value: Mapping[str, Any]) -> Record:
    text = clean(_string(value, "text", "content") or "")
    if not text.strip():
        raise UnreadableDocument('the line has no text: give it a "text" (or "content") that is not empty')
    metadata: Any = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise UnreadableDocument('"metadata" must be a JSON object')
    language = _string(value, "language", "lang")
    return Record(
        line=number,
        document_id=clean(_string(value, "id", "doc_id", "document_id") or "").strip() or None,
        text=text,
        title=clean(_string(value, "title") or "").strip(),
        language=language.lower() if language and len(language) in _LANGUAGE_LENGTHS else None,
        metadata=cast("dict[str, Any]", metadata),
    )


def _string(value: Mapping[str, Any], *keys: str) -> str | None:
    """The first of the keys that is there and not null; whole numbers are taken as they are written."""
    key = next((key for key in keys if value.get(key) is not None), None)
    if key is None:
        return None
    found = value[key]
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise UnreadableDocument(f'"{key}" must be a string')
    return str(found)

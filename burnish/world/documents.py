"""Files into documents: one file, a folder of them, or uploaded bytes.

A bad file, or a bad line of a JSONL file, is told of with a reason and the rest goes on: reading yields a Document or
an UnreadableFile for each. Every text passes `clean`, so what is stored is what offsets count in.

A folder is read with the folders in it, in the order of their names. Hidden files and what desktop programs leave
behind are passed over, and so are links to folders, whose files are met in their own place. A link that leads out of
the folder is not followed: in a folder that came from elsewhere it could point at anything on this machine.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.errors import UnreadableDocument
from burnish.text.language import detect_language
from burnish.text.normalise import clean
from burnish.world.formats import JSON_LINES, extract, media_type_of
from burnish.world.formats.json_lines import BadLine, Record, read_records

MAX_MEGABYTES = 50.0
_PASSED_OVER = (".", "~$", "__MACOSX")
_EMPTY = "it is empty: there is nothing to read in it"


@dataclass(frozen=True)
class Document:
    """A text to answer from. `document_id` names it within a collection, `source` says where it was read.

    language: ISO 639-1, or "und". metadata: what the file says about itself; values are those that JSON knows.
    """

    document_id: str
    title: str
    text: str
    media_type: str = "text/plain"
    source: str = ""
    language: str = "und"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class UnreadableFile:
    """A file, or `file:line`, that gave no document; `reason` says why and what to do."""

    source: str
    reason: str


def read_path(path: Path | str, *, max_megabytes: float = MAX_MEGABYTES) -> Iterator[Document | UnreadableFile]:
    """The documents of a file, or of a folder with the folders in it, one after the other.

    A document's id is its path within the folder with forward slashes, or the name of a single file; for a JSONL line
    its own id, or else `<file>#<line>`. `max_megabytes` bounds a file, or a line of a JSONL file, which is a document.
    """
    root = Path(path)
    if root.is_dir():
        for name, file in _files(root):
            yield from _read_file(file, name, max_megabytes) if isinstance(file, Path) else [file]
    else:
        yield from _read_file(root, _printable(root.name), max_megabytes)


def read_bytes(
    data: bytes, name: str, media_type: str | None = None, *, max_megabytes: float = MAX_MEGABYTES
) -> list[Document | UnreadableFile]:
    """The documents in a file that was sent to us under this name; the name's suffix goes before `media_type`.

    Ids are those of `read_path`, with `name` in the place of the path.
    """
    name = _printable(name)
    try:
        kind = media_type_of(name, media_type)
        if kind == JSON_LINES:
            return list(_from_records(read_records(BytesIO(data), _bytes(max_megabytes)), name))
        return [_document(data, name, kind, max_megabytes)]
    except UnreadableDocument as error:
        return [UnreadableFile(name, str(error))]


def _read_file(file: Path, name: str, max_megabytes: float) -> Iterator[Document | UnreadableFile]:
    try:
        kind = media_type_of(name)
        if not stat.S_ISREG(file.stat().st_mode):
            raise UnreadableDocument("it is a device or a pipe: only ordinary files are read")
        if kind == JSON_LINES:
            with file.open("rb") as lines:
                yield from _from_records(read_records(lines, _bytes(max_megabytes)), name)
        else:
            _check_size(file.stat().st_size, max_megabytes)
            yield _document(file.read_bytes(), name, kind, max_megabytes)
    except UnreadableDocument as error:
        yield UnreadableFile(name, str(error))
    except OSError as error:
        yield UnreadableFile(name, _not_opened(error))


def _document(data: bytes, name: str, kind: str, max_megabytes: float) -> Document:
    _check_size(len(data), max_megabytes)
    content = extract(data, kind, _bytes(max_megabytes)) if data.strip() else None
    if content is None or not content.text.strip():
        raise UnreadableDocument(_EMPTY)
    title = content.title or PurePosixPath(name).stem
    return Document(name, title, content.text, kind, name, detect_language(content.text), content.metadata)


def _from_records(records: Iterator[Record | BadLine], name: str) -> Iterator[Document | UnreadableFile]:
    nothing = True
    for record in records:
        nothing = False
        source = f"{name}:{record.line}"
        if isinstance(record, BadLine):
            yield UnreadableFile(source, record.reason)
        else:
            yield Document(
                document_id=record.document_id or f"{name}#{record.line}",
                title=record.title,
                text=record.text,
                media_type=JSON_LINES,
                source=source,
                language=record.language or detect_language(record.text),
                metadata=record.metadata,
            )
    if nothing:
        yield UnreadableFile(name, _EMPTY)


def _files(folder: Path) -> Iterator[tuple[str, Path | UnreadableFile]]:
    """The name of each file of a folder, and the file or why it is not read."""
    root = Path(os.path.realpath(folder))
    pending = [root]
    while pending:
        path = pending.pop()
        name = _printable(path.relative_to(root).as_posix())
        try:
            if path.is_symlink() and not Path(os.path.realpath(path, strict=True)).is_relative_to(root):
                yield name, UnreadableFile(name, "it is a link that leads out of the folder: copy the file in instead")
            elif not path.is_dir():
                yield name, path
            elif not path.is_symlink():
                pending.extend(_entries(path))
        except OSError as error:
            yield name, UnreadableFile(name, _not_opened(error))


def _entries(folder: Path) -> list[Path]:
    """What the folder holds, the last name first."""
    return sorted((path for path in folder.iterdir() if not path.name.startswith(_PASSED_OVER)), reverse=True)


def _printable(name: str) -> str:
    """A file name as it can be stored: names on disk may hold bytes that are no text."""
    return clean(name.encode("utf-8", "backslashreplace").decode("utf-8"))


def _not_opened(error: OSError) -> str:
    return f"it cannot be opened: {error.strerror or type(error).__name__}"


def _check_size(size: int, max_megabytes: float) -> None:
    if size > _bytes(max_megabytes):
        raise UnreadableDocument(
            f"it has {size / 1e6:.1f} MB and the limit is {max_megabytes:g}: split it, or raise the limit"
        )


def _bytes(megabytes: float) -> int:
    return int(megabytes * 1e6)

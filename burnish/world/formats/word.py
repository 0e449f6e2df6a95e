from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Final

import docx
from docx.document import Document as WordDocument
from docx.table import Table
from docx.text.paragraph import Paragraph

from burnish.errors import UnreadableDocument
from burnish.text.normalise import clean
from burnish.world.formats.content import Content, check_length

_OLD_OFFICE_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BYTES_PER_CHARACTER = 4  # what an honest file may unpack to for each character that may be read from it
_HEADING_STYLE: Final = re.compile(r"Heading ([1-6])")


def read_word(data: bytes, max_characters: int) -> Content:
    """Paragraphs and tables in their order; headers, footers, notes and text boxes are left out."""
    if data.startswith(_OLD_OFFICE_FILE):
        raise UnreadableDocument("it is locked with a password or an old .doc: save a copy as .docx without a password")
    try:
        _refuse_bombs(data, max_characters)
        document = docx.Document(BytesIO(data))
        text = clean("\n\n".join(_blocks(document)))
        title = document.core_properties.title
    except UnreadableDocument:
        raise
    except Exception as error:  # a damaged file makes the zip and XML readers raise whatever its bytes lead to
        raise UnreadableDocument(
            f"the Word file is damaged ({type(error).__name__}): open it in a word processor and save it again"
        ) from error
    if not text.strip():
        raise UnreadableDocument("the Word file holds no text, only images perhaps: there is nothing to read in it")
    check_length(len(text), max_characters)
    return Content(text, clean(title).strip() or None)


def _refuse_bombs(data: bytes, max_characters: int) -> None:
    """Look at the sizes that the archive states before anything is unpacked; zipfile reads no further than these."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    check_length(unpacked // _BYTES_PER_CHARACTER, max_characters)


def _blocks(document: WordDocument) -> Iterator[str]:
    for block in document.iter_inner_content():
        text = _paragraph(block) if isinstance(block, Paragraph) else "\n".join(_rows(block))
        if text.strip():
            yield text


def _paragraph(paragraph: Paragraph) -> str:
    style = (paragraph.style.name if paragraph.style is not None else None) or ""
    text = paragraph.text.strip()
    if not text:
        return ""
    if heading := _HEADING_STYLE.fullmatch(style):
        return "#" * int(heading[1]) + " " + " ".join(text.split())
    if style == "Title":
        return "# " + " ".join(text.split())
    return f"- {text}" if style.startswith("List") else text


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = dict.fromkeys(row.cells)  # a merged cell is given once for each column it spans
        yield " | ".join(" ".join(cell.text.split()) for cell in cells)

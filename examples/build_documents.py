"""Write the PDF and DOCX files of the example corpus from their sources.

A source is a text file under `sources/`; what it becomes stands under `corpus/` by the same name without the last
`.md`, so `sources/board/minutes.pdf.md` becomes `corpus/board/minutes.pdf`. It is written in five kinds of block,
with an empty line between them:

    # The title            ## A heading            | a cell | another |   (one row a line)            ---   (new page)

and everything else is a paragraph. Equal sources give equal bytes: no clock is read, and the members of a DOCX bear
one fixed date. PDFs are set in the standard font Helvetica, whose encoding is Latin, so their sources are in English.
"""

from __future__ import annotations

import argparse
import io
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import docx
from docx.document import Document
from docx.oxml.parser import OxmlElement  # pyright: ignore[reportUnknownVariableType]  # python-docx types it in part
from docx.styles.style import ParagraphStyle

HERE = Path(__file__).parent
PUBLISHER = "Nawras Foundation for Museums and Libraries"
ZIP_DATE = (2025, 1, 1, 0, 0, 0)

PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 595, 842, 64
SIZES = {"title": 18, "heading": 13, "paragraph": 11, "table": 11}
"""Font sizes in points."""
GLYPH_WIDTH = 0.5
"""Helvetica's mean glyph width in English text, as a share of the font size."""


@dataclass(frozen=True)
class Block:
    """One block of a source; `rows` are the cells of a table."""

    kind: Literal["title", "heading", "paragraph", "table", "page_break"]
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of a PDF page; `gap` is the distance from the line above, in points."""

    text: str
    size: int
    bold: bool
    gap: int


def parse(source: str) -> tuple[Block, ...]:
    """Read a source into blocks; the lines of a paragraph are joined by spaces."""
    return tuple(_block(part.strip()) for part in source.strip().split("\n\n"))


def _block(part: str) -> Block:
    if part == "---":
        return Block("page_break")
    if part.startswith("|"):
        return Block("table", rows=tuple(_cells(line) for line in part.splitlines()))
    if part.startswith("## "):
        return Block("heading", part[3:])
    if part.startswith("# "):
        return Block("title", part[2:])
    return Block("paragraph", " ".join(part.split()))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def title_of(blocks: tuple[Block, ...]) -> str:
    return next(block.text for block in blocks if block.kind == "title")


def render_pdf(blocks: tuple[Block, ...]) -> bytes:
    """Set English blocks as a PDF 1.4 file, one or more A4 pages of real text."""
    pages = [_content(lines) for lines in _paginate(blocks)]
    info = f"<< /Title ({_escape(title_of(blocks))}) /Author ({PUBLISHER}) >>"
    kids = " ".join(f"{6 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _font("Helvetica"),
        _font("Helvetica-Bold"),
        info.encode("cp1252"),
    ]
    for index, content in enumerate(pages):
        objects += [_page(contents=7 + 2 * index), _stream(content)]
    return _assemble(objects)


def _paginate(blocks: tuple[Block, ...]) -> list[list[Line]]:
    pages: list[list[Line]] = [[]]
    height = 0
    for block in blocks:
        for line in _lines(block):
            height += line.gap
            if height > PAGE_HEIGHT - 2 * MARGIN:
                pages.append([])
                height = line.gap
            pages[-1].append(line)
        if block.kind == "page_break":
            pages.append([])
            height = 0
    return pages


def _lines(block: Block) -> Iterator[Line]:
    if block.kind == "page_break":
        return
    size = SIZES[block.kind]
    columns = int((PAGE_WIDTH - 2 * MARGIN) / (size * GLYPH_WIDTH))
    texts = [", ".join(row) for row in block.rows] or textwrap.wrap(block.text, columns, break_on_hyphens=False)
    for index, text in enumerate(texts):
        gap = round(size * 1.4) if index else size * 2
        yield Line(text, size, bold=block.kind in ("title", "heading"), gap=gap)


def _content(lines: list[Line]) -> bytes:
    start = f"BT 1 0 0 1 {MARGIN} {PAGE_HEIGHT - MARGIN} Tm"
    shown = (f"/F{2 if line.bold else 1} {line.size} Tf 0 -{line.gap} Td ({_escape(line.text)}) Tj" for line in lines)
    return "\n".join((start, *shown, "ET")).encode("cp1252")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _page(contents: int) -> bytes:
    resources = "<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
    box = f"[0 0 {PAGE_WIDTH} {PAGE_HEIGHT}]"
    return f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Resources {resources} /Contents {contents} 0 R >>".encode()


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content)


def _assemble(objects: list[bytes]) -> bytes:
    """Number the objects from 1, and add the table of their byte offsets (ISO 32000-1, section 7.5)."""
    file = io.BytesIO()
    file.write(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(file.tell())
        file.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    table_at = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    file.write(b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\n" % (len(objects) + 1))
    file.write(b"startxref\n%d\n%%%%EOF\n" % table_at)
    return file.getvalue()


def render_docx(blocks: tuple[Block, ...], language: str) -> bytes:
    """Set blocks as a Word document; `language` "ar" sets it from right to left."""
    document = docx.Document()
    document.core_properties.title = title_of(blocks)
    document.core_properties.author = PUBLISHER
    document.core_properties.language = language
    if language == "ar":
        _set_right_to_left(document)
    _fill(document, blocks)
    file = io.BytesIO()
    document.save(file)
    return _with_fixed_dates(file.getvalue())


def _set_right_to_left(document: Document) -> None:
    normal = document.styles["Normal"]
    assert isinstance(normal, ParagraphStyle)
    normal.font.rtl = True
    # python-docx has no property for the direction of a paragraph, and declares no type for its elements.
    normal.element.get_or_add_pPr().append(OxmlElement("w:bidi"))  # pyright: ignore[reportUnknownMemberType]


def _fill(document: Document, blocks: tuple[Block, ...]) -> None:
    for block in blocks:
        match block.kind:
            case "title":
                document.add_heading(block.text, level=1)
            case "heading":
                document.add_heading(block.text, level=2)
            case "paragraph":
                document.add_paragraph(block.text)
            case "table":
                _add_table(document, block.rows)
            case "page_break":
                document.add_page_break()


def _add_table(document: Document, rows: tuple[tuple[str, ...], ...]) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text


def _with_fixed_dates(archive: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, ZIP_DATE), old.read(name), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def render(name: str, source: str) -> bytes:
    """The bytes of the document called `name`, whose suffix says the format."""
    blocks = parse(source)
    if name.endswith(".pdf"):
        return render_pdf(blocks)
    return render_docx(blocks, "ar" if name.endswith(".ar.docx") else "en")


def build(sources: Path, corpus: Path) -> None:
    """Write the document of every source under `corpus`, in place of what stands there."""
    for source in sorted(sources.rglob("*.md")):
        target = corpus / source.relative_to(sources).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(render(target.name, source.read_text(encoding="utf-8")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the PDF and DOCX files of the example corpus.")
    parser.add_argument("--corpus", type=Path, default=HERE / "corpus", help="folder to write to")
    build(HERE / "sources", parser.parse_args().corpus)

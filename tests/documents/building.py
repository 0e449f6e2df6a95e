"""Files as their makers write them, small."""

from __future__ import annotations

import zipfile
from io import BytesIO

import docx
from pypdf import PdfReader, PdfWriter


def pdf(*pages: str, title: str | None = None, password: str | None = None, owner_password: str | None = None) -> bytes:
    """A PDF with one line of ASCII text on each page."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    font = 3 + 2 * len(pages)
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    for n, line in enumerate(pages):
        content = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET" if line else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * n} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    plain = _assemble(objects)
    return _rewritten(plain, title, password, owner_password) if title or password or owner_password else plain


def _assemble(objects: list[str]) -> bytes:
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def _rewritten(plain: bytes, title: str | None, password: str | None, owner_password: str | None) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(plain)))
    if title:
        writer.add_metadata({"/Title": title})
    if password or owner_password:
        writer.encrypt(password or "", owner_password, algorithm="AES-256")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def word(*, title: str = "", table: bool = False) -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Opening hours", level=2)
    document.add_paragraph("The library opens at nine.")
    document.add_paragraph("Closed on Friday", style="List Bullet")
    if table:
        cells = document.add_table(rows=2, cols=3).rows
        for n, text in enumerate(["Day", "From", "To"]):
            cells[0].cells[n].text = text
        cells[1].cells[0].text = "Monday"
        cells[1].cells[1].merge(cells[1].cells[2]).text = "all day"
    document.add_paragraph("تفتح المكتبة في التاسعة.")
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def empty_word() -> bytes:
    out = BytesIO()
    docx.Document().save(out)
    return out.getvalue()


def word_bomb(megabytes: int) -> bytes:
    """A Word file whose text part unpacks to this much of one letter."""
    honest = zipfile.ZipFile(BytesIO(word()))
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bomb:
        for name in honest.namelist():
            bomb.writestr(name, b"a" * megabytes * 1_000_000 if name == "word/document.xml" else honest.read(name))
    return out.getvalue()

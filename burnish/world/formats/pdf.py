from __future__ import annotations

from io import BytesIO

from pypdf import PdfReader

from burnish.errors import UnreadableDocument
from burnish.text.normalise import clean
from burnish.world.formats.content import Content, check_length


def read_pdf(data: bytes, max_characters: int) -> Content:
    """The text of the pages in their order, a blank line between two."""
    try:
        reader = PdfReader(BytesIO(data))
        _unlock(reader)
        pages = _page_texts(reader, max_characters)
        title = reader.metadata.title if reader.metadata else None
    except UnreadableDocument:
        raise
    except Exception as error:  # a damaged PDF makes pypdf raise whatever its bytes lead to
        raise UnreadableDocument(
            f"the PDF is damaged ({type(error).__name__}): open it in a viewer and print it into a new PDF"
        ) from error
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise UnreadableDocument("the PDF holds no text, only images perhaps: run text recognition (OCR) over it first")
    return Content(text, clean(title or "").strip() or None, {"pages": len(pages)})


def _unlock(reader: PdfReader) -> None:
    """Open a PDF that only restricts printing or copying; its user password is empty."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocument("the PDF is locked with a password: save a copy without one")


def _page_texts(reader: PdfReader, max_characters: int) -> list[str]:
    texts: list[str] = []
    length = 0
    for page in reader.pages:
        texts.append(clean(page.extract_text()).strip())
        length += len(texts[-1])
        check_length(length, max_characters)
    return texts

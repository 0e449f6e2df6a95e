from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup, ParserRejectedMarkup, Tag, XMLParsedAsHTMLWarning
from bs4.element import PageElement, PreformattedString

from burnish.errors import UnreadableDocument
from burnish.text.normalise import clean
from burnish.world.formats.content import Content, check_length
from burnish.world.formats.encoding import decode

_UNREAD = frozenset({"script", "style", "nav", "noscript", "template", "svg", "iframe", "head"})
_HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
# Noncharacters, which `clean` takes out of documents, stand for breaks until all white space has been squeezed.
_BLOCK, _LINE, _CELL = "\ufdd0", "\ufdd1", "\ufdd2"
_BLOCKS = """
h1 h2 h3 h4 h5 h6 p div section article main header footer aside ul ol dl table blockquote pre figure form
"""
_MARKS: Final = {
    **dict.fromkeys(_BLOCKS.split(), (_BLOCK, _BLOCK)),
    **{name: (_BLOCK + prefix, _BLOCK) for name, prefix in _HEADINGS.items()},
    **dict.fromkeys(("tr", "dt", "dd", "option", "caption", "figcaption"), (_LINE, _LINE)),
    **dict.fromkeys(("td", "th"), ("", _CELL)),
    "li": (_LINE + "- ", _LINE),
    "br": (_LINE, ""),
}
# The look-behinds keep these linear in a long run of spaces.
_BLOCK_BREAK: Final = re.compile(f"(?<![\\s{_LINE}])[\\s{_LINE}]*{_BLOCK}[\\s{_BLOCK}{_LINE}]*")
_LINE_BREAK: Final = re.compile(f"(?<!\\s)\\s*{_LINE}[\\s{_LINE}]*")
_CELL_BREAK: Final = re.compile(f"(?<! ) *{_CELL} *")
_SPACES: Final = re.compile(r"\s+")
_DECLARED: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)


def read_html(data: bytes, max_characters: int) -> Content:
    """The text that a reader of the page sees, without scripts, styles and navigation."""
    text, encoding = _decode(data)
    check_length(len(text), max_characters)
    page = _parse(clean(text))
    visible = _visible_text(page)
    if not visible:
        raise UnreadableDocument("the page holds no text: if a script fills it in, save it from a browser as displayed")
    title = _text_of(page.title) or _text_of(page.h1)
    return Content(visible, title, {} if encoding == "utf-8" else {"encoding": encoding})


def _parse(text: str) -> BeautifulSoup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        try:
            return BeautifulSoup(text, "lxml")  # the parser of the standard library needs minutes for some broken pages
        except ParserRejectedMarkup as error:
            raise UnreadableDocument("the HTML is damaged: open it in a browser and save the page again") from error


def _decode(data: bytes) -> tuple[str, str]:
    """The encoding that the page declares counts only where the bytes are not plainly something else."""
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        declared = _DECLARED.search(data[:4096])
    if declared is None:
        return decode(data)
    name = declared[1].decode("ascii")
    try:
        return data.decode(name), name.lower()
    except (LookupError, UnicodeError):
        return decode(data)


def _text_of(tag: Tag | None) -> str | None:
    return (" ".join(tag.get_text(" ").split()) or None) if tag is not None else None


def _visible_text(page: BeautifulSoup) -> str:
    marked = _CELL_BREAK.sub(_CELL, _LINE_BREAK.sub("\n", _BLOCK_BREAK.sub("\n\n", "".join(_marked_strings(page)))))
    lines = (_SPACES.sub(" ", line.strip(f" \t{_CELL}")) for line in marked.split("\n"))
    return "\n".join(line.replace(_CELL, " | ") for line in lines).strip()


def _marked_strings(page: BeautifulSoup) -> Iterator[str]:
    """The strings of the page with breaks between them; walked without recursion, since pages nest without bound."""
    pending: list[tuple[PageElement | str, bool]] = [(page, False)]
    while pending:
        node, preformatted = pending.pop()
        if isinstance(node, Tag):
            if node.name not in _UNREAD:
                before, after = _MARKS.get(node.name, ("", ""))
                preformatted = preformatted or node.name == "pre"
                pending.extend((part, preformatted) for part in reversed([before, *node.contents, after]))
        elif isinstance(node, str) and not isinstance(node, PreformattedString):  # comments and declarations are those
            yield node.replace("\n", _LINE) if preformatted else _SPACES.sub(" ", node)

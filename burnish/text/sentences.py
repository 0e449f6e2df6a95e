"""Where sentences end, in English and Arabic text and in Markdown.

A blank line ends one, and so does a line's end before or after a heading and before a list item or table row. A lone
newline elsewhere does so only after a short line or a full stop: text from PDFs is wrapped in the middle of sentences.
Within a line a sentence ends at . ! ? … ؟ ؛ ۔ (and closing quotes) before a space, and at 。！？ before anything, but
not at a dot after an abbreviation, an initial or a list number, nor before a lower-case letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

_SHORT_LINE = 40
_STOPS = tuple(".!?…؟؛۔:。！？")
_CLOSERS = "\"'”’»)]"

# Newlines with the space after them, or a run of full stops with closing quotes: before a space, or wide ones.
# The look-behind keeps the search linear in a long run of dots.
_BREAK: Final = re.compile(
    r"(?P<line>\n\s*)|(?<![.!?…؟؛۔])(?P<stop>[.!?…؟؛۔]++[\"'”’»)\]]*+)(?=[^\S\n])|(?P<wide>[。！？]+[”’」』）]*)"
)
_HEADING: Final = re.compile(r"#{1,6}[ \t]+\S")
_BLOCK_START: Final = re.compile(r"#{1,6}[ \t]|[-*+•]\s|\d{1,3}[.)]\s|\||>\s|```|~~~")
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“‘«]{1,12}\Z")
_ENGLISH_ABBREVIATIONS = """
mr mrs ms dr prof st sr jr rev gen col capt lt sgt gov sen rep hon pres messrs mt ft vs etc eg ie e.g i.e cf al approx
inc ltd co corp dept est jan feb mar apr jun jul aug sep sept oct nov dec ph.d a.m p.m u.s u.k u.n b.c a.d
"""
_ABBREVIATIONS = frozenset(_ENGLISH_ABBREVIATIONS.split()) | {"هـ", "إلخ", "الخ"}
_ABBREVIATIONS_BEFORE_NUMBERS = frozenset({"no", "nos", "vol", "fig", "figs", "p", "pp", "ch", "sec", "eq", "art", "ص"})


class Opening(Enum):
    """What a sentence begins, if anything."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Sentence:
    """`text[start:end]`, without space around it."""

    start: int
    end: int
    opening: Opening


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text in their order; every character but white space lies in exactly one."""
    start, opens_paragraph = 0, True
    for end, ends_paragraph in _ends(text):
        if sentence := _sentence(text, start, end, opens_paragraph):
            yield sentence
            opens_paragraph = False
        opens_paragraph = opens_paragraph or ends_paragraph
        start = end


def _sentence(text: str, start: int, end: int, opens_paragraph: bool) -> Sentence | None:
    inner = text[start:end]
    stripped = inner.strip()
    if not stripped:
        return None
    start += len(inner) - len(inner.lstrip())
    if opens_paragraph and _HEADING.match(stripped):
        opening = Opening.HEADING
    else:
        opening = Opening.PARAGRAPH if opens_paragraph else Opening.NOTHING
    return Sentence(start, start + len(stripped), opening)


def _ends(text: str) -> Iterator[tuple[int, bool]]:
    """Each place where a sentence ends, and whether its paragraph ends there too."""
    line_start = 0
    for match in _BREAK.finditer(text):
        if match["line"] is None:
            if match["wide"] or _is_full_stop(text, line_start, match):
                yield match.end(), False
            continue
        line = text[line_start : match.start()].rstrip()
        parts_blocks = match[0].count("\n") > 1 or _is_block_edge(text, line_start, match.end())
        if parts_blocks or len(line) < _SHORT_LINE or line.rstrip(_CLOSERS).endswith(_STOPS):
            yield match.end(), parts_blocks
        line_start = match.end()
    yield len(text), True


def _is_block_edge(text: str, line_start: int, next_line: int) -> bool:
    return _BLOCK_START.match(text, next_line) is not None or _HEADING.match(text, line_start) is not None


def _is_full_stop(text: str, line_start: int, match: re.Match[str]) -> bool:
    if match["stop"] != ".":
        return True
    following = text[match.end() : match.end() + 2].strip()
    if following.islower():
        return False
    before = _LAST_WORD.search(text, max(line_start, match.start() - 13), match.start())
    return before is None or not _is_abbreviated(before[0], following, starts_line=before.start() == line_start)


def _is_abbreviated(word: str, following: str, *, starts_line: bool) -> bool:
    if word.isdigit():
        return starts_line  # a list number
    is_initial = len(word) == 1 and word.isalpha() and word != "I"
    is_counted = word.lower() in _ABBREVIATIONS_BEFORE_NUMBERS and following.isdigit()
    return is_initial or is_counted or word.lower() in _ABBREVIATIONS

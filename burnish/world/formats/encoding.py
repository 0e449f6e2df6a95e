"""Bytes to text where nobody says in which encoding.

A byte order mark settles it; then UTF-8, whose rules other encodings break at once. What is left is the Windows code
pages of the two languages. Windows-1256 (Arabic) gives runs of high bytes, since every letter is one; Windows-1252
(Western) gives single accented letters among ASCII ones. Text that looks like neither is refused and not guessed at:
a wrong guess would be indexed as gibberish without anybody noticing.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from burnish.errors import UnreadableDocument

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the one of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_LETTER_RUNS: Final = re.compile("[^\\W\\d_\x00-\x7f]+")
_ARABIC: Final = re.compile("[\u0620-\u06d3]")
_MOST_ACCENTED = 0.25
_SAVE_AS_UTF8 = "open it in an editor and save it as UTF-8"


def decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding it was in; raises UnreadableDocument if it is no text or its encoding is unclear."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_as(data, encoding), encoding.removesuffix("-sig")
    _refuse_binary(data)
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _decode_damaged_utf8(data) or _decode_code_page(data)


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableDocument(
            f"it begins as {encoding} text but goes on as something else: {_SAVE_AS_UTF8}"
        ) from None


def _refuse_binary(data: bytes) -> None:
    if len(_CONTROLS.findall(data)) > len(data) / 100:
        raise UnreadableDocument(
            "it holds binary data and no text: give it the suffix of what it is, or, if it is text, " + _SAVE_AS_UTF8
        )


def _decode_damaged_utf8(data: bytes) -> tuple[str, str] | None:
    """UTF-8 with a few bytes lost: text of another encoding has next to no valid sequences."""
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    sound = sum(len(run) for run in _LETTER_RUNS.findall(text))
    return (text, "utf-8, damaged") if sound >= 10 * lost else None


def _decode_code_page(data: bytes) -> tuple[str, str]:
    arabic = data.decode("cp1256", "replace")
    runs = _LETTER_RUNS.findall(arabic)
    letters = sum(map(len, runs))
    alone = sum(len(run) == 1 for run in runs)
    if letters and len(_ARABIC.findall(arabic)) >= 0.9 * letters and alone <= letters / 4:
        return arabic, "windows-1256"
    if alone >= letters / 2 and len(_HIGH.findall(data)) <= _MOST_ACCENTED * len(data):
        return _decode_western(data)
    raise UnreadableDocument(f"its encoding is neither UTF-8 nor one that can be told for certain: {_SAVE_AS_UTF8}")


def _decode_western(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("cp1252"), "windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "iso-8859-1"

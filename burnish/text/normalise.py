"""The one normaliser: index, query, dedupe, keywords, quotes and scores all compare text in the form made here.

Folding takes away what writers vary and readers do not see: Unicode compatibility forms (NFKC), case, Arabic vowel
marks, tatweel, bidirectional marks, the spellings of alef, yeh, kaf and teh marbuta, the script of the digits and the
kind and number of spaces. Accents of other scripts stay: they tell words apart. Folding twice changes nothing.

A *word* is, in folded text,
  * a number: digits, with thousands commas (dropped) or inner dots: 12,000 is "12000"; 3.14 and 3.11.2 stay whole;
    any other comma parts two numbers, and letters that follow a number are a word of their own (5kg, 1990s);
  * or a letter and the letters, digits and combining marks after it (b52, covid19); but Arabic letters only join each
    other, since proclitics are written onto figures and foreign names (و1990 is two words);
  * or one Han or kana character, since those scripts put no spaces between words.
Everything else separates words: apostrophes, hyphens and underscores too.

Offsets: NFKC works on a *piece*, a character with the combining characters after it. Pieces never act on each other,
so folding piece by piece gives the same text as folding the whole, and tells where each folded character came from.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from burnish.text.stop_words import ARABIC, ENGLISH

# Soft hyphens, bidirectional marks, joiners, tatweel, variation selectors and byte order marks.
_INVISIBLE: Final = re.compile("[\u00ad\u061c\u0640\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff]+")
_ARABIC_MARKS = ((0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06ED), (0x08CA, 0x08FF))
_SPELLINGS = {
    **dict.fromkeys("آأإٱٲٳ", "ا"),
    **dict.fromkeys("ىی", "ي"),
    "ک": "ك",
    "ة": "ه",
    "٫": ".",
    "٬": ",",
    "٪": "%",
    "\u200b": " ",  # zero-width space: nothing to see, but it does part words
}

_ARABIC = "\u0620-\u063f\u0641-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c9"
_HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Marks that are part of a word: Latin and Hebrew points, and the South-East Asian blocks without their full stops.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0900-\u0963\u0966-\u109f"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)*|\d+(?:\.\d+)*"
_JOINING = rf"(?![{_ARABIC}{_HAN_AND_KANA}])[^\W_]"
_WORD: Final = re.compile(rf"{_NUMBER}|[{_ARABIC}]+|[{_HAN_AND_KANA}]|{_JOINING}(?:{_JOINING}|[{_MARKS}])*")
_ARABIC_WORD: Final = re.compile(f"[{_ARABIC}]+")
_FREE_NUMBER: Final = re.compile(rf"(?<![^\W_{_ARABIC}])(?:{_NUMBER})")

_NEWLINES: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSTORABLE: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

_PROCLITICS = "وفبكل"
_STOP_WORDS = {"en": ENGLISH, "ar": ENGLISH | ARABIC}


class _Spellings(dict[int, str | None]):
    """A table for `str.translate` that learns the digits of each script as it meets them."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = plain = str(unicodedata.decimal(character)) if character.isdecimal() else character
        return plain


_TRANSLATION: Final = _Spellings(
    {code: None for first, last in _ARABIC_MARKS for code in range(first, last + 1)} | str.maketrans(_SPELLINGS)
)


def clean(text: str) -> str:
    r"""The text as burnish stores it: newlines are \n, and what no store or reader can use is gone.

    Out go NUL and other control characters (tabs and newlines stay), lone surrogates and noncharacters.
    """
    return _UNSTORABLE.sub("", _NEWLINES.sub("\n", text.removeprefix("\ufeff")))


def fold(text: str) -> str:
    """The form in which two texts are compared; see the head of this file."""
    return " ".join(_fold_characters(text).split())


def fold_with_offsets(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the index in `text` of the piece that it came from."""
    characters: list[str] = []
    offsets: list[int] = []
    for start, piece in _pieces(text):
        for character in _fold_piece(piece):
            if not character.isspace():
                characters.append(character)
                offsets.append(start)
            elif characters and characters[-1] != " ":
                characters.append(" ")
                offsets.append(start)
    if characters and characters[-1] == " ":
        characters.pop()
        offsets.pop()
    return "".join(characters), offsets


@lru_cache(maxsize=1024)  # a passage is compared with every draft that was written from it
def words(text: str) -> tuple[str, ...]:
    """The words of the folded text in their order; what a word is stands at the head of this file."""
    return tuple(word for word, _, _ in word_spans(fold(text)))


def word_spans(folded: str) -> Iterator[tuple[str, int, int]]:
    """Each word of an already folded text, with the start and end of where it stands there."""
    for match in _WORD.finditer(folded):
        yield match[0].replace(",", ""), match.start(), match.end()


def content_words(text: str, language: str) -> tuple[str, ...]:
    """The words that carry the meaning: stop words out, and in Arabic the article and proclitics off.

    Stop words are known for "en" and "ar"; other languages keep all their words.
    """
    stop_words = _STOP_WORDS.get(language, frozenset[str]())
    kept = (word for word in words(text) if not _is_stop_word(word, stop_words))
    return tuple(without_proclitics(word) for word in kept) if language == "ar" else tuple(kept)


def without_proclitics(word: str) -> str:
    """A folded Arabic word without the letters that Arabic joins on in front (and, so, by, as, for, the).

    Letters go while three remain, even where one belongs to the root: without a dictionary the two look alike, and
    what matters is that كتاب, الكتاب and وللكتاب come out the same.
    """
    if not _ARABIC_WORD.fullmatch(word):
        return word
    start = 0
    while (step := _proclitic_length(word, start)) and len(word) - start - step >= 3:
        start += step
    return word[start:]


def numbers(text: str) -> tuple[str, ...]:
    """The numbers of a text in one spelling each: "1,200", "1200" and "١٢٠٠" are "1200"; "3.50" is "3.5"; "07" is "7".

    A percentage and a signed number are their value alone (a hyphen is more often a range than a minus). Digits inside
    a word (B52) are no number; letters right after one (5kg, 1990s) do not matter.
    """
    return tuple(_canonical_number(match[0]) for match in _FREE_NUMBER.finditer(fold(text)))


@lru_cache(maxsize=4096)  # whoever merges or counts passages knows them by it
def text_hash(text: str) -> str:
    """SHA-256 of the folded text, in hex: two texts with the same hash are duplicates."""
    return hashlib.sha256(fold(text).encode("utf-8", "surrogatepass")).hexdigest()


def _fold_characters(text: str) -> str:
    if text.isascii():
        return text.lower()
    seen = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    composed = _INVISIBLE.sub("", unicodedata.normalize("NFKC", seen))
    # Taking Arabic marks out may bring together characters that compose.
    return unicodedata.normalize("NFKC", composed.translate(_TRANSLATION))


_fold_piece = lru_cache(maxsize=4096)(_fold_characters)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or not _joins_the_one_before(text[index]):
            yield start, text[start:index]
            start = index


@lru_cache(maxsize=4096)
def _joins_the_one_before(character: str) -> bool:
    if character.isascii():
        return False
    first = unicodedata.normalize("NFKD", character)[0]
    is_hangul_vowel_or_tail = "\u1160" <= first <= "\u11ff"
    is_taken_out = _TRANSLATION.get(ord(first), "") is None or _INVISIBLE.match(first) is not None
    return is_taken_out or is_hangul_vowel_or_tail or unicodedata.category(first).startswith("M")


def _is_stop_word(word: str, stop_words: frozenset[str]) -> bool:
    return word in stop_words or (word[0] in "وف" and word[1:] in stop_words)


def _proclitic_length(word: str, start: int) -> int:
    if word.startswith("ال", start):
        return 2
    return 1 if word[start] in _PROCLITICS else 0


def _canonical_number(number: str) -> str:
    whole, dot, fraction = number.replace(",", "").partition(".")
    if "." in fraction:  # a version or a date: every part counts as written
        return whole + dot + fraction
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")

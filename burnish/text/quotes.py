"""Does the evidence say it? Quotes are placed in a passage by comparison, and answers weighed against their evidence.

Both compare folded words (see `burnish.text.normalise`), so punctuation, quote marks, spacing and Arabic spelling do
not matter, and the words of a quote do. No model is asked, so neither result can be talked into anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from burnish.text.language import detect_language
from burnish.text.normalise import (
    content_words,
    fold,
    fold_with_offsets,
    numbers,
    without_proclitics,
    word_spans,
    words,
)

UNFOUNDED_NUMBER_CEILING = 0.25
MIN_WORDS_OF_A_CUT_QUOTE = 4

# The one may spell out a number that the other writes in digits.
_SPELLED = {
    "0": "zero صفر",
    "1": "one first واحد واحده اول اولي",
    "2": "two second twice اثنان اثنين اثنتان اثنتين ثاني ثانيه",
    "3": "three third ثلاث ثلاثه ثالث ثالثه",
    "4": "four fourth اربع اربعه رابع رابعه",
    "5": "five fifth خمس خمسه خامس خامسه",
    "6": "six sixth ست سته سادس سادسه",
    "7": "seven seventh سبع سبعه سابع سابعه",
    "8": "eight eighth ثماني ثمانيه ثمان ثامن ثامنه",
    "9": "nine ninth تسع تسعه تاسع تاسعه",
    "10": "ten tenth عشر عشره عاشر عاشره",
    "11": "eleven eleventh",
    "12": "twelve twelfth dozen",
    "20": "twenty twentieth عشرون عشرين",
}
_NUMBER_OF = {without_proclitics(word): number for number, spelled in _SPELLED.items() for word in spelled.split()}


@lru_cache(maxsize=1024)  # asked when a draft is checked, and again when its answer is cited
def find_quote(quote: str, passage_text: str) -> tuple[int, int] | None:
    """Where the quote stands word for word in the passage, as (start, end) into `passage_text`; None if it does not.

    The slice covers whole words. A quote needs at least one word that is not a stop word, or it could be found in any
    text. Of several places the first is given. A quote that was cut at its longest ends within a word: one that stands
    nowhere is looked for without its last word too, if four are left.
    """
    wanted = words(quote)
    if not content_words(quote, "ar"):
        return None
    among = words(passage_text)
    position = _find_run(wanted, among)
    if position is None and len(wanted) > MIN_WORDS_OF_A_CUT_QUOTE:
        wanted = wanted[:-1]
        position = _find_run(wanted, among)
    if position is None:
        return None
    folded, offsets = fold_with_offsets(passage_text)
    spans = list(word_spans(folded))
    first, last = spans[position], spans[position + len(wanted) - 1]
    return offsets[first[1]], _end_in_original(last[2], offsets, passage_text)


def grounding(answer: str, evidence_texts: Sequence[str], language: str) -> float | None:
    """The share, in [0, 1], of the answer's content words that the evidence holds; `language` is the answer's.

    A number that the evidence lacks holds the result down to .25, whatever the words: in a near copy of the evidence a
    wrong date is the likeliest fault. None where nothing can be compared: the answer has no content words, or no text
    of the evidence is in its script. Word overlap sees no negation and no swapped names: it is a floor under a judge.
    """
    wanted = _terms(answer, language)
    if not wanted:
        return None
    held = frozenset[str]().union(*(_held_by(text, language) for text in evidence_texts))
    share = sum(term in held for term in wanted) / len(wanted)
    if share < 1 and evidence_texts and not _comparable(answer, evidence_texts):
        return None
    return share if held.issuperset(numbers(answer)) else min(share, UNFOUNDED_NUMBER_CEILING)


@lru_cache(maxsize=1024)  # a passage is compared with every draft that was written from it
def _held_by(text: str, language: str) -> frozenset[str]:
    """What a text of the evidence bears out: its terms, and its numbers."""
    return frozenset((*_terms(text, language), *numbers(text)))


def _terms(text: str, language: str) -> list[str]:
    """The content words, spelled-out numbers as digits."""
    return [_NUMBER_OF.get(word, word) for word in content_words(text, language)]


def _find_run(wanted: Sequence[str], among: Sequence[str]) -> int | None:
    """The index in `among` at which `wanted` stands as an unbroken run."""
    haystack = f" {' '.join(among)} "
    at = haystack.find(f" {' '.join(wanted)} ")
    return None if at < 0 else haystack.count(" ", 0, at)


def _end_in_original(end: int, offsets: Sequence[int], text: str) -> int:
    """The end in the original of a word that ends at `end` in the folded text, combining marks included."""
    last_piece = offsets[end - 1]
    following = next((offset for offset in offsets[end:] if offset > last_piece), len(text))
    return last_piece + len(text[last_piece:following].rstrip())


def _comparable(answer: str, evidence_texts: Sequence[str]) -> bool:
    """Whether any of the evidence is in the answer's script; an answer of figures alone compares with everything."""
    if not any(character.isalpha() for character in answer):
        return True
    return any(_script(text) == _script(answer) for text in evidence_texts)


def _script(text: str) -> str:
    """ "ar", or "latin", or "und" for all others."""
    if detect_language(text) == "ar":
        return "ar"
    letters = [character for character in fold(text) if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    return "latin" if letters and latin >= len(letters) / 2 else "und"

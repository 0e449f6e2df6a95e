"""Which language a text is in, as far as searching and answering need to know: Arabic, English or neither.

The rule counts words by script. A text is Arabic ("ar") where at least two words in five are in Arabic letters, for
Arabic questions often name things in Latin letters ("ما معنى كلمة software؟"). Words are counted and not letters, or
one long foreign name would outweigh a short question. Else it is English ("en") where most words are in Latin letters
and it does not hold more of the common words of other Latin-script languages than of English. All the rest is "und",
undetermined: other scripts, and texts without a letter. Persian and Urdu count as Arabic, whose folding they share.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from burnish.text.stop_words import ENGLISH

_ENOUGH_TO_TELL = 20_000
_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u064b-\u0655\u0670])+")  # a vowelled Arabic word is one word
_ARABIC_LETTER: Final = re.compile("[\u0620-\u064a\u066e-\u06d3\u0750-\u077f\u08a0-\u08c9\ufb50-\ufdff\ufe70-\ufefc]")
_LATIN_LETTER: Final = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")

# Left out are words that are common in names in English text (van, von, de) or English too (die, on, per).
_OTHER_LATIN = """
le la les des est une dans que qui pour avec sont cette aux sur pas quel quelle
und ist nicht mit eine einen sind auch auf wird wurde wer wie wann
el los del una por para como fue quien cual donde desde esta muy
che sono gli della nel dei quando dove
het een niet zijn naar uma foi quem onde nao och som att att inte
"""
_OTHER_LATIN_WORDS = frozenset(_OTHER_LATIN.split())


def detect_language(text: str) -> str:
    """ISO 639-1 "ar" or "en", or "und"; decided on the first 20,000 characters."""
    return _language_of(text[:_ENOUGH_TO_TELL])


@lru_cache(maxsize=1024)  # of a question each of its prompts asks it, and of a passage question after question
def _language_of(text: str) -> str:
    words: list[str] = _WORD.findall(text)
    arabic = sum(_ARABIC_LETTER.match(word) is not None for word in words)
    latin = [word.lower() for word in words if _LATIN_LETTER.match(word)]
    if words and arabic >= 0.4 * len(words):
        return "ar"
    return "en" if len(latin) > len(words) / 2 and _is_plausibly_english(latin) else "und"


def search_config(language: str) -> Literal["english", "arabic", "simple"]:
    """The Postgres text search configuration for texts in this language."""
    if language == "en":
        return "english"
    return "arabic" if language == "ar" else "simple"


def _is_plausibly_english(latin_words: list[str]) -> bool:
    """One foreign word alone may be a name or a quote; two that outnumber the English ones are a language."""
    other = len(_OTHER_LATIN_WORDS.intersection(latin_words))
    return other < 2 or other <= len(ENGLISH.intersection(latin_words))

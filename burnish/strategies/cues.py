"""What a question's own words tell about how to answer it. No model is asked, so it costs nothing and never changes.

Each cue is a hint and no proof. `needs_hops` says yes to 74 % of MuSiQue, 95 % of 2WikiMultiHop and 42 % of HotpotQA,
which all need several hops, and to 5 % of XQuAD's English and 6 % of its Arabic questions, which need one. Cues are
known for English and Arabic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from burnish.config import RecursiveConfig
from burnish.text.language import detect_language
from burnish.text.normalise import fold, words

_RELATIVE = "that|who|whom|whose|which|where"
_KIN = "father|mother|parent|husband|wife|spouse|son|daughter|child|brother|sister|sibling|grandfather|grandmother"
_MAKERS = (
    "author|writer|director|producer|performer|singer|actor|actress|composer|creator|founder|inventor|designer|"
    "architect|developer|publisher|owner"
)
_OFFICES = "leader|president|mayor|capital|headquarters|employer|successor|predecessor|birthplace|hometown"
_ROLE = rf"(?:{_KIN}|{_MAKERS}|{_OFFICES})s?"
_WORD = r"[\w'’-]+"
_LONGEST = 2_000  # characters; what a longer text is about shows in its first ones

# "... of the person who leads the project": a thing that is described and not named.
_DESCRIBED = re.compile(rf"\b(?:the|a|an|this|of|in|at|by|from|with|for)(?: {_WORD}){{1,3}}? (?:{_RELATIVE}) \w")
# "the director of the film", "Anna's husband": somebody who is named only by what they are to another.
_RELATED = re.compile(rf"\b{_ROLE} of\b|['’]s?(?: \w+)? {_ROLE}\b")
# "What is the name of the man who", "Who is the author of": what is asked for itself is no step on the way to it.
_ASKED_FOR = re.compile(
    rf"^(?:who|what|which)(?: is| was| are| were)? "
    rf"(?:(?:the|a|an) (?:{_WORD} )?(?:name|term|word|title|example|kind|type)s? (?:of|for) )?"
    rf"(?:(?:the|a|an) )?(?:{_WORD} ){{0,2}}?(?:(?:{_RELATIVE}|{_ROLE}) |{_WORD} (?:{_RELATIVE}) )"
)
_COMPARED = re.compile(
    r"^(?:which|who|what|are|is|do|does|did|were|was)\b.*"
    r"\b(?:(?:earli|lat|old|young|long|short|larg|small|high|tall|clos|bigg)(?:er|est)|first|last|more|most|both|same)\b"
    r".*\b(?:or|and)\b"
)

_ARABIC_RELATIVE = frozenset(["الذي", "التي", "الذين", "اللذين", "اللتين", "اللذان", "اللتان"])
_ARABIC_ASKS = frozenset(["ما", "ماذا", "ماهو", "ماهي", "كم", "اي"])
_ARABIC_PRONOUNS = frozenset(["هو", "هي", "هم"])
_ARABIC_PREPOSITIONS = frozenset(["في", "علي", "عن", "الي", "مع", "بين", "من"])
_JOINED_PREPOSITIONS = ("لل", "بال")

# Everyday words where a document has its own: people speak of themselves, or ask what a thing is called.
_SPOKEN = re.compile(r"\b(?:i|my|me|we|our)\b|\bcalled\b|\b(?:word|term|name) for\b")
_ARABIC_SPOKEN = frozenset(["يمكنني", "اريد", "لدي", "عندي", "استطيع", "احتاج", "انا", "يسمي", "تسمي"])
_WHY = re.compile(r"^(?:why|how come|لماذا)\b")
# A capital within a sentence, or a figure: the question names something that a document will name too.
_NAMES = re.compile(r"(?<=[^.!?\s] )[A-Z]|\d")

# Words, folded, whose first letter is their own.
_OWN_WAW = """
وزير وزاره وزراء واحد واحده وطني وطنيه وجود وثيقه وثائق وظيفه وظائف ولايه ولايات وسيله وسائل وباء والد والده والدين
وحده وحدات وفاه وفيات وصول ورشه ورقه وسام وكيل وكاله واجب واجبات واقع وادي
"""
# Words of two letters that stand behind "and": how many, what, who, whether, which; in, of, with, no, not; he, she.
_SHORT_AFTER_WAW = frozenset(["كم", "ما", "من", "هل", "اي", "في", "عن", "مع", "لا", "لم", "هو", "هي"])
_BEGIN_WITH_WAW = frozenset(_OWN_WAW.split())


def is_complex(question: str, config: RecursiveConfig) -> bool:
    """Long enough, and holding at least two different keywords as whole words.

    Arabic writes "and" and "the" onto the word that follows: a keyword counts behind them, and و counts there itself.
    """
    if len(question) < config.min_query_length:
        return False
    keywords = {" ".join(bare(word) for word in words(keyword)) for keyword in config.complexity_keywords}
    found = [part for word in words(question) for part in _apart(word)]
    spaced = f" {' '.join(found)} "
    return sum(f" {keyword} " in spaced for keyword in keywords if keyword) >= 2


def _apart(word: str) -> tuple[str, ...]:
    rest = word[1:]
    is_joined = word[0] == "و" and (rest in _SHORT_AFTER_WAW or (len(word) > 3 and word not in _BEGIN_WITH_WAW))
    return ("و", bare(rest)) if is_joined else (bare(word),)


def bare(word: str) -> str:
    """A folded word without the Arabic article."""
    return word.removeprefix("ال") if len(word) > 4 else word


def needs_hops(question: str) -> bool:
    """Whether it seems to ask about a thing that must be found first, or to compare two."""
    question = question[:_LONGEST]
    if detect_language(question) == "ar":
        return _describes(words(question))
    folded = fold(question)
    rest = _ASKED_FOR.sub("", folded, count=1)
    return any(cue.search(text) for cue, text in ((_DESCRIBED, rest), (_RELATED, rest), (_COMPARED, folded)))


def is_in_other_words(question: str) -> bool:
    """Whether it seems to be put in words other than those of a document that answers it."""
    question = question[:_LONGEST]
    folded = fold(question)
    if _SPOKEN.search(folded) or _ARABIC_SPOKEN.intersection(words(question)):
        return True
    return bool(_WHY.search(folded)) and not _NAMES.search(question)


def _describes(asked: Sequence[str]) -> bool:
    """The Arabic form of _DESCRIBED and _ASKED_FOR: a relative pronoun that is not about what is asked for itself."""
    pronouns = [n for n, word in enumerate(asked) if n > 1 and word in _ARABIC_RELATIVE]
    return any(not _is_asked_for(asked[:n]) for n in pronouns)


def _is_asked_for(before: Sequence[str]) -> bool:
    """Whether the words before a relative pronoun are an asking word and one thing, with no preposition between."""
    of_whom = before[0] == "من" and (before[1] in _ARABIC_PRONOUNS or before[1].startswith("ال"))
    parted = any(word in _ARABIC_PREPOSITIONS or word.startswith(_JOINED_PREPOSITIONS) for word in before[1:])
    return (of_whom or before[0] in _ARABIC_ASKS) and not parted

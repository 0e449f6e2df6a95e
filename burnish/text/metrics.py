"""Scores for answers and rankings, by the conventions that decide their third decimal.

Answers are compared after one of two norms, and against several gold answers the best counts:
  * "squad": the SQuAD v1.1 rule (Rajpurkar et al. 2016) that published figures use: lower case, ASCII punctuation out,
    a/an/the out. It leaves Arabic punctuation and vowel marks in.
  * "fold": burnish's own folding, all punctuation to spaces, a/an/the out, and the Arabic article off the start of a
    word (also after one of و ف ب ك) where three letters remain.

Rankings: an item is relevant from grade 1 on; nDCG takes the grade itself as gain and log2(rank + 1) as discount
(as trec_eval does, and not 2^grade - 1). An item ranked twice counts at its first place. With nothing relevant to find
every score is 0: leave such queries out of a mean.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Literal, TypeVar

from burnish.text.normalise import fold

K = TypeVar("K", bound=Hashable)
Norm = Literal["squad", "fold"]

_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_ARABIC_ARTICLE: Final = re.compile(r"^([وفبك]?)ال(?=\w{3})")
_NO_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(prediction: str, golds: Iterable[str], norm: Norm = "fold") -> float:
    """1 if the prediction equals a gold answer after the norm, else 0."""
    return _best(prediction, golds, norm, lambda predicted, gold: float(predicted == gold))


def f1(prediction: str, golds: Iterable[str], norm: Norm = "fold") -> float:
    """The harmonic mean of precision and recall over the words that prediction and gold share, in [0, 1]."""
    return _best(prediction, golds, norm, _f1)


def covers(prediction: str, golds: Iterable[str], norm: Norm = "fold") -> float:
    """1 if the words of a gold answer stand as an unbroken run in the prediction ("accuracy" in RAG papers), else 0."""
    return _best(prediction, golds, norm, _covers)


def ndcg_at_k(ranked: Iterable[K], grades: Mapping[K, int], k: int) -> float:
    """Normalised discounted cumulative gain of the first k, in [0, 1]."""
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    if not ideal:
        return 0.0
    return _discounted(max(grades.get(item, 0), 0) for item in _top(ranked, k)) / _discounted(ideal)


def recall_at_k(ranked: Iterable[K], grades: Mapping[K, int], k: int) -> float:
    """The share of the relevant items that the first k hold."""
    relevant = _relevant(grades)
    return len(relevant.intersection(_top(ranked, k))) / len(relevant) if relevant else 0.0


def all_at_k(ranked: Iterable[K], grades: Mapping[K, int], k: int) -> float:
    """1 if the first k hold every relevant item, which a question of several hops needs, else 0."""
    return float(recall_at_k(ranked, grades, k) == 1.0)


def mrr(ranked: Iterable[K], grades: Mapping[K, int], k: int | None = None) -> float:
    """The reciprocal rank of the first relevant item (among the first k), 0 if there is none."""
    relevant = _relevant(grades)
    hits = (1 / rank for rank, item in enumerate(_top(ranked, k), start=1) if item in relevant)
    return next(hits, 0.0)


def average_precision(ranked: Iterable[K], grades: Mapping[K, int]) -> float:
    """The mean, over the relevant items, of the precision at each one's rank; 0 for those not ranked."""
    relevant = _relevant(grades)
    ranks = [rank for rank, item in enumerate(_top(ranked, None), start=1) if item in relevant]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / len(relevant) if relevant else 0.0


def auroc(scored: Iterable[tuple[float, bool]]) -> float:
    """The chance that a true case scores above a false one, a tie counting half; .5 where either kind is missing."""
    cases = list(scored)
    false = sorted(score for score, is_true in cases if not is_true)
    true = [score for score, is_true in cases if is_true]
    if not true or not false:
        return 0.5
    below = sum(bisect_left(false, score) + bisect_right(false, score) for score in true) / 2
    return below / (len(true) * len(false))


def normalised_words(text: str, norm: Norm) -> list[str]:
    """The words that `exact_match`, `f1` and `covers` compare."""
    if norm == "squad":
        return _ARTICLES.sub(" ", text.lower().translate(_NO_ASCII_PUNCTUATION)).split()
    spaced = "".join(" " if _is_punctuation(character) else character for character in fold(text))
    return [_ARABIC_ARTICLE.sub(r"\1", word) for word in _ARTICLES.sub(" ", spaced).split()]


def _best(prediction: str, golds: Iterable[str], norm: Norm, score: Callable[[list[str], list[str]], float]) -> float:
    predicted = normalised_words(prediction, norm)
    return max((score(predicted, normalised_words(gold, norm)) for gold in golds), default=0.0)


def _f1(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    return 2 * (Counter(predicted) & Counter(gold)).total() / (len(predicted) + len(gold))


def _covers(predicted: list[str], gold: list[str]) -> float:
    return float(bool(gold) and f" {' '.join(gold)} " in f" {' '.join(predicted)} ")


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def _relevant(grades: Mapping[K, int]) -> set[K]:
    return {item for item, grade in grades.items() if grade >= 1}


def _top(ranked: Iterable[K], k: int | None) -> Sequence[K]:
    return list(islice(dict.fromkeys(ranked), k))


def _discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))

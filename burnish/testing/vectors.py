"""Vectors in which texts that share words lie near each other, made by arithmetic alone.

Each content word adds one, with a sign, to the coordinate that its hash names (feature hashing, Weinberger et al.
2009), and its beginning adds a half, so that "approved" and "approval" meet. The sign makes chance collisions cancel
out on average. Words are those of `burnish.text.normalise`, Arabic ones folded and without what is joined on in front.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

from burnish.text.normalise import content_words, words

STEM_LENGTH = 5


def embed(text: str, dimension: int) -> list[float]:
    """The unit vector of a text. One without a word has a vector too, since a zero vector has no direction."""
    vector = [0.0] * dimension
    for word in content_words(text, "ar") or words(text) or ("",):
        for place, weight in _features(word):
            vector[place % dimension] += weight
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0:
        vector[0] = length = 1.0
    return [value / length for value in vector]


@lru_cache(maxsize=50_000)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    return (_feature(word, 1.0), _feature(word[:STEM_LENGTH] + "-", 0.5))


def _feature(name: str, weight: float) -> tuple[int, float]:
    hashed = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return hashed >> 1, weight if hashed & 1 else -weight

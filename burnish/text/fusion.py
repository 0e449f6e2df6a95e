"""Merging rankings whose scores do not compare.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): an item's score is the sum over the rankings of
1 / (k + rank), ranks from 1. Only ranks count, so a ranking with large raw scores has no louder voice.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice
from typing import TypeVar

from burnish.errors import InvalidInput

K = TypeVar("K", bound=Hashable)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[K]], *, k: int = 60, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """Every item of the rankings with its fused score, best first.

    Items with equal scores stand in the order in which they first appear, reading the rankings one after the other.
    An item that a ranking repeats counts there once, at its best rank. `weights` are one per ranking, 1 by default.
    """
    if weights is not None and len(weights) != len(rankings):
        raise InvalidInput(f"{len(weights)} weights for {len(rankings)} rankings: give one weight for each ranking")
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda scored: scored[1], reverse=True)


def keep_seat(fused: Sequence[tuple[K, float]], own: Sequence[K], seats: int, n: int) -> list[tuple[K, float]]:
    """The first `n` of a fused ranking, in its order, with the best `seats` of the question's own ranking among them.

    Where an own hit would be cut off, it takes the place of the last kept item that has no seat. An own hit that the
    fused ranking lacks is put at its end, with a score of 0.
    """
    seated = set(islice(dict.fromkeys(own), max(0, min(seats, n))))
    scored = {item for item, _ in fused}
    ranked = [*fused, *((item, 0.0) for item in dict.fromkeys(own) if item in seated and item not in scored)]
    free = max(0, n - len(seated))
    unseated = set(islice((item for item, _ in ranked if item not in seated), free))
    return [(item, score) for item, score in ranked if item in seated or item in unseated]

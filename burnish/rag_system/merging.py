"""The results of several searches as one ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from burnish.adapters.passages import read_number
from burnish.rag_system.chunks import Scored, content_key, identity_of
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion

OWN_SEATS = 2
_K = 60


def merge_retrieval_results(results_per_query: Sequence[Iterable[Scored]], top_k: int) -> list[Scored]:
    """The best `top_k` of several searches, the question's own first among them; each text once, best first.

    Scores of different searches do not compare, so several are merged by reciprocal rank: a merged score is its share
    of the best that could be, 1 for what stands first in every search. The question's two best hits keep a seat. Where
    only one search found anything its own scores stay.
    """
    keys = _Keys()
    rankings = [_ranked(results, keys) for results in results_per_query]
    found = [ranking for ranking in rankings if ranking]
    if len(found) <= 1:
        return [scored for ranking in found for scored in ranking.values()][:top_k]
    chunks = {key: chunk for ranking in reversed(found) for key, (chunk, _) in ranking.items()}
    fused = reciprocal_rank_fusion([list(ranking) for ranking in found], k=_K)
    kept = keep_seat(fused, list(rankings[0]), OWN_SEATS, top_k)
    best = len(found) / (_K + 1)
    return [(chunks[key], score / best) for key, score in kept]


def _ranked(results: Iterable[Scored], keys: _Keys) -> dict[Any, Scored]:
    """One search by what its chunks say, best first; a store's order settles equal scores."""
    scored = [(chunk, read_number(score) or 0.0) for chunk, score in results]
    ranked: dict[Any, Scored] = {}
    for chunk, score in sorted(scored, key=lambda pair: pair[1], reverse=True):
        ranked.setdefault(keys.of(chunk), (chunk, score))
    return ranked


class _Keys:
    """One key for chunks that say the same or have the same name."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], Any] = {}

    def of(self, chunk: Any) -> Any:
        key, name = content_key(chunk), identity_of(chunk)
        return key if name is None else self._by_name.setdefault(name, key)

"""What a chunk is worth beside the others that a search found.

A final score is a weighted sum of four in [0, 1]:
  * original: the search's own score, stretched so that the best of the list is 1 and the worst 0, since similarities
    of one search often differ only in the second decimal while the others do not;
  * llm: the language model's mark. Where it is unknown the original stands in for it;
  * length: 1 for texts of an ideal length, less for those shorter or longer;
  * diversity: half for a document that has not been seen yet, half for the share of the question's words in the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from burnish.rag_system.chunks import Scored, document_id_of, text_of
from burnish.rag_system.config import RerankerConfig, RerankMode
from burnish.text.language import detect_language
from burnish.text.normalise import content_words, numbers, words


def weighed(
    query: str, chunks: Sequence[Scored], marks: Sequence[float | None], config: RerankerConfig, mode: RerankMode
) -> list[float]:
    """The final score of each chunk, given best first. "heuristic" has no marks, "llm" looks for no diversity."""
    by_mark = 0.0 if mode == RerankMode.HEURISTIC else config.llm_score_weight
    by_diversity = 0.0 if mode == RerankMode.LLM else config.diversity_weight
    by_original = 1 - by_mark - by_diversity - config.length_weight
    originals = stretched([score for _, score in chunks])
    return [
        by_original * original
        + by_mark * (original if mark is None else mark)
        + config.length_weight * length_score(len(words(text_of(chunk))), config)
        + by_diversity * variety
        for (chunk, _), original, mark, variety in zip(chunks, originals, marks, _varieties(query, chunks), strict=True)
    ]


def stretched(scores: Sequence[float]) -> list[float]:
    """The scores moved and scaled so that the least is 0 and the greatest 1; all 1 where they are equal."""
    least, greatest = min(scores), max(scores)
    return [1.0 if greatest == least else (score - least) / (greatest - least) for score in scores]


def length_score(count: int, config: RerankerConfig) -> float:
    """1 for a text of `ideal_min_words` to `ideal_max_words`, falling to 0 at none and at twice the most."""
    if count < config.ideal_min_words:
        return count / config.ideal_min_words
    return max(0.0, 1 - max(0, count - config.ideal_max_words) / config.ideal_max_words)


def without_repetitions(chunks: Sequence[Scored], threshold: float) -> list[Scored]:
    """The chunks, given best first, without those that all but repeat a better one.

    Texts that share a long heading are alike in most words: where their numbers differ they are not taken for one.
    """
    kept: list[tuple[Scored, frozenset[str], frozenset[str]]] = []
    for scored in chunks:
        text = text_of(scored[0])
        said, counted = frozenset(words(text)), frozenset(numbers(text))
        if not any(counted == others and _alike(said, seen) >= threshold for _, seen, others in kept):
            kept.append((scored, said, counted))
    return [scored for scored, _, _ in kept]


def _alike(one: Collection[str], other: Collection[str]) -> float:
    """The Jaccard index of two sets of words."""
    both = len(frozenset(one) & frozenset(other))
    return both / (len(one) + len(other) - both) if both else 0.0


def _varieties(query: str, chunks: Sequence[Scored]) -> list[float]:
    language = detect_language(query)
    asked = frozenset(content_words(query, language))
    seen: set[str | None] = set()
    varieties: list[float] = []
    for chunk, _ in chunks:
        document_id = document_id_of(chunk)
        shared = len(asked.intersection(content_words(text_of(chunk), language))) / max(len(asked), 1)
        varieties.append((shared + (document_id is None or document_id not in seen)) / 2)
        seen.add(document_id)
    return varieties

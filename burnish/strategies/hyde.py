"""HyDE: imagine passages that would answer, retrieve what resembles them, answer from what was really found.

Gao, Ma, Lin, Callan: Precise Zero-Shot Dense Retrieval without Relevance Labels, 2022, section 3. Mode "mean" is the
paper's: one search with the average of all vectors. Mode "per_document" searches with each and merges the rankings.
Rankings of different query vectors are merged by rank, since their scores cannot be compared.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from burnish.config import HyDEConfig, StrategyConfig
from burnish.effects import Ask, Effect, Retrieve, SearchQuery, Strategy, ask_together, note, retrieve
from burnish.errors import EffectFailed
from burnish.prompts import planning
from burnish.results import HypotheticalDocument
from burnish.strategies.evidence import answer_from, distinct, grade


def hyde(question: str, config: StrategyConfig) -> Strategy:
    """Imagine N passages at once, retrieve real ones with them, and answer from the real ones alone."""
    imagined = yield from imagine(question, config.hyde)
    yield from note(*imagined)
    request = Retrieve(
        queries_from(question, imagined, config.hyde),
        top_k=config.search.top_k,
        limit=config.hyde.max_final_docs,
        combine="mean" if config.hyde.mode == "mean" else "rrf",
    )
    passages = distinct((yield from retrieve(request)))
    if config.search.grade_passages:
        passages = yield from grade(question, passages, config.search)
    trace = {
        "hypothetical_documents": sum(document.kept for document in imagined),
        "num_retrieved": len(passages),
        "num_ranked": min(len(passages), config.search.max_passages),
    }
    return (yield from answer_from(question, passages, config, trace))


def imagine(question: str, config: HyDEConfig) -> Generator[Effect, Any, tuple[HypotheticalDocument, ...]]:
    """N imagined passages. One that fails or is too short is kept for the record, but not searched with."""
    replies = yield from ask_together(
        Ask(planning.hypothesise(question, nth), temperature=config.temperature, seed=nth)
        for nth in range(config.num_hypothetical_docs)
    )
    texts = ["" if isinstance(reply, EffectFailed) else reply.text.strip() for reply in replies]
    return tuple(
        HypotheticalDocument(position, text, kept=len(text) >= config.min_document_length)
        for position, text in enumerate(texts)
    )


def queries_from(
    question: str, imagined: Sequence[HypotheticalDocument], config: HyDEConfig
) -> tuple[SearchQuery, ...]:
    """The queries of the search; the question alone where nothing usable was imagined."""
    passages = tuple(SearchQuery(document.text, "passage") for document in imagined if document.kept)
    return (SearchQuery(question), *passages) if config.use_original_query or not passages else passages

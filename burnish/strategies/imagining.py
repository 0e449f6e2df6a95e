"""Searches with passages that a model imagined: HyDE's own, and those of strategies that have it as their retriever."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from burnish.config import HyDEConfig, StrategyConfig
from burnish.effects import Ask, Effect, Retrieve, SearchQuery, ask_together, note
from burnish.errors import EffectFailed
from burnish.prompts import planning
from burnish.results import HypotheticalDocument


def imagined_search(
    question: str, config: StrategyConfig, limit: int, earlier: int = 0
) -> Generator[Effect, Any, tuple[Retrieve, int]]:
    """A search with imagined passages, and how many there are to search with. What was imagined is noted.

    earlier: how many such searches of the same run went before; every imagined passage has a place of its own in it.
    """
    imagined = yield from imagine(question, config.hyde, earlier * config.hyde.num_hypothetical_docs)
    yield from note(*imagined)
    request = Retrieve(
        queries_from(question, imagined, config.hyde),
        top_k=config.search.top_k,
        limit=limit,
        combine="mean" if config.hyde.mode == "mean" else "rrf",
    )
    return request, sum(document.kept for document in imagined)


def imagine(
    question: str, config: HyDEConfig, first_position: int = 0
) -> Generator[Effect, Any, tuple[HypotheticalDocument, ...]]:
    """N imagined passages. One that fails or is too short is kept for the record, but not searched with."""
    replies = yield from ask_together(
        Ask(planning.hypothesise(question, nth), temperature=config.temperature, seed=nth)
        for nth in range(config.num_hypothetical_docs)
    )
    texts = ["" if isinstance(reply, EffectFailed) else reply.text.strip() for reply in replies]
    return tuple(
        HypotheticalDocument(position, text, kept=len(text) >= config.min_document_length)
        for position, text in enumerate(texts, first_position)
    )


def queries_from(
    question: str, imagined: Sequence[HypotheticalDocument], config: HyDEConfig
) -> tuple[SearchQuery, ...]:
    """The queries of the search; the question alone where nothing usable was imagined."""
    passages = tuple(SearchQuery(document.text, "passage") for document in imagined if document.kept)
    return (SearchQuery(question), *passages) if config.use_original_query or not passages else passages

"""Settings are checked when they are made, all at once, and again when a system is built with them."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.rag_system.config import RAGConfig, RerankerConfig
from burnish.rag_system.errors import InvalidRAGConfig
from tests.rag_system.parts import users_system

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"chunk_size": 0}, "chunk_size must be a whole number above 0"),
    ({"chunk_size": 10.5}, "chunk_size"),
    ({"chunk_size": True, "overlap": 0}, "chunk_size"),
    ({"overlap": -1}, "overlap must be a whole number, 0 or more"),
    ({"chunk_size": 100, "overlap": 100}, "overlap must be smaller than chunk_size"),
    ({"top_k": 0}, "top_k"),
    ({"top_k": "5"}, "top_k"),
    ({"min_score": 5}, "min_score must be a number between -1 and 1"),
    ({"min_score": float("nan")}, "min_score"),
    ({"enable_reranking": "yes"}, "enable_reranking must be true or false"),
    ({"rerank_mode": "magic"}, "rerank_mode must be one of heuristic, llm, hybrid, provider"),
    ({"rerank_top_k": 0}, "rerank_top_k"),
    ({"rerank_llm_weight": 0.6}, "sum to 1"),
    ({"rerank_llm_weight": -0.4, "rerank_original_weight": 1.2}, "0 or more"),
    ({"rerank_llm_weight": None}, "sum to 1"),
    ({"prompt_language": "fr"}, "prompt_language"),
    ({"context_max_length": 0}, "context_max_length"),
    ({"cache_maxsize": 0}, "cache_maxsize"),
    ({"cache_ttl": float("inf")}, "cache_ttl"),
    ({"cache_ttl": "soon"}, "cache_ttl"),
    ({"ingest_batch_size": 0}, "ingest_batch_size"),
]


@pytest.mark.parametrize(("settings", "told"), WRONG)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRAGConfig, match=told):
        RAGConfig(**settings)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidRAGConfig) as caught:
        RAGConfig(top_k=0, cache_maxsize=-1)
    assert [error["field"] for error in caught.value.errors] == ["top_k", "cache_maxsize"]


def test_a_setting_that_was_changed_for_the_worse_is_seen_when_a_system_is_built() -> None:
    config = RAGConfig()
    config.top_k = 0
    with pytest.raises(InvalidRAGConfig, match="top_k"):
        users_system(config=config)


@pytest.mark.parametrize("weights", [(0.4, 0.4, 0.1, 0.105), (0.25, 0.25, 0.25, 0.25), (0.7, 0.1, 0.1, 0.1)])
def test_weights_may_be_a_hundredth_off(weights: tuple[float, float, float, float]) -> None:
    original, llm, diversity, length = weights
    config = RAGConfig(
        rerank_original_weight=original,
        rerank_llm_weight=llm,
        rerank_diversity_weight=diversity,
        rerank_length_weight=length,
    )
    assert RerankerConfig.from_rag_config(config).length_weight == length


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"mode": "magic"}, "mode"),
        ({"top_k": -1}, "top_k"),
        ({"length_weight": 0.5}, "sum to 1"),
        ({"llm_eval_language": "fr"}, "llm_eval_language"),
        ({"ideal_min_words": 400}, "must not be above ideal_max_words"),
        ({"ideal_max_words": 0}, "ideal_max_words"),
        ({"dedup_threshold": 0}, "dedup_threshold"),
        ({"dedup_enabled": 1}, "dedup_enabled"),
    ],
)
def test_a_rerankers_wrong_setting_is_refused_by_name(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRAGConfig, match=told):
        RerankerConfig(**settings)

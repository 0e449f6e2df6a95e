"""The settings of a RAG system and of its reranker, checked when they are made and when a system is built with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from burnish.rag_system.errors import InvalidRAGConfig

RERANK_WEIGHTS = ("rerank_original_weight", "rerank_llm_weight", "rerank_diversity_weight", "rerank_length_weight")
RERANKER_WEIGHTS = ("original_score_weight", "llm_score_weight", "diversity_weight", "length_weight")
# A hundredth, and what adding decimals may be off by.
WEIGHTS_TOLERANCE = 0.01 + 1e-9


class RerankMode(StrEnum):
    HEURISTIC = "heuristic"
    LLM = "llm"
    HYBRID = "hybrid"
    PROVIDER = "provider"


@dataclass
class RAGConfig:
    """How a RAG system ingests, searches, ranks and answers.

    chunk_size, overlap: characters of a chunk, and of the text before it that it repeats; read by `SentenceChunker`.
    top_k: results of a search. min_score: the least similarity, in [-1, 1], on the scale of the vector database.
    rerank_mode: "heuristic", "llm", "hybrid" or "provider". rerank_top_k: results after reranking; None for top_k.
    prompt_language: "en" or "ar" for all prompts and messages; None to go by the question.
    context_max_length: what a prompt may show of the documents, in characters; read by `ContextBuilder`.
    cache_ttl: seconds that a search is remembered; 0 or less for as long as there is room.
    ingest_batch_size: documents that are cut and stored together.
    """

    chunk_size: int = 512
    overlap: int = 128
    top_k: int = 5
    min_score: float = 0.0
    enable_reranking: bool = False
    rerank_mode: str = "heuristic"
    rerank_top_k: int | None = None
    rerank_original_weight: float = 0.40
    rerank_llm_weight: float = 0.40
    rerank_diversity_weight: float = 0.10
    rerank_length_weight: float = 0.10
    enable_prompt_routing: bool = True
    prompt_language: str | None = None
    include_few_shot: bool = True
    context_max_length: int = 4000
    enable_retrieval_cache: bool = True
    cache_maxsize: int = 256
    cache_ttl: float = 300.0
    ingest_batch_size: int = 64

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise InvalidRAGConfig, which names all that is wrong at once."""
        wrong = _wrong(self, _RAG_CHECKS)
        if not {"chunk_size", "overlap"} & wrong.keys() and self.overlap >= self.chunk_size:
            wrong["overlap"] = "must be smaller than chunk_size"
        if not _sum_to_one([getattr(self, name) for name in RERANK_WEIGHTS]):
            wrong["rerank_original_weight"] = "and the other rerank weights must be 0 or more and sum to 1"
        _raise_for(wrong)


@dataclass(frozen=True)
class RerankerConfig:
    """mode: what weighs beside the search's score; "llm" leaves diversity out, "hybrid" uses all four.

    top_k: results kept; None for all. The weights sum to 1; a mode that lacks a part gives its weight to the original.
    llm_eval_language: "en" or "ar" for the model's prompts; None for the question's.
    ideal_min_words, ideal_max_words: between them a text's length counts in full.
    dedup_threshold: share of common words from which a text repeats a better one, if its numbers are the same too.
    """

    mode: RerankMode | str = RerankMode.HEURISTIC
    top_k: int | None = None
    original_score_weight: float = 0.40
    llm_score_weight: float = 0.40
    diversity_weight: float = 0.10
    length_weight: float = 0.10
    llm_eval_language: str | None = None
    ideal_min_words: int = 30
    ideal_max_words: int = 300
    dedup_enabled: bool = True
    dedup_threshold: float = 0.85

    def __post_init__(self) -> None:
        wrong = _wrong(self, _RERANKER_CHECKS)
        if not {"ideal_min_words", "ideal_max_words"} & wrong.keys() and self.ideal_min_words > self.ideal_max_words:
            wrong["ideal_min_words"] = "must not be above ideal_max_words"
        if not _sum_to_one([getattr(self, name) for name in RERANKER_WEIGHTS]):
            wrong["original_score_weight"] = "and the other weights must be 0 or more and sum to 1"
        _raise_for(wrong)

    @classmethod
    def from_rag_config(cls, config: RAGConfig) -> RerankerConfig:
        return cls(
            mode=RerankMode(config.rerank_mode),
            top_k=config.rerank_top_k,
            original_score_weight=config.rerank_original_weight,
            llm_score_weight=config.rerank_llm_weight,
            diversity_weight=config.rerank_diversity_weight,
            length_weight=config.rerank_length_weight,
        )


def is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_Check: TypeAlias = tuple[Callable[[Any], bool], str]
_FLAG: _Check = (lambda value: isinstance(value, bool), "must be true or false")
_COUNT: _Check = (lambda value: is_whole(value, 1), "must be a whole number above 0")
_COUNT_OR_NONE: _Check = (lambda value: value is None or is_whole(value, 1), "must be a whole number above 0, or None")
_LANGUAGE: _Check = (lambda value: value in (None, "en", "ar"), 'must be "en", "ar" or None')
_MODE: _Check = (lambda value: value in list(RerankMode), f"must be one of {', '.join(RerankMode)}")
_RAG_CHECKS: dict[str, _Check] = {
    "chunk_size": _COUNT,
    "overlap": (lambda value: is_whole(value, 0), "must be a whole number, 0 or more"),
    "top_k": _COUNT,
    "min_score": (lambda value: is_number(value) and -1 <= value <= 1, "must be a number between -1 and 1"),
    "enable_reranking": _FLAG,
    "rerank_mode": _MODE,
    "rerank_top_k": _COUNT_OR_NONE,
    "enable_prompt_routing": _FLAG,
    "prompt_language": _LANGUAGE,
    "include_few_shot": _FLAG,
    "context_max_length": _COUNT,
    "enable_retrieval_cache": _FLAG,
    "cache_maxsize": _COUNT,
    "cache_ttl": (is_number, "must be a number of seconds"),
    "ingest_batch_size": _COUNT,
}
_RERANKER_CHECKS: dict[str, _Check] = {
    "mode": _MODE,
    "top_k": _COUNT_OR_NONE,
    "llm_eval_language": _LANGUAGE,
    "ideal_min_words": _COUNT,
    "ideal_max_words": _COUNT,
    "dedup_enabled": _FLAG,
    "dedup_threshold": (lambda value: is_number(value) and 0 < value <= 1, "must be above 0 and at most 1"),
}


def _wrong(config: Any, checks: dict[str, _Check]) -> dict[str, str]:
    return {name: told for name, (holds, told) in checks.items() if not holds(getattr(config, name))}


def _sum_to_one(weights: list[Any]) -> bool:
    """Whether all are numbers from 0 up that make 1, give or take a hundredth."""
    are_weights = all(is_number(weight) and weight >= 0 for weight in weights)
    return are_weights and abs(sum(weights) - 1) <= WEIGHTS_TOLERANCE


def _raise_for(wrong: dict[str, str]) -> None:
    if wrong:
        errors = [
            {"code": "invalid_setting", "field": name, "message": f"{name} {told}"} for name, told in wrong.items()
        ]
        raise InvalidRAGConfig("; ".join(error["message"] for error in errors), errors)

"""What the classes may be told, as plain mutable dataclasses that check themselves.

They are checked when they are made, and again by every question, for they may have been changed since.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from burnish.adapters.retries import Retries
from burnish.config import COMPLEXITY_KEYWORDS, StrategyConfig

DEFAULTS = StrategyConfig()


@dataclass
class SelfRAGConfig:
    """What SelfIRAG may be told.

    max_refinement_iterations: times it may retrieve, answer and judge.
    skip_refinement_on_high_confidence: stop as soon as an answer's confidence reaches confidence_threshold, a number
        between 0 and 1. Otherwise go on as below it, and give the best answer of all iterations.
    enable_answer_refinement: show a later iteration the answer before it, and what was wrong with it.
    enable_retrieval_refinement: search with what the judge says is missing.
    llm_retries: times a call that failed is sent again. fast_mode: answer and judge in one call.
    """

    max_refinement_iterations: int = 3
    confidence_threshold: float = 0.80
    enable_answer_refinement: bool = True
    enable_retrieval_refinement: bool = True
    llm_retries: int = 2
    fast_mode: bool = True
    skip_refinement_on_high_confidence: bool = True

    def __post_init__(self) -> None:
        self.over(DEFAULTS)

    def over(self, settings: StrategyConfig) -> StrategyConfig:
        """The settings with these in their place. Raises InvalidInput, a ValueError, for what cannot be used."""
        Retries(self.llm_retries)
        names = ("max_refinement_iterations", "confidence_threshold", "enable_answer_refinement")
        more = ("enable_retrieval_refinement", "fast_mode")
        values = {name: getattr(self, name) for name in (*names, *more)}
        values["early_stopping"] = self.skip_refinement_on_high_confidence
        return StrategyConfig.from_mapping({"self_irag": values}, settings)


@dataclass
class RecursiveRAGConfig:
    """What RecursiveRAG may be told.

    max_depth: how deep a question may be taken apart. max_sub_questions: parts of each question.
    min_query_length: characters of the shortest question that is taken apart, if it also holds two complexity_keywords.
    llm_retries: times a call that failed is sent again. leaf: the strategy that answers what is not taken apart.
    """

    max_depth: int = 3
    max_sub_questions: int = 4
    min_query_length: int = 40
    complexity_keywords: list[str] = field(default_factory=lambda: list(COMPLEXITY_KEYWORDS))
    llm_retries: int = 2
    leaf: str = "direct"

    def __post_init__(self) -> None:
        self.over(DEFAULTS)

    def over(self, settings: StrategyConfig) -> StrategyConfig:
        """The settings with these in their place. Raises InvalidInput, a ValueError, for what cannot be used."""
        Retries(self.llm_retries)
        names = ("max_depth", "max_sub_questions", "min_query_length", "complexity_keywords", "leaf")
        values = {name: getattr(self, name) for name in names}
        return StrategyConfig.from_mapping({"recursive": values}, settings)

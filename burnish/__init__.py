"""Question answering over your own documents that checks its answers against the evidence and improves them.

    import burnish

    answer = burnish.query("How long is the Danube?", retriever=my_search, language_model=my_model)
    print(answer.text, answer.confidence, answer.citations)

`my_search.retrieve(query, top_k)` gives Passages and `my_model.generate(prompt)` a text; `burnish.aquery` is the same
for asyncio. Importing burnish is light: what runs a question is imported with the first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burnish.config import HyDEConfig, RecursiveConfig, SearchConfig, SelfIRAGConfig, StrategyConfig
from burnish.errors import BurnishError
from burnish.results import (
    Answer,
    Citation,
    Evaluation,
    HypotheticalDocument,
    Outcome,
    Passage,
    RefinementStep,
    SubAnswer,
)

if TYPE_CHECKING:
    from burnish.asking import aquery, query

__all__ = [
    "Answer",
    "BurnishError",
    "Citation",
    "Evaluation",
    "HyDEConfig",
    "HypotheticalDocument",
    "Outcome",
    "Passage",
    "RecursiveConfig",
    "RefinementStep",
    "SearchConfig",
    "SelfIRAGConfig",
    "StrategyConfig",
    "SubAnswer",
    "aquery",
    "query",
]


def __getattr__(name: str) -> Any:
    if name not in ("aquery", "query"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from burnish import asking

    return getattr(asking, name)

"""RecursiveRAG: compound questions taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from burnish.adapters.calling import Caller
from burnish.classic.configs import RecursiveRAGConfig
from burnish.classic.facts import answer_of, facts_of, spoken, steps_of, sub_answers_of
from burnish.classic.recording import Run
from burnish.classic.results import RecursiveRAGResult
from burnish.classic.running import Asking, RunningOptions, StrategyRAG
from burnish.config import StrategyConfig
from burnish.engine import run_to_end


class RecursiveRAG(StrategyRAG[RecursiveRAGResult]):
    """Take a question apart, answer the parts (each perhaps taken apart again), put them together.

    leaf: the strategy that answers what is not taken apart, over the one in the config: "direct", "self_irag", ...

    Calls of the model: 1 for a plain question, s + 2 for s parts that are plain, where the leaf takes one; the caps of
    `settings` (`max_calls`, `recursive.max_nodes`) bound every question. See `burnish.strategies.recursive`.
    """

    strategy = "recursive"

    def __init__(
        self,
        rag_system: Any,
        llm: Any,
        config: RecursiveRAGConfig | None = None,
        *,
        leaf: str | None = None,
        **options: Unpack[RunningOptions],
    ) -> None:
        super().__init__(rag_system, llm, **options)
        self.config = config or RecursiveRAGConfig()
        self.leaf = leaf
        self.strategy_config()

    def query(self, query: str, context: Mapping[str, Any] | None = None, _depth: int = 0) -> RecursiveRAGResult:
        """The result for a question. `_depth` is the depth at which it stands, for code that recurses by itself."""
        return run_to_end(self._ask(self._asked(query, _depth), Asking(Caller(self._pool, blocking=True), context)))

    def strategy_config(self) -> StrategyConfig:
        settings = self.config.over(self.settings)
        chosen = {} if self.leaf is None else {"recursive": {"leaf": self.leaf}}
        return StrategyConfig.from_mapping(chosen, settings)

    def get_stats(self) -> dict[str, Any]:
        config = self.config
        return {
            "max_depth": config.max_depth,
            "max_sub_questions": config.max_sub_questions,
            "min_query_length": config.min_query_length,
            "complexity_keywords": list(config.complexity_keywords),
            "llm_retries": config.llm_retries,
            "leaf": self.leaf or config.leaf,
        }

    def result_of(self, run: Run) -> RecursiveRAGResult:
        answer = answer_of(run)
        parts = sub_answers_of(run)
        return RecursiveRAGResult(
            answer=spoken(answer.text, answer.outcome, run.asked.question),
            depth=run.asked.depth,
            decomposed=bool(parts),
            sub_questions=[part.question for part in parts],
            sub_answers=parts,
            confidence=answer.confidence or 0.0,
            history=steps_of(run),
            **facts_of(run, [self.result_of(part) for part in run.parts]),
        )

    def _most_retries(self) -> int:
        return self.config.llm_retries

"""SelfIRAG: answers that are judged, and improved until they are good enough."""

from __future__ import annotations

from typing import Any, Unpack

from burnish.classic.configs import SelfRAGConfig
from burnish.classic.facts import answer_of, facts_of, spoken, steps_of
from burnish.classic.recording import Run
from burnish.classic.results import SelfRAGResult
from burnish.classic.running import RunningOptions, StrategyRAG
from burnish.config import StrategyConfig


class SelfIRAG(StrategyRAG[SelfRAGResult]):
    """Retrieve, answer, judge; while the answer falls short, search and write again with what the judge missed.

    Calls of the model, for n iterations: from 1 to n in fast mode, from 2 to 2n without; none where nothing is found.
    With `skip_refinement_on_high_confidence=False` it is n or 2n, unless an iteration has nothing to lean on. A reply
    that cannot be read costs one or two more. See `burnish.strategies.self_irag`.
    """

    strategy = "self_irag"

    def __init__(
        self, rag_system: Any, llm: Any, config: SelfRAGConfig | None = None, **options: Unpack[RunningOptions]
    ) -> None:
        super().__init__(rag_system, llm, **options)
        self.config = config or SelfRAGConfig()
        self.strategy_config()

    def strategy_config(self) -> StrategyConfig:
        return self.config.over(self.settings)

    def get_stats(self) -> dict[str, Any]:
        config = self.config
        return {
            "max_refinement_iterations": config.max_refinement_iterations,
            "confidence_threshold": config.confidence_threshold,
            "enable_answer_refinement": config.enable_answer_refinement,
            "enable_retrieval_refinement": config.enable_retrieval_refinement,
            "llm_retries": config.llm_retries,
            "fast_mode": config.fast_mode,
        }

    def result_of(self, run: Run) -> SelfRAGResult:
        answer, history = answer_of(run), steps_of(run)
        return SelfRAGResult(
            answer=spoken(answer.text, answer.outcome, run.asked.question),
            confidence=answer.confidence or 0.0,
            iterations=len(history),
            history=history,
            **facts_of(run),
        )

    def _most_retries(self) -> int:
        return self.config.llm_retries

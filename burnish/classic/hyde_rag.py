"""HyDERAG: search with imagined answers."""

from __future__ import annotations

from typing import Any, Unpack

from burnish.adapters.gates import Gate
from burnish.adapters.retries import Retries
from burnish.classic.facts import answer_of, facts_of, spoken
from burnish.classic.recording import Run
from burnish.classic.results import HyDEResult
from burnish.classic.running import RunningOptions, StrategyRAG
from burnish.config import StrategyConfig
from burnish.errors import InvalidInput
from burnish.results import HypotheticalDocument

NO_EVIDENCE = "There is insufficient information."


class HyDERAG(StrategyRAG[HyDEResult]):
    """Imagine passages that would answer, retrieve what resembles them, answer from what was really found.

    num_hypothetical_docs: passages to imagine. use_original_query: search with the question too. top_k: passages that
    each search takes. max_final_docs: distinct passages that the model is shown. llm_retries: times a call that failed
    is sent again. max_workers: calls of the model that one question has in flight.

    Calls of the model, for N passages: N + 1; N where nothing is found. A reply that cannot be read costs one more. See
    `burnish.strategies.hyde`.
    """

    strategy = "hyde"

    def __init__(  # noqa: PLR0913, PLR0917 older code calls it so
        self,
        rag_system: Any,
        llm: Any,
        num_hypothetical_docs: int = 3,
        use_original_query: bool = True,
        top_k: int = 5,
        max_final_docs: int = 10,
        llm_retries: int = 2,
        max_workers: int = 4,
        **options: Unpack[RunningOptions],
    ) -> None:
        super().__init__(rag_system, llm, **options)
        self.num_hypothetical_docs = num_hypothetical_docs
        self.use_original_query = use_original_query
        self.top_k = top_k
        self.max_final_docs = max_final_docs
        self.llm_retries = llm_retries
        self.max_workers = max_workers
        self.strategy_config()

    def strategy_config(self) -> StrategyConfig:
        Retries(self.llm_retries)
        if self.max_workers < 1:
            raise InvalidInput("max_workers must be at least 1")
        imagining = ("num_hypothetical_docs", "use_original_query", "max_final_docs")
        searching = {"top_k": self.top_k, "max_passages": self.max_final_docs}
        values = {"hyde": {name: getattr(self, name) for name in imagining}, "search": searching}
        return StrategyConfig.from_mapping(values, self.settings)

    def get_stats(self) -> dict[str, Any]:
        names = ("num_hypothetical_docs", "use_original_query", "top_k", "max_final_docs", "llm_retries", "max_workers")
        return {name: getattr(self, name) for name in names}

    def result_of(self, run: Run) -> HyDEResult:
        answer = answer_of(run)
        return HyDEResult(
            answer=spoken(answer.text, answer.outcome, run.asked.question, NO_EVIDENCE),
            hypothetical_docs=[document.text for document in run.recorded(HypotheticalDocument) if document.kept],
            num_retrieved=run.found,
            num_ranked=len(answer.evidence),
            confidence=answer.confidence or 0.0,
            **facts_of(run),
        )

    def _most_retries(self) -> int:
        return self.llm_retries

    def _gates(self) -> tuple[Gate, ...]:
        return (Gate(self.max_workers),)

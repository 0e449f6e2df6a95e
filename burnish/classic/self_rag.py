"""SelfRAG: what was found and what was answered are graded, and corrected where a grade says so."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Unpack

from burnish.adapters.retries import Retries
from burnish.classic.facts import answer_of, facts_of, spoken
from burnish.classic.plain import plain, rounded
from burnish.classic.recording import Run
from burnish.classic.results import Result
from burnish.classic.running import RunningOptions, StrategyRAG
from burnish.config import ReflectionConfig, StrategyConfig


@dataclass(frozen=True)
class ReflectionAttempt:
    """An attempt at an answer with its grades; one that is None is unknown or was not asked for.

    relevance: mean of its passages' (ISREL), in [0, 1]. support (ISSUP): 1 wholly, .5 in part, 0 not. use (ISUSE): in
    [-1, 1]. unsupported: what the passages do not bear out. critique: the weighted sum of the three, in [0, 1].
    correct: what it called for: "none", another "answer" or another "search".
    """

    attempt: int
    query: str
    answer: str
    relevance: float
    support: float | None
    use: float | None
    grounding: float | None
    unsupported: list[str]
    critique: float
    correct: str


@dataclass
class ReflectionResult(Result):
    """What SelfRAG found: the best of its attempts.

    attempts: every one, in order. queries: what was searched with. relevance: the grade of every passage that was
    found, by its chunk's id.
    """

    answer: str
    confidence: float
    attempts: list[ReflectionAttempt] = field(default_factory=list[ReflectionAttempt])
    queries: list[str] = field(default_factory=list[str])
    relevance: dict[str, float | None] = field(default_factory=dict[str, float | None])

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "confidence": rounded(self.confidence),
            "attempts": [asdict(attempt) for attempt in self.attempts],
            "queries": list(self.queries),
            "relevance": plain(self.relevance),
            **self._facts(),
        }


class SelfRAG(StrategyRAG[ReflectionResult]):
    """Grade each passage (ISREL), answer, check the answer against them (ISSUP) and the question (ISUSE), correct.

    config: binary grades or the paper's degrees, and how often to write or search again. llm_retries: times a call that
    failed is sent again. See `burnish.strategies.self_rag`, also for the number of calls.
    """

    strategy = "self_rag"

    def __init__(
        self,
        rag_system: Any,
        llm: Any,
        config: ReflectionConfig | None = None,
        *,
        llm_retries: int = 2,
        **options: Unpack[RunningOptions],
    ) -> None:
        super().__init__(rag_system, llm, **options)
        self.config = config or self.settings.self_rag
        self.llm_retries = llm_retries
        self.strategy_config()

    def strategy_config(self) -> StrategyConfig:
        Retries(self.llm_retries)
        return replace(self.settings, self_rag=self.config)

    def get_stats(self) -> dict[str, Any]:
        return {**asdict(self.config), "llm_retries": self.llm_retries}

    def result_of(self, run: Run) -> ReflectionResult:
        answer = answer_of(run)
        trace: dict[str, Any] = dict(answer.trace)
        return ReflectionResult(
            answer=spoken(answer.text, answer.outcome, run.asked.question),
            confidence=answer.confidence or 0.0,
            attempts=[ReflectionAttempt(**attempt) for attempt in trace.get("attempts", ())],
            queries=list(trace.get("queries", ())),
            relevance=dict(trace.get("relevance", {})),
            **facts_of(run),
        )

    def _most_retries(self) -> int:
        return self.llm_retries

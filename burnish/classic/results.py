"""What the classes give back: plain dataclasses, each with `to_dict()` for JSON.

Numbers that older code formats are always numbers: a confidence that nobody could tell is 0.0 here, and the scores it
would have come from are None. `status` says whether there is an answer at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnish.classic.plain import plain, rounded
from burnish.results import Evaluation, Outcome


@dataclass
class EvaluationResult:
    """A judge's view of an answer. Scores lie in [0, 1]; None is one that could not be read.

    supported, grounding: as in `burnish.Evaluation`; they hold the confidence down.
    """

    relevance: float | None = 0.5
    accuracy: float | None = 0.5
    completeness: float | None = 0.5
    clarity: float | None = 0.5
    issues: list[str] = field(default_factory=list[str])
    suggestions: list[str] = field(default_factory=list[str])
    supported: bool | None = None
    grounding: float | None = None

    @property
    def confidence(self) -> float:
        """The geometric mean of the four scores, held down by the evidence; 0.0 where a score is unknown."""
        scores = (self.relevance, self.accuracy, self.completeness, self.clarity)
        return Evaluation(*scores, supported=self.supported, grounding=self.grounding).confidence or 0.0

    def to_dict(self) -> dict[str, Any]:
        names = ("relevance", "accuracy", "completeness", "clarity", "confidence")
        return {
            **{name: rounded(getattr(self, name)) for name in names},
            "issues": list(self.issues),
            "suggestions": list(self.suggestions),
            "supported": self.supported,
            "grounding": rounded(self.grounding),
        }


@dataclass
class RefinementStep:
    """One iteration: the answer it gave, how that was judged, and the query it searched with."""

    iteration: int
    answer: str
    evaluation: EvaluationResult
    query: str = ""

    @property
    def confidence(self) -> float:
        return self.evaluation.confidence

    @property
    def step(self) -> int:
        return self.iteration

    @property
    def action(self) -> str:
        return "evaluate"

    @property
    def reason(self) -> str:
        """The scores in one line, and the first two suggestions."""
        scores = self.evaluation
        named = {"R": scores.relevance, "A": scores.accuracy, "C": scores.completeness, "Cl": scores.clarity}
        shown = " ".join(f"{name}={'?' if score is None else f'{score:.2f}'}" for name, score in named.items())
        suggestions = f" | suggestions: {'; '.join(scores.suggestions[:2])}" if scores.suggestions else ""
        return f"confidence={self.confidence:.2f} ({shown}){suggestions}"

    def to_dict(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "confidence": rounded(self.confidence)}


@dataclass
class SubAnswer:
    """The answer to a part of a question. confidence: 0.0 where nobody could tell."""

    question: str
    answer: str
    depth: int
    status: Outcome = Outcome.SUCCEEDED
    confidence: float = 0.0


@dataclass(frozen=True)
class Source:
    """A passage that the answer rests on. quotes: words of it that the answer cites. metadata: the retriever's own."""

    document_id: str
    title: str
    text: str
    score: float
    quotes: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_dict(self) -> dict[str, Any]:
        names = ("document_id", "title", "text", "score", "quotes", "metadata")
        return {name: plain(getattr(self, name)) for name in names}


@dataclass(kw_only=True)
class Result:
    """What every result tells beside its answer.

    status: how the question ended; `error` says why where it failed. sources: the passages shown for this very answer.
    llm_calls: calls of the model, those sent again counted again. retrieval_calls: searches.
    prompt_tokens, completion_tokens, cost_usd: None where the model does not tell.
    trace: counts and decisions of the strategy. sub_results: the results of the parts, each with parts of its own.
    """

    status: Outcome = Outcome.SUCCEEDED
    error: str | None = None
    sources: list[Source] = field(default_factory=list[Source])
    llm_calls: int = 0
    retrieval_calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    elapsed_seconds: float = 0.0
    trace: dict[str, Any] = field(default_factory=dict[str, Any])
    sub_results: list[Any] = field(default_factory=list[Any])

    def _facts(self) -> dict[str, Any]:
        names = ("error", "llm_calls", "retrieval_calls", "prompt_tokens", "completion_tokens", "cost_usd")
        return {
            "status": self.status.value,
            **{name: getattr(self, name) for name in names},
            "elapsed_seconds": rounded(self.elapsed_seconds),
            "sources": [source.to_dict() for source in self.sources],
            "trace": plain(self.trace),
            "sub_results": [result.to_dict() for result in self.sub_results],
        }


@dataclass
class SelfRAGResult(Result):
    """What SelfIRAG found: the best answer of all iterations. history: what each iteration gave."""

    answer: str
    confidence: float
    iterations: int
    history: list[RefinementStep]

    @property
    def final_answer(self) -> str:
        return self.answer

    @property
    def refinement_steps(self) -> int:
        return self.iterations

    @property
    def steps(self) -> list[RefinementStep]:
        return list(self.history)

    @property
    def initial_quality(self) -> float:
        """The confidence of the first iteration; 0.0 where there was none."""
        return self.history[0].confidence if self.history else 0.0

    @property
    def final_quality(self) -> float:
        """The confidence of the last iteration, which need not be the best; 0.0 where there was none."""
        return self.history[-1].confidence if self.history else 0.0

    def to_dict(self) -> dict[str, Any]:
        names = ("confidence", "initial_quality", "final_quality")
        return {
            "answer": self.answer,
            "iterations": self.iterations,
            **{name: rounded(getattr(self, name)) for name in names},
            "history": [step.to_dict() for step in self.history],
            **self._facts(),
        }


@dataclass
class HyDEResult(Result):
    """What HyDERAG found.

    hypothetical_docs: the imagined passages that were searched with. num_retrieved: distinct passages that all searches
    found. num_ranked: those that the model was shown.
    """

    answer: str
    hypothetical_docs: list[str]
    num_retrieved: int
    num_ranked: int
    confidence: float = field(default=0.0, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "hypothetical_docs_generated": len(self.hypothetical_docs),
            "num_retrieved": self.num_retrieved,
            "num_ranked": self.num_ranked,
            "confidence": rounded(self.confidence),
            **self._facts(),
        }


@dataclass
class RecursiveRAGResult(Result):
    """What RecursiveRAG found.

    sub_questions, sub_answers: the parts it was decomposed into, in order; `sub_results` has them in full, with their
    own parts. history: the iterations of a leaf that is answered by SelfIRAG.
    """

    answer: str
    depth: int
    decomposed: bool
    sub_questions: list[str] = field(default_factory=list[str])
    sub_answers: list[SubAnswer] = field(default_factory=list[SubAnswer])
    confidence: float = field(default=0.0, kw_only=True)
    history: list[RefinementStep] = field(default_factory=list[RefinementStep], kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "decomposed": self.decomposed,
            "depth": self.depth,
            "sub_questions": list(self.sub_questions),
            "confidence": rounded(self.confidence),
            "history": [step.to_dict() for step in self.history],
            **self._facts(),
        }

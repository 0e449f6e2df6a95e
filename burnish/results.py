"""What a run finds out: passages, citations, scores, audit records and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias


class Outcome(StrEnum):
    """How a question ended. It ends in exactly one way."""

    SUCCEEDED = "succeeded"
    ABSTAINED = "abstained"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    BUDGET_EXCEEDED = "budget_exceeded"


@dataclass(frozen=True)
class Passage:
    """A chunk of a document, with its score and where it stands.

    text == document_text[start:end], in characters. `score` orders the passages of one retrieval and compares with
    nothing else. `language` is an ISO 639-1 code.
    """

    chunk_id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    language: str
    score: float


@dataclass(frozen=True)
class Citation:
    """A verbatim quote: `document_text[start:end]` is what the answer rests on."""

    document_id: str
    chunk_id: str
    title: str
    quote: str
    start: int
    end: int


@dataclass(frozen=True)
class Evaluation:
    """A judge's view of an answer. Each score lies in [0, 1]; None means that it could not be read.

    supported: the judge's word on whether the evidence bears the answer out.
    grounding: how far the evidence bears the answer out, by comparison and not by a model: the share of its content
        words and numbers found there, and no more than .5 where the quote it rests on stands in no passage; None
        where answer and evidence cannot be compared (they are in different languages).
    """

    relevance: float | None = None
    accuracy: float | None = None
    completeness: float | None = None
    clarity: float | None = None
    supported: bool | None = None
    grounding: float | None = None
    issues: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    @property
    def confidence(self) -> float | None:
        """The geometric mean of the four scores, held down by the grounding; None if any score is unknown.

        One weak score pulls it down more than an average would. What the evidence does not bear out cannot be
        trusted further than the share that it does, and no further than .2 where the judge says "unsupported".
        """
        scores = (self.relevance, self.accuracy, self.completeness, self.clarity)
        known = [score for score in scores if score is not None]
        if len(known) < len(scores):
            return None
        mean = (known[0] * known[1] * known[2] * known[3]) ** 0.25
        ceiling = 1.0 if self.grounding is None else self.grounding
        return min(mean, ceiling, 0.2 if self.supported is False else 1.0)


@dataclass(frozen=True)
class RefinementStep:
    """An iteration of SelfIRAG or an attempt of Self-RAG: its query, the answer it gave, and how that was judged."""

    iteration: int
    query: str
    answer: str
    evaluation: Evaluation

    @property
    def confidence(self) -> float | None:
        return self.evaluation.confidence


@dataclass(frozen=True)
class SubAnswer:
    """A sub-question and what it came to. `position` counts from 0 within its parent."""

    position: int
    question: str
    answer: str
    depth: int
    outcome: Outcome
    confidence: float | None


@dataclass(frozen=True)
class HypotheticalDocument:
    """A passage that a language model imagined. `kept` is False for one too short to search with."""

    position: int
    text: str
    kept: bool


AuditRecord: TypeAlias = RefinementStep | SubAnswer | HypotheticalDocument


@dataclass(frozen=True)
class Answer:
    """What a question came to.

    text: the answer, or, where there is none, why, in the question's language.
    confidence: in [0, 1], or None where nothing could be judged. Uncalibrated: it orders, and is no probability.
    evidence: the passages shown to the model for this very text. citations: verbatim quotes from them.
    trace: counts and decisions of the strategy that gave it (`iterations`, `num_retrieved`, `sub_questions`, ...).
    """

    text: str
    outcome: Outcome
    confidence: float | None = None
    evidence: tuple[Passage, ...] = ()
    citations: tuple[Citation, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Call:
    """What one call of the language model took.

    request: the parameters sent beside the prompt. reply: the text as it came, and why it ended. cost_usd: None where
    the price is not known. tries: how often it was sent before a reply came.
    """

    model: str
    request: Mapping[str, Any]
    reply: Mapping[str, Any]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: int
    tries: int

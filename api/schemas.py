"""What goes over the wire: the answers, jobs and trails that come back. What comes in stands in `api.requests`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from burnish.results import Outcome
from burnish.strategies.registry import STRATEGY_NAMES

ANSWER_ID = "0199c0de-0000-7000-8000-000000000001"
JOB_ID = "0199c0de-0000-7000-8000-0000000000aa"
_TIME = "2026-03-01T12:00:00Z"
_LATER = "2026-03-01T12:00:04Z"
_QUESTION = "How long is the Danube?"
_QUOTE = "The Danube is 2,850 km long"
_STANDS = {"document_id": "rivers.md", "title": "Rivers", "chunk_id": "0199c0de-0000-7000-8000-0000000000c1"}
_USAGE = {"calls": 1, "unpriced_calls": 0, "prompt_tokens": 412, "completion_tokens": 38, "cost_usd": 0.0001}


class _Wire(BaseModel):
    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class Usage(_Wire):
    """What was taken so far. `cost_usd` counts the calls whose price is known; `unpriced_calls` are the others."""

    calls: int
    unpriced_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


class Citation(_Wire):
    """A verbatim quote: characters `start` to `end` of the stored document."""

    document_id: str
    title: str
    chunk_id: str
    quote: str
    start: int
    end: int


class Source(_Wire):
    """A passage that was shown to the model for this answer. `score` orders these passages and means nothing else."""

    document_id: str
    title: str
    chunk_id: str
    start: int
    end: int
    score: float


class Failure(_Wire):
    """Why a question, a run or one try of a step failed. `retryable`: the same may succeed later."""

    type: str
    message: str
    retryable: bool


_ANSWER: dict[str, Any] = {
    "id": ANSWER_ID,
    "job_id": None,
    "custom_id": "answer",
    "question": _QUESTION,
    "language": "en",
    "strategy": "self_irag",
    "collection": "default",
    "config": {},
    "state": "ended",
    "outcome": "succeeded",
    "answer": "2,850 km",
    "confidence": 0.93,
    "citations": [{**_STANDS, "quote": _QUOTE, "start": 0, "end": 27}],
    "sources": [{**_STANDS, "start": 0, "end": 412, "score": 0.0328}],
    "trace": {"iterations": 1, "best_iteration": 1},
    "error": None,
    "usage": _USAGE,
    "gold": None,
    "metadata": {},
    "created_at": _TIME,
    "admitted_at": _TIME,
    "ended_at": _LATER,
}


class Answer(_Wire):
    """A question and what it came to. While `state` is not "ended" there is no outcome and no answer yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ANSWER]})

    id: UUID
    job_id: UUID | None
    custom_id: str
    question: str
    language: str = Field(description='"en", "ar", or "und" where it could not be told')
    strategy: str
    collection: str
    config: dict[str, Any] = Field(description="settings of the strategies that differ from burnish's own")
    state: Literal["queued", "running", "ended"]
    outcome: Outcome | None
    answer: str | None = Field(description="the answer, or why there is none, in the question's language")
    confidence: float | None = Field(description="in [0, 1]; null where nothing could be judged. It is uncalibrated")
    citations: list[Citation]
    sources: list[Source]
    trace: dict[str, Any] = Field(description="counts and decisions of the strategy")
    error: Failure | None
    usage: Usage
    gold: dict[str, Any] | None
    metadata: dict[str, Any]
    created_at: datetime
    admitted_at: datetime | None
    ended_at: datetime | None


class RejectedLine(_Wire):
    """A line that cannot be used. Lines count from 1, the questions of a JSON list too."""

    line: int
    custom_id: str | None = None
    code: str
    message: str


class Counts(_Wire):
    """The questions of a job by how they stand or ended; these numbers add up to `total`."""

    queued: int
    running: int
    succeeded: int
    abstained: int
    failed: int
    cancelled: int
    expired: int
    budget_exceeded: int


_JOB: dict[str, Any] = {
    "id": JOB_ID,
    "name": "rivers",
    "status": "running",
    "total": 3,
    "rejected": 1,
    "counts": {
        "queued": 1,
        "running": 1,
        "succeeded": 1,
        "abstained": 0,
        "failed": 0,
        "cancelled": 0,
        "expired": 0,
        "budget_exceeded": 0,
    },
    "usage": _USAGE,
    "created_at": _TIME,
    "ended_at": None,
}


class Job(_Wire):
    """How far a job has come. `rejected` lines are not among its `total` questions."""

    model_config = ConfigDict(json_schema_extra={"examples": [_JOB]})

    id: UUID
    name: str | None
    status: Literal["queued", "running", "cancelling", "ended"]
    total: int
    rejected: int
    counts: Counts
    usage: Usage
    created_at: datetime
    ended_at: datetime | None


class AcceptedJob(Job):
    """A job as it was accepted, with the first 1,000 of the lines that cannot be used."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_JOB,
                    "status": "queued",
                    "rejected_lines": [
                        {"line": 3, "custom_id": "q3", "code": "empty_question", "message": "the question is empty"}
                    ],
                }
            ]
        }
    )

    rejected_lines: list[RejectedLine]


class JobList(_Wire):
    """Jobs, newest first. `next` is what to send as `after` for those before them; null at the end."""

    jobs: list[Job]
    next: UUID | None


class Retried(_Wire):
    """How many questions were queued again, and the job they belong to, if any."""

    retried: int
    job: Job | None


class Call(_Wire):
    """A call of the language model. `tries`: how often it was sent before a reply came."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: int
    tries: int
    request: dict[str, Any] | None = None
    reply: dict[str, Any] | None = None


class Step(_Wire):
    """What a run asked for and was told.

    records: the typed audit rows written with it: "refinement_step", "sub_answer" or "hypothetical_document".
    run: the run of a sub-question. failures: of every try that failed.
    """

    id: UUID
    position: int
    kind: str
    state: Literal["ready", "running", "waiting", "done", "failed"]
    request: dict[str, Any]
    reply: Any
    failures: list[Failure]
    created_at: datetime
    ended_at: datetime | None
    call: Call | None
    records: list[dict[str, Any]]
    run: Run | None


class Run(_Wire):
    """One execution of a strategy on the question or on a sub-question, with its steps in order."""

    id: UUID
    strategy: str
    depth: int
    text: str
    state: Literal["ready", "running", "waiting", "ended"]
    outcome: Outcome | None
    answer: str | None
    confidence: float | None
    trace: dict[str, Any] = Field(description="counts and decisions of the strategy; empty before the end")
    error: Failure | None
    created_at: datetime
    ended_at: datetime | None
    steps: list[Step]


class Trail(_Wire):
    """The audit tree of an answer. `run` is null until the question was let in."""

    answer: Answer
    run: Run | None


class Unread(_Wire):
    """A document that could not be stored, and why."""

    source: str
    reason: str


def _unread(pairs: Any) -> Any:
    return [{"source": source, "reason": reason} for source, reason in pairs]


class Ingested(_Wire):
    """What became of the documents. `chunks` is how many were written in all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "added": 2,
                    "updated": 0,
                    "unchanged": 1,
                    "failed": [{"source": "scan.pdf", "reason": "it is encrypted: remove the password"}],
                    "chunks": 7,
                }
            ]
        }
    )

    added: int
    updated: int
    unchanged: int
    failed: Annotated[list[Unread], BeforeValidator(_unread)]
    chunks: int


class Collection(_Wire):
    """Documents that are searched together, and the model that embedded them."""

    name: str
    documents: int
    chunks: int
    embedding_model: str
    dimension: int
    created_at: datetime


class CollectionList(_Wire):
    collections: list[Collection]


class Health(_Wire):
    status: str


class Problem(_Wire):
    """What went wrong, as RFC 9457 has it. `code` names the kind of fault, `errors` its places where there are many."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Unprocessable Content",
                    "status": 422,
                    "detail": f"unknown strategy 'hide'; choose one of {', '.join(STRATEGY_NAMES)}",
                    "instance": "/v1/answers",
                    "code": "invalid_input",
                    "errors": [{"code": "unknown_strategy", "message": "unknown strategy 'hide'; choose one of ..."}],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    code: str
    errors: list[dict[str, Any]] = []


Step.model_rebuild()

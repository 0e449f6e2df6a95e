"""Every table.

    collections 1-n documents 1-n chunks          what is searched; `lexemes` counts words for BM25
    batches 1-n questions 1-n runs 1-n steps      what is asked, and how far it has come
                                   steps 1-1 llm_calls
                                   runs 1-n refinement_steps, sub_answers, hypothetical_documents

`steps` is the journal: one row for each effect that a run asked for, named by `(run_id, key)`. A run that fans out
over sub-questions owns a step for each, and that step owns the child run (`runs.parent_step_id`). Ids are UUIDv7, so
they sort by time. Unique constraints make each audit row exactly-once however often a task is repeated.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Computed,
    ForeignKey,
    Index,
    MetaData,
    Numeric,
    String,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy import (
    text as sql,
)
from sqlalchemy.dialects.postgresql import JSONB, REGCONFIG, TSVECTOR
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import DateTime
from uuid_utils.compat import uuid7

QUESTION_STATES = ("queued", "running", "ended")
RUN_STATES = ("ready", "running", "waiting", "ended")
STEP_STATES = ("ready", "running", "waiting", "done", "failed")
LANES = ("interactive", "batch")
OUTCOMES = ("succeeded", "abstained", "failed", "cancelled", "expired", "budget_exceeded")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "%(table_name)s_%(column_0_N_name)s_idx",
            "uq": "%(table_name)s_%(column_0_N_name)s_key",
            "ck": "%(table_name)s_%(constraint_name)s_check",
            "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
            "pk": "%(table_name)s_pkey",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        list[Any]: JSONB(none_as_null=True),
    }


class Identified:
    """A row with a UUIDv7 id and the time it was made."""

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Collection(Identified, Base):
    """Documents searched together, embedded by one model. The counts feed BM25."""

    __tablename__ = "collections"

    name: Mapped[str] = mapped_column(unique=True)
    embedding_model: Mapped[str]
    dimension: Mapped[int]
    chunk_count: Mapped[int] = mapped_column(BigInteger, server_default="0")
    word_count: Mapped[int] = mapped_column(BigInteger, server_default="0")


class Document(Identified, Base):
    """One text as it was read. `external_id` is the caller's name for it; `content_hash` tells whether it changed."""

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("collection_id", "external_id"),)

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"))
    external_id: Mapped[str]
    title: Mapped[str]
    text: Mapped[str]
    media_type: Mapped[str]
    source: Mapped[str]
    language: Mapped[str]
    content_hash: Mapped[str] = mapped_column(String(64))
    details: Mapped[dict[str, Any]] = mapped_column(server_default=sql("'{}'"))
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class Chunk(Identified, Base):
    """A stretch of a document: `documents.text[start_offset:end_offset] == text`, in characters.

    `folded` is the normalised text; `search` is its full-text vector under the language's configuration. `embedding`
    has no fixed length, so that collections may differ; each length has an HNSW index of its own over a cast.
    """

    __tablename__ = "chunks"
    __table_args__ = (
        UniqueConstraint("document_id", "position"),
        Index(None, "collection_id"),
        Index("chunks_search_idx", "search", postgresql_using="gin"),
    )

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"))
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    position: Mapped[int]
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    text: Mapped[str]
    folded: Mapped[str]
    language: Mapped[str]
    search_config: Mapped[str] = mapped_column(REGCONFIG)
    search: Mapped[Any] = mapped_column(TSVECTOR, Computed("to_tsvector(search_config, folded)", persisted=True))
    word_count: Mapped[int]
    embedding: Mapped[Any | None] = mapped_column(Vector())


class Lexeme(Base):
    """In how many chunks of a collection a word stem stands: the document frequency of BM25."""

    __tablename__ = "lexemes"

    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), primary_key=True)
    search_config: Mapped[str] = mapped_column(Text, primary_key=True)
    lexeme: Mapped[str] = mapped_column(primary_key=True)
    chunk_count: Mapped[int] = mapped_column(BigInteger)


class Batch(Identified, Base):
    """Questions submitted together. `total` is fixed when it is accepted; `rejected` are the lines that were not."""

    __tablename__ = "batches"
    __table_args__ = (Index("batches_open_idx", "id", postgresql_where=sql("ended_at IS NULL")),)

    name: Mapped[str | None]
    total: Mapped[int]
    rejected: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))
    cancel_requested: Mapped[bool] = mapped_column(server_default=sql("false"))
    ended_at: Mapped[datetime | None]


class Question(Identified, Base):
    """A text to answer. It is `queued` until admitted, and `ended` with exactly one outcome."""

    __tablename__ = "questions"
    __table_args__ = (
        UniqueConstraint("batch_id", "custom_id"),
        _one_of("state", QUESTION_STATES),
        _one_of("lane", LANES),
        _one_of("outcome", OUTCOMES),
        CheckConstraint("(state = 'ended') = (outcome IS NOT NULL)", name="ended_once"),
        Index("questions_queued_idx", "lane", "batch_id", "id", postgresql_where=sql("state = 'queued'")),
        Index("questions_running_idx", "lane", "batch_id", postgresql_where=sql("state = 'running'")),
        Index("questions_progress_idx", "batch_id", "state", "outcome"),
    )

    batch_id: Mapped[UUID | None] = mapped_column(ForeignKey("batches.id", ondelete="CASCADE"))
    collection_id: Mapped[UUID] = mapped_column(ForeignKey("collections.id"))
    custom_id: Mapped[str]
    text: Mapped[str]
    language: Mapped[str]
    strategy: Mapped[str]
    config: Mapped[dict[str, Any]]
    lane: Mapped[str]
    gold: Mapped[dict[str, Any] | None]
    details: Mapped[dict[str, Any]] = mapped_column(server_default=sql("'{}'"))
    state: Mapped[str] = mapped_column(server_default="queued")
    outcome: Mapped[str | None]
    answer: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    cancel_requested: Mapped[bool] = mapped_column(server_default=sql("false"))
    calls: Mapped[int] = mapped_column(server_default="0")
    unpriced_calls: Mapped[int] = mapped_column(server_default="0")
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, server_default="0")
    completion_tokens: Mapped[int] = mapped_column(BigInteger, server_default="0")
    cost_usd: Mapped[Decimal] = mapped_column(Numeric(18, 9), server_default="0")
    admitted_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class Leased:
    """Work that one process holds at a time: the token fences off whoever held it before."""

    lease_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(server_default="0")
    enqueued_at: Mapped[datetime | None]
    task_name: Mapped[str | None]


class Run(Identified, Leased, Base):
    """One execution of a strategy. `pending` counts the effects of its fan-out that have not ended."""

    __tablename__ = "runs"
    __table_args__ = (
        _one_of("state", RUN_STATES),
        _one_of("outcome", OUTCOMES),
        CheckConstraint("(state = 'ended') = (outcome IS NOT NULL)", name="ended_once"),
        Index("runs_root_idx", "question_id", unique=True, postgresql_where=sql("parent_step_id IS NULL")),
        Index("runs_ready_idx", "enqueued_at", postgresql_where=sql("state = 'ready'")),
        Index("runs_leased_idx", "lease_until", postgresql_where=sql("state = 'running'")),
        Index(None, "question_id"),
    )

    question_id: Mapped[UUID] = mapped_column(ForeignKey("questions.id", ondelete="CASCADE"))
    parent_step_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("steps.id", ondelete="CASCADE", use_alter=True), unique=True
    )
    depth: Mapped[int] = mapped_column(server_default="0")
    text: Mapped[str]
    strategy: Mapped[str]
    config: Mapped[dict[str, Any]]
    ancestors: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))
    state: Mapped[str] = mapped_column(server_default="ready")
    pending: Mapped[int] = mapped_column(server_default="0")
    outcome: Mapped[str | None]
    answer: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    ended_at: Mapped[datetime | None]


class Step(Identified, Leased, Base):
    """An effect and its reply. `position` orders the steps of a run; `failures` keeps every failed try."""

    __tablename__ = "steps"
    __table_args__ = (
        UniqueConstraint("run_id", "key"),
        _one_of("state", STEP_STATES),
        Index("steps_ready_idx", "enqueued_at", postgresql_where=sql("state = 'ready'")),
        Index("steps_leased_idx", "lease_until", postgresql_where=sql("state = 'running'")),
    )

    run_id: Mapped[UUID] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(64))
    position: Mapped[int]
    kind: Mapped[str]
    request: Mapped[dict[str, Any]]
    reply: Mapped[Any | None] = mapped_column(JSONB(none_as_null=True))
    failures: Mapped[list[Any]] = mapped_column(server_default=sql("'[]'"))
    state: Mapped[str]
    ended_at: Mapped[datetime | None]


class LLMCall(Identified, Base):
    """A recorded call of the language model. `cost_usd` is null where its price is not known."""

    __tablename__ = "llm_calls"

    step_id: Mapped[UUID] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"), unique=True)
    question_id: Mapped[UUID] = mapped_column(ForeignKey("questions.id", ondelete="CASCADE"), index=True)
    model: Mapped[str]
    request: Mapped[dict[str, Any]]
    reply: Mapped[dict[str, Any]]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    cost_usd: Mapped[Decimal | None] = mapped_column(Numeric(18, 9))
    latency_ms: Mapped[int]
    tries: Mapped[int]


class Audited:
    """A typed audit row, written in the transaction of the step it comes from."""

    run_id: Mapped[UUID] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    step_id: Mapped[UUID] = mapped_column(ForeignKey("steps.id", ondelete="CASCADE"))


class RefinementStepRow(Identified, Audited, Base):
    __tablename__ = "refinement_steps"
    __table_args__ = (UniqueConstraint("run_id", "iteration"),)

    iteration: Mapped[int]
    query: Mapped[str]
    answer: Mapped[str]
    confidence: Mapped[float | None]
    relevance: Mapped[float | None]
    accuracy: Mapped[float | None]
    completeness: Mapped[float | None]
    clarity: Mapped[float | None]
    supported: Mapped[bool | None]
    grounding: Mapped[float | None]
    issues: Mapped[list[Any]]
    suggestions: Mapped[list[Any]]


class SubAnswerRow(Identified, Audited, Base):
    __tablename__ = "sub_answers"
    __table_args__ = (UniqueConstraint("run_id", "position"),)

    position: Mapped[int]
    question: Mapped[str]
    answer: Mapped[str]
    depth: Mapped[int]
    outcome: Mapped[str]
    confidence: Mapped[float | None]


class HypotheticalDocumentRow(Identified, Audited, Base):
    __tablename__ = "hypothetical_documents"
    __table_args__ = (UniqueConstraint("run_id", "position"),)

    position: Mapped[int]
    text: Mapped[str]
    kept: Mapped[bool]

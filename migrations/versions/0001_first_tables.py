"""first tables

Revision: 0001
Revises:
"""

from __future__ import annotations

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from burnish.store.vector_index import ensure_vector_index

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.create_table(
        "batches",
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column(
            "rejected",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("batches_pkey")),
    )
    op.create_index("batches_open_idx", "batches", ["id"], unique=False, postgresql_where=sa.text("ended_at IS NULL"))
    op.create_table(
        "collections",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("embedding_model", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("chunk_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("word_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("collections_pkey")),
        sa.UniqueConstraint("name", name=op.f("collections_name_key")),
    )
    op.create_table(
        "documents",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column(
            "details",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("documents_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("documents_pkey")),
        sa.UniqueConstraint("collection_id", "external_id", name=op.f("documents_collection_id_external_id_key")),
    )
    op.create_table(
        "lexemes",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("search_config", sa.Text(), nullable=False),
        sa.Column("lexeme", sa.Text(), nullable=False),
        sa.Column("chunk_count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("lexemes_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "search_config", "lexeme", name=op.f("lexemes_pkey")),
    )
    op.create_table(
        "questions",
        sa.Column("batch_id", sa.Uuid(), nullable=True),
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("custom_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("gold", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column(
            "details",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("state", sa.Text(), server_default="queued", nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("answer", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("calls", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unpriced_calls", sa.Integer(), server_default="0", nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cost_usd", sa.Numeric(precision=18, scale=9), server_default="0", nullable=False),
        sa.Column("admitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(state = 'ended') = (outcome IS NOT NULL)", name=op.f("questions_ended_once_check")),
        sa.CheckConstraint("lane IN ('interactive', 'batch')", name=op.f("questions_lane_check")),
        sa.CheckConstraint(
            "outcome IN ('succeeded', 'abstained', 'failed', 'cancelled', 'expired', 'budget_exceeded')",
            name=op.f("questions_outcome_check"),
        ),
        sa.CheckConstraint("state IN ('queued', 'running', 'ended')", name=op.f("questions_state_check")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("questions_batch_id_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name=op.f("questions_collection_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("questions_pkey")),
        sa.UniqueConstraint("batch_id", "custom_id", name=op.f("questions_batch_id_custom_id_key")),
    )
    op.create_index("questions_progress_idx", "questions", ["batch_id", "state", "outcome"], unique=False)
    op.create_index(
        "questions_queued_idx",
        "questions",
        ["lane", "batch_id", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "questions_running_idx",
        "questions",
        ["lane", "batch_id"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "chunks",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("start_offset", sa.Integer(), nullable=False),
        sa.Column("end_offset", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("search_config", postgresql.REGCONFIG(), nullable=False),
        sa.Column(
            "search",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector(search_config, folded)", persisted=True),
            nullable=False,
        ),
        sa.Column("word_count", sa.Integer(), nullable=False),
        sa.Column("embedding", pgvector.sqlalchemy.vector.VECTOR(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("chunks_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("chunks_document_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("chunks_pkey")),
        sa.UniqueConstraint("document_id", "position", name=op.f("chunks_document_id_position_key")),
    )
    op.create_index(op.f("chunks_collection_id_idx"), "chunks", ["collection_id"], unique=False)
    op.create_index("chunks_search_idx", "chunks", ["search"], unique=False, postgresql_using="gin")
    op.create_table(
        "runs",
        sa.Column("question_id", sa.Uuid(), nullable=False),
        sa.Column("parent_step_id", sa.Uuid(), nullable=True),
        sa.Column("depth", sa.Integer(), server_default="0", nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column(
            "ancestors",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column("state", sa.Text(), server_default="ready", nullable=False),
        sa.Column("pending", sa.Integer(), server_default="0", nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("answer", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("enqueued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("task_name", sa.Text(), nullable=True),
        sa.CheckConstraint("(state = 'ended') = (outcome IS NOT NULL)", name=op.f("runs_ended_once_check")),
        sa.CheckConstraint(
            "outcome IN ('succeeded', 'abstained', 'failed', 'cancelled', 'expired', 'budget_exceeded')",
            name=op.f("runs_outcome_check"),
        ),
        sa.CheckConstraint("state IN ('ready', 'running', 'waiting', 'ended')", name=op.f("runs_state_check")),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("runs_question_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("runs_pkey")),
        sa.UniqueConstraint("parent_step_id", name=op.f("runs_parent_step_id_key")),
    )
    op.create_index(
        "runs_leased_idx", "runs", ["lease_until"], unique=False, postgresql_where=sa.text("state = 'running'")
    )
    op.create_index(op.f("runs_question_id_idx"), "runs", ["question_id"], unique=False)
    op.create_index(
        "runs_ready_idx", "runs", ["enqueued_at"], unique=False, postgresql_where=sa.text("state = 'ready'")
    )
    op.create_index(
        "runs_root_idx", "runs", ["question_id"], unique=True, postgresql_where=sa.text("parent_step_id IS NULL")
    )
    op.create_table(
        "steps",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("request", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("reply", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column(
            "failures",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("enqueued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("task_name", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('ready', 'running', 'waiting', 'done', 'failed')", name=op.f("steps_state_check")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("steps_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("steps_pkey")),
        sa.UniqueConstraint("run_id", "key", name=op.f("steps_run_id_key_key")),
    )
    op.create_index(
        "steps_leased_idx", "steps", ["lease_until"], unique=False, postgresql_where=sa.text("state = 'running'")
    )
    op.create_index(
        "steps_ready_idx", "steps", ["enqueued_at"], unique=False, postgresql_where=sa.text("state = 'ready'")
    )
    op.create_table(
        "hypothetical_documents",
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("hypothetical_documents_run_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["step_id"], ["steps.id"], name=op.f("hypothetical_documents_step_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("hypothetical_documents_pkey")),
        sa.UniqueConstraint("run_id", "position", name=op.f("hypothetical_documents_run_id_position_key")),
    )
    op.create_table(
        "llm_calls",
        sa.Column("step_id", sa.Uuid(), nullable=False),
        sa.Column("question_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("reply", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Numeric(precision=18, scale=9), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("llm_calls_question_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("llm_calls_step_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("llm_calls_pkey")),
        sa.UniqueConstraint("step_id", name=op.f("llm_calls_step_id_key")),
    )
    op.create_index(op.f("llm_calls_question_id_idx"), "llm_calls", ["question_id"], unique=False)
    op.create_table(
        "refinement_steps",
        sa.Column("iteration", sa.Integer(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("relevance", sa.Double(), nullable=True),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("completeness", sa.Double(), nullable=True),
        sa.Column("clarity", sa.Double(), nullable=True),
        sa.Column("supported", sa.Boolean(), nullable=True),
        sa.Column("grounding", sa.Double(), nullable=True),
        sa.Column("issues", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("suggestions", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("refinement_steps_run_id_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["step_id"], ["steps.id"], name=op.f("refinement_steps_step_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("refinement_steps_pkey")),
        sa.UniqueConstraint("run_id", "iteration", name=op.f("refinement_steps_run_id_iteration_key")),
    )
    op.create_table(
        "sub_answers",
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("sub_answers_run_id_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("sub_answers_step_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("sub_answers_pkey")),
        sa.UniqueConstraint("run_id", "position", name=op.f("sub_answers_run_id_position_key")),
    )
    op.create_foreign_key(
        op.f("runs_parent_step_id_fkey"), "runs", "steps", ["parent_step_id"], ["id"], ondelete="CASCADE"
    )
    ensure_vector_index(op.get_bind(), 384)


def downgrade() -> None:
    op.drop_constraint(op.f("runs_parent_step_id_fkey"), "runs", type_="foreignkey")
    op.drop_table("sub_answers")
    op.drop_table("refinement_steps")
    op.drop_index(op.f("llm_calls_question_id_idx"), table_name="llm_calls")
    op.drop_table("llm_calls")
    op.drop_table("hypothetical_documents")
    op.drop_index("steps_ready_idx", table_name="steps", postgresql_where=sa.text("state = 'ready'"))
    op.drop_index("steps_leased_idx", table_name="steps", postgresql_where=sa.text("state = 'running'"))
    op.drop_table("steps")
    op.drop_index("runs_root_idx", table_name="runs", postgresql_where=sa.text("parent_step_id IS NULL"))
    op.drop_index("runs_ready_idx", table_name="runs", postgresql_where=sa.text("state = 'ready'"))
    op.drop_index(op.f("runs_question_id_idx"), table_name="runs")
    op.drop_index("runs_leased_idx", table_name="runs", postgresql_where=sa.text("state = 'running'"))
    op.drop_table("runs")
    op.drop_index("chunks_search_idx", table_name="chunks", postgresql_using="gin")
    op.drop_index(op.f("chunks_collection_id_idx"), table_name="chunks")
    op.drop_table("chunks")
    op.drop_index("questions_running_idx", table_name="questions", postgresql_where=sa.text("state = 'running'"))
    op.drop_index("questions_queued_idx", table_name="questions", postgresql_where=sa.text("state = 'queued'"))
    op.drop_index("questions_progress_idx", table_name="questions")
    op.drop_table("questions")
    op.drop_table("lexemes")
    op.drop_table("documents")
    op.drop_table("collections")
    op.drop_index("batches_open_idx", table_name="batches", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_table("batches")

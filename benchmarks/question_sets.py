"""Published questions with their answers, and their corpora as collections in the benchmarks' database."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import Engine, create_engine, make_url, text

from benchmarks.retrieval import DATABASE, SETS, QuestionSet, ingest_corpus, read_rows
from burnish.commands.deployment import require_source_tree
from burnish.commands.up import migrate
from burnish.store.database import make_engine
from burnish.store.search_index import find_collection

ANSWERED: Mapping[str, QuestionSet] = {
    "xquad-en": SETS["xquad-en"],
    "xquad-ar": SETS["xquad-ar"],
    "hotpotqa": QuestionSet("hotpotqa", "en", with_title=True),
}


@dataclass(frozen=True)
class Question:
    """golds: the answers that count as right. documents: all that it takes to find one."""

    set: str
    id: str
    text: str
    golds: tuple[str, ...]
    documents: frozenset[str]


def questions_of(data: Path, name: str, number: int) -> list[Question]:
    """The first questions of the set by the SHA-256 of their ids: a choice that nobody made."""
    language = ANSWERED[name].language
    rows = [
        row for row in read_rows(data / "dev" / ANSWERED[name].folder / "questions.jsonl") if row["lang"] == language
    ]
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())
    return [
        Question(name, row["id"], row["question"], tuple(row["answers"]), frozenset(row["gold_doc_ids"]))
        for row in rows[:number]
    ]


def in_turn(sets: Sequence[Sequence[Question]]) -> list[Question]:
    """The first question of every set, then the second of every set, and so on."""
    longest = max(map(len, sets), default=0)
    return [questions[n] for n in range(longest) for questions in sets if n < len(questions)]


def open_database(url: str) -> Engine:
    """The benchmarks' database beside the given one, made and migrated where it is missing."""
    with create_engine(url, isolation_level="AUTOCOMMIT").connect() as connection:
        if not connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": DATABASE}):
            connection.execute(text(f"CREATE DATABASE {DATABASE}"))
    ours = make_url(url).set(database=DATABASE).render_as_string(hide_password=False)
    migrate(require_source_tree(), ours)
    return make_engine(ours)


def collection_of(database: Engine, data: Path, name: str) -> UUID:
    """The collection that holds the whole corpus of the set."""
    ingest_corpus(database, data, name, ANSWERED[name], os.cpu_count() or 1)
    with database.begin() as connection:
        found = find_collection(connection, name)
    assert found is not None
    return found.id

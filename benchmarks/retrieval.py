"""How well and how fast retrieval finds, on published question sets, beside reference runs on the same questions.

    BURNISH_DATABASE_URL=... python benchmarks/retrieval.py [xquad-en xquad-ar arcd scifact] [--threads N]

The corpora are ingested into a database of its own beside the given one, which is kept, so that a second run only
searches. The questions go through the very search of the product: by vectors alone, by words alone (BM25), and fused.
References are recorded runs of BM25 (bm25s, stemmed), all-MiniLM-L6-v2 and their fusion, scored here by the same code.
A set fails where the fused search falls below the reference BM25 by more than .03.

The data (BURNISH_EVALDATA, default ../shared/evaldata) are other people's and not part of burnish.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, make_url, text

from burnish.effects import Retrieve, SearchQuery
from burnish.store.database import make_engine
from burnish.store.search_index import find_collection
from burnish.text.metrics import ndcg_at_k
from burnish.world.documents import Document
from burnish.world.embeddings import EmbeddedE5
from burnish.world.ingestion import IngestReport, ingest
from burnish.world.retrieval import Voices, search

ROOT = Path(__file__).resolve().parent.parent
DATABASE = "burnish_retrieval_benchmark"
CHUNKS_PER_QUESTION = 50  # of which the first ten documents count
ALLOWED_LOSS = 0.03
VOICES = {"fused": Voices(), "vectors": Voices(words=False), "words": Voices(vectors=False)}
REFERENCES = {"bm25": "ref BM25", "minilm": "ref MiniLM", "rrf": "ref RRF"}


@dataclass(frozen=True)
class QuestionSet:
    """with_title: whether documents have titles worth indexing; the references were run the same way."""

    folder: str
    language: str
    with_title: bool = False


SETS = {
    "xquad-en": QuestionSet("xquad", "en"),
    "xquad-ar": QuestionSet("xquad", "ar"),
    "arcd": QuestionSet("arcd", "ar"),
    "scifact": QuestionSet("scifact", "en", with_title=True),
}


@dataclass
class Measured:
    """Scores by kind of search, one for each question; milliseconds of each fused search."""

    scores: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    wall: list[float] = field(default_factory=list[float])
    client_cpu: list[float] = field(default_factory=list[float])
    server_cpu: list[float] = field(default_factory=list[float])


def main() -> int:
    arguments = _arguments()
    data = Path(os.environ.get("BURNISH_EVALDATA", ROOT.parent / "shared" / "evaldata"))
    if not data.is_dir():
        print(f"skipped: there is no evaluation data at {data}; set BURNISH_EVALDATA to where it lies")
        return 0
    url = arguments.database_url or os.environ.get("BURNISH_DATABASE_URL")
    if not url:
        print("set BURNISH_DATABASE_URL to a Postgres server with pgvector, on which databases may be made")
        return 2
    database = make_engine(_database(url))
    measured: dict[str, Measured] = {}
    for name in arguments.sets or SETS:
        ingest_corpus(database, data, name, SETS[name], arguments.threads)
        measured[name] = _measure(database, data, name)
    return _print(measured)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Retrieval quality and speed on published question sets.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores that embedding may use")
    parser.add_argument("--database-url", help="instead of BURNISH_DATABASE_URL")
    arguments = parser.parse_args()
    if unknown := set(arguments.sets).difference(SETS):
        parser.error(f"unknown sets: {', '.join(sorted(unknown))}")
    return arguments


def _database(url: str) -> str:
    """The address of the benchmark's database, made and migrated where it is missing."""
    ours = make_url(url).set(database=DATABASE)
    with create_engine(url, isolation_level="AUTOCOMMIT").connect() as connection:
        if not connection.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": DATABASE}):
            connection.execute(text(f"CREATE DATABASE {DATABASE}"))
    config = Config(ROOT / "alembic.ini")
    with create_engine(ours).connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
    return ours.render_as_string(hide_password=False)


def ingest_corpus(database: Engine, data: Path, name: str, chosen: QuestionSet, threads: int) -> None:
    """Put what the collection of this name lacks of the set's corpus into it, which takes long only the first time."""
    documents = list(_documents(data, chosen))
    started = time.monotonic()

    def on_progress(report: IngestReport) -> None:
        done = report.added + report.updated + report.unchanged
        print(f"\r{name}: {done} of {len(documents)} documents, {report.chunks} chunks", end="", file=sys.stderr)

    report = ingest(database, EmbeddedE5(threads=threads), name, documents, on_progress=on_progress)
    print(f", {time.monotonic() - started:.0f} s", file=sys.stderr)
    if report.failed:
        raise SystemExit(f"{name}: {len(report.failed)} documents could not be ingested, the first: {report.failed[0]}")


def _documents(data: Path, chosen: QuestionSet) -> Iterator[Document]:
    for row in read_rows(data / "common" / chosen.folder / "corpus.jsonl"):
        if row["lang"] == chosen.language:
            yield Document(
                document_id=row["doc_id"],
                title=row["title"] if chosen.with_title else "",
                text=row["text"],
                media_type="text/plain",
                source=row["doc_id"],
                language=chosen.language,
                metadata={},
            )


def _measure(database: Engine, data: Path, name: str) -> Measured:
    folder = data / "dev" / SETS[name].folder
    grades = read_grades(folder / "qrels.tsv")
    questions = [row for row in read_rows(folder / "questions.jsonl") if row["lang"] == SETS[name].language]
    questions = [row for row in questions if grades.get(row["id"])]
    measured = Measured()
    for reference, title in REFERENCES.items():
        run = {row["id"]: row["doc_ids"] for row in read_rows(folder / f"baseline-run.{reference}.jsonl")}
        measured.scores[title] = [ndcg_at_k(run.get(row["id"], []), grades[row["id"]], 10) for row in questions]
    with database.begin() as connection:
        collection = find_collection(connection, name)
        assert collection is not None
        collection_id = collection.id
    searcher = _Searcher(database, collection_id, measured)
    searcher.warm_up(questions[0]["question"])
    for row in questions:
        for voices in VOICES:
            found = searcher.documents(row["question"], voices)
            measured.scores.setdefault(voices, []).append(ndcg_at_k(found, grades[row["id"]], 10))
    return measured


class _Searcher:
    def __init__(self, database: Engine, collection: UUID, measured: Measured) -> None:
        self._database = database
        self._collection = collection
        self._measured = measured
        self._embedder = EmbeddedE5()

    def warm_up(self, question: str) -> None:
        """Load the model and open a connection, neither of which is part of a search."""
        for round_ in range(6):  # psycopg prepares a statement at its sixth use
            self._search(f"{question} {round_}", Voices())

    def documents(self, question: str, voices: str) -> list[str]:
        if voices != "fused":
            return self._search(question, VOICES[voices])
        with self._database.begin() as connection:
            driver: Any = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            server = driver.info.backend_pid
        before = time.perf_counter(), time.process_time(), _cpu_of(server)
        found = self._search(question, VOICES[voices])
        after = time.perf_counter(), time.process_time(), _cpu_of(server)
        for series, start, end in zip(self._series(), before, after, strict=True):
            series.append((end - start) * 1000)
        return found

    def _series(self) -> tuple[list[float], list[float], list[float]]:
        return self._measured.wall, self._measured.client_cpu, self._measured.server_cpu

    def _search(self, question: str, voices: Voices) -> list[str]:
        request = Retrieve((SearchQuery(question),), top_k=CHUNKS_PER_QUESTION, limit=CHUNKS_PER_QUESTION)
        found = search(self._database, self._embedder, self._collection, request, voices=voices)
        return [passage.document_id for passage in found]


def _cpu_of(pid: int) -> float:
    """Seconds of CPU that a server process of this machine has used; 0 where it cannot be seen."""
    try:
        nanoseconds = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
    except OSError:
        return 0.0
    return int(nanoseconds) / 1e9


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    """The grade of each relevant document, by question."""
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text().splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            grades.setdefault(question, {})[document] = int(grade)
    return grades


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file that holds a JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _print(measured: Mapping[str, Measured]) -> int:
    columns = ["vectors", "words", "fused", *REFERENCES.values()]
    print(f"\nnDCG@10{'questions':>14}" + "".join(f"{column:>12}" for column in columns) + "   fused - ref BM25")
    failures = 0
    for name, each in measured.items():
        gains = [ours - theirs for ours, theirs in zip(each.scores["fused"], each.scores["ref BM25"], strict=True)]
        gain, error = statistics.fmean(gains), statistics.stdev(gains) / len(gains) ** 0.5
        failed = gain < -ALLOWED_LOSS
        failures += failed
        means = "".join(f"{statistics.fmean(each.scores[column]):>12.4f}" for column in columns)
        print(f"{name:<12}{len(gains):>9}{means}   {gain:+.4f} ± {error:.4f} {'BELOW' if failed else 'ok'}")
    _print_speed(measured)
    return int(failures > 0)


def _print_speed(measured: Mapping[str, Measured]) -> None:
    print(
        "\nmilliseconds of one fused search: median, 95th percentile, CPU here (embedding included), CPU of the server"
    )
    for name, each in measured.items():
        median, high = statistics.median(each.wall), statistics.quantiles(each.wall, n=20)[-1]
        print(f"{name:<12}{median:>9.1f}{high:>9.1f}{_mean(each.client_cpu):>9.1f}{_mean(each.server_cpu):>9.1f}")


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


if __name__ == "__main__":
    raise SystemExit(main())

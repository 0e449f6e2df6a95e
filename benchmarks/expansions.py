"""What imagined passages do for retrieval: HyDE with passages that a model wrote once and that were recorded.

    BURNISH_DATABASE_URL=... python benchmarks/expansions.py [scifact nfcorpus] [--threads N]

The strategy `hyde` itself runs over every question, in both of its modes, and searches as it always does; only the
model is a recording (Gemini 2.0 Flash, asked for 100, 150 and 250 words). "all three" takes the three texts as the
three passages that HyDE imagines by default. Beside it stand the search for the question alone, and what was published
for the same recordings with all-MiniLM-L6-v2 over the whole sets, question and text joined into one query.
A set fails where the default HyDE falls below the question alone by more than .03.

The corpora are kept in the database of the retrieval benchmark; a first run embeds what is missing of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import numpy as np
from sqlalchemy import Engine

from benchmarks.question_sets import open_database
from benchmarks.retrieval import (
    ALLOWED_LOSS,
    CHUNKS_PER_QUESTION,
    ROOT,
    SETS,
    QuestionSet,
    ingest_corpus,
    read_grades,
    read_rows,
)
from burnish.config import HyDEConfig, SearchConfig, StrategyConfig
from burnish.effects import Ask, Reply, Retrieve, SearchQuery, Subquestion
from burnish.engine import run
from burnish.store.search_index import find_collection
from burnish.strategies.registry import begin
from burnish.text.metrics import ndcg_at_k
from burnish.world.embeddings import EmbeddedE5, Role, Vectors
from burnish.world.retrieval import Voices, search

Mode = Literal["mean", "per_document"]

EXPANDED: Mapping[str, QuestionSet] = {
    "scifact": SETS["scifact"],
    "nfcorpus": QuestionSet("nfcorpus", "en", with_title=True),
}
LENGTHS = ("100", "150", "250")
ALL_THREE = "all three"
ALONE = "question alone"
VECTORS, FUSED = Voices(words=False), Voices()
NO_ANSWER = Reply('{"quote": "", "answer": "", "supported": "no"}')


@dataclass(frozen=True)
class Expanded:
    """A question, the graded documents for it, and the texts recorded for it by their length."""

    text: str
    grades: Mapping[str, int]
    texts: Mapping[str, str]

    def imagined(self, row: str) -> tuple[str, ...]:
        return tuple(self.texts[length] for length in LENGTHS) if row == ALL_THREE else (self.texts[row],)


class RememberingE5(EmbeddedE5):
    """The embedded model; a recorded text is embedded once and searched with many times."""

    def __init__(self, *, threads: int) -> None:
        super().__init__(threads=threads)
        self._known: dict[tuple[str, Role], Vectors] = {}

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        missing = [text for text in dict.fromkeys(texts) if (text, role) not in self._known]
        found = super().embed(missing, role)
        self._known.update(((text, role), vector) for text, vector in zip(missing, found, strict=True))
        return np.stack([self._known[text, role] for text in texts])


@dataclass(frozen=True)
class Shelf:
    """A collection to search in."""

    database: Engine
    collection: UUID
    embedder: RememberingE5

    def alone(self, question: str, voices: Voices) -> list[str]:
        """The documents that the question itself finds, best first."""
        return self._find(Retrieve((SearchQuery(question),), CHUNKS_PER_QUESTION, CHUNKS_PER_QUESTION), voices)

    def imagining(self, question: str, imagined: Sequence[str], mode: Mode, voices: Voices) -> list[str]:
        """The documents that the strategy `hyde` finds where its model writes these passages, best first."""
        found: list[str] = []

        def perform(effect: Retrieve | Ask) -> Any:
            if isinstance(effect, Ask):
                return NO_ANSWER if effect.seed is None else Reply(imagined[effect.seed])
            found.extend(self._find(effect, voices))
            return ()

        config = StrategyConfig(
            search=SearchConfig(top_k=CHUNKS_PER_QUESTION),
            hyde=HyDEConfig(num_hypothetical_docs=len(imagined), mode=mode, max_final_docs=CHUNKS_PER_QUESTION),
        )
        run(Subquestion(question, "hyde", config, depth=0), begin, perform, threads=1)
        return found

    def _find(self, request: Retrieve, voices: Voices) -> list[str]:
        found = search(self.database, self.embedder, self.collection, request, voices=voices)
        return [passage.document_id for passage in found]


Scores = Mapping[tuple[str, str], Sequence[float]]
SEARCHES: Mapping[str, tuple[Mode, Voices]] = {
    "mean, vectors": ("mean", VECTORS),
    "mean": ("mean", FUSED),
    "per_document": ("per_document", FUSED),
}


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
    database = open_database(url)
    embedder = RememberingE5(threads=arguments.threads)
    failures = 0
    for name in arguments.sets or EXPANDED:
        ingest_corpus(database, data, name, EXPANDED[name], arguments.threads)
        scores = measure(Shelf(database, _collection(database, name), embedder), questions_of(data, name))
        failures += _print(name, scores, published(data, name))
    return int(failures > 0)


def questions_of(data: Path, name: str) -> list[Expanded]:
    """The questions of the development half that have a graded document."""
    folder = data / "dev" / EXPANDED[name].folder
    grades = read_grades(folder / "qrels.tsv")
    rows = [row for row in read_rows(folder / "expansions.jsonl") if grades.get(row["id"])]
    return [Expanded(row["question"], grades[row["id"]], row["expansions"]) for row in rows]


def measure(shelf: Shelf, questions: Sequence[Expanded]) -> dict[tuple[str, str], list[float]]:
    """nDCG@10 of every question, by row and column of the table."""
    return {place: [_score(question, find) for question in questions] for place, find in _searches(shelf).items()}


def _searches(shelf: Shelf) -> dict[tuple[str, str], Callable[[Expanded], list[str]]]:
    """What finds documents for a question, by row and column of the table."""
    finders: dict[tuple[str, str], Callable[[Expanded], list[str]]] = {}
    for column, (mode, voices) in SEARCHES.items():
        finders[ALONE, column] = lambda question, voices=voices: shelf.alone(question.text, voices)
        for row in (*LENGTHS, ALL_THREE):
            finders[row, column] = lambda question, row=row, mode=mode, voices=voices: shelf.imagining(
                question.text, question.imagined(row), mode, voices
            )
    return finders


def _score(question: Expanded, find: Callable[[Expanded], list[str]]) -> float:
    return ndcg_at_k(find(question), question.grades, 10)


def published(data: Path, name: str) -> dict[str, float]:
    """nDCG@10 as published for all-MiniLM-L6-v2, by row of the table."""
    tables = json.loads((data / "published" / "tables.json").read_text(encoding="utf-8"))
    figures: dict[str, float] = tables["query_expansion_jina"][f"{name}_minilm"]
    return {ALONE if row == "none" else row: figure / 100 for row, figure in figures.items()}


def _collection(database: Engine, name: str) -> UUID:
    with database.begin() as connection:
        found = find_collection(connection, name)
    assert found is not None
    return found.id


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What recorded imagined passages do for retrieval.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(EXPANDED)}; all by default")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores that embedding may use")
    parser.add_argument("--database-url", help="instead of BURNISH_DATABASE_URL")
    arguments = parser.parse_args()
    if unknown := set(arguments.sets).difference(EXPANDED):
        parser.error(f"unknown sets: {', '.join(sorted(unknown))}")
    return arguments


def _print(name: str, scores: Scores, theirs: Mapping[str, float]) -> bool:
    """Print the table of a set; true where the default HyDE falls too far below the question alone."""
    columns = "".join(f"{column:>20}" for column in SEARCHES)
    print(f"\n{name}, {len(scores[ALONE, 'mean'])} questions, nDCG@10\n{'':<16}{columns}{'MiniLM':>10}")
    for row in (ALONE, *LENGTHS, ALL_THREE):
        means = "".join(f"{statistics.fmean(scores[row, column]):>20.4f}" for column in SEARCHES)
        print(f"{row:<16}{means}" + (f"{theirs[row]:>10.4f}" if row in theirs else ""))
    gains = {column: _gain(scores, column) for column in SEARCHES}
    print(f"{'gain':<16}" + "".join(f"{f'{gain:+.4f} ± {error:.4f}':>20}" for gain, error in gains.values()))
    failed = gains[HyDEConfig().mode][0] < -ALLOWED_LOSS
    print(f"{name}: {'BELOW' if failed else 'ok'}", flush=True)
    return failed


def _gain(scores: Scores, column: str) -> tuple[float, float]:
    """What all three passages add to the question alone, and one standard error of the paired difference."""
    pairs = zip(scores[ALL_THREE, column], scores[ALONE, column], strict=True)
    gains = [imagined - alone for imagined, alone in pairs]
    return statistics.fmean(gains), statistics.stdev(gains) / len(gains) ** 0.5


if __name__ == "__main__":
    sys.exit(main())

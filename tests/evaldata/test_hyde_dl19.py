"""HyDE as its paper computes it, on TREC DL 2019 with passages that GPT-3 wrote for its authors.

The passages of MS MARCO are not among the data. So the formula is held to, and the scores of recorded runs, but no
search of ours can be compared with those runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, text

from burnish.config import HyDEConfig, SearchConfig, StrategyConfig
from burnish.effects import Retrieve, SearchQuery
from burnish.store.search_index import find_collection
from burnish.text.metrics import average_precision, ndcg_at_k
from burnish.world.embeddings import Vectors
from burnish.world.ingestion import ingest
from burnish.world.retrieval import Voices, search
from tests.strategies.scripted import World
from tests.world.word_embedder import WordEmbedder, document

PASSAGES = 8
FOUND = 10
RECORDED = {
    "bm25": "bm25",
    "rm3": "bm25+rm3",
    "contriever": "contriever",
    "hyde-llama3.1-8b": "hyde contriever llama-3.1-8b-instruct 8 generations",
}
PAPER = StrategyConfig(
    hyde=HyDEConfig(num_hypothetical_docs=PASSAGES, mode="mean", max_final_docs=FOUND), search=SearchConfig(top_k=FOUND)
)


def topics(evaldata: Path) -> list[dict[str, Any]]:
    lines = (evaldata / "dev/hyde-dl19/generations.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def searched_for(topic: Mapping[str, Any]) -> Retrieve:
    """The search that the strategy makes where the model writes the recorded passages."""
    world = World(hypothesise=lambda ask: topic["gpt3"][ask.seed])
    world.answer(topic["question"], "hyde", PAPER)
    [request] = world.searches
    return request


def test_the_search_is_for_the_question_and_the_eight_passages(evaldata: Path) -> None:
    for topic in topics(evaldata):
        request = searched_for(topic)
        imagined = tuple(SearchQuery(passage.strip(), "passage") for passage in topic["gpt3"])
        assert request.queries == (SearchQuery(topic["question"]), *imagined)
        assert len(request.queries) == PASSAGES + 1
        assert request.combine == "mean"


def test_what_is_found_lies_nearest_to_the_mean_of_all_nine_vectors(evaldata: Path, database: Engine) -> None:
    """The documents are what another model wrote for the same topics, since the true ones are not at hand."""
    every, embedder = topics(evaldata), WordEmbedder()
    written = [(f"{topic['id']}-{n}", text) for topic in every for n, text in enumerate(topic["llama-3.1-8b-instruct"])]
    ingest(database, embedder, "dl19", [document(name, text) for name, text in written])
    collection, stored = stored_vectors(database)

    for topic in every:
        request = searched_for(topic)
        found = search(database, embedder, collection, request, voices=Voices(words=False))
        mean = embedder.embed([topic["question"], *topic["gpt3"]], "passage").mean(axis=0)
        similarity = {chunk: float(vector @ mean) for chunk, vector in stored.items()}
        nearest = sorted(similarity.values(), reverse=True)[:FOUND]
        assert [similarity[passage.chunk_id] for passage in found] == pytest.approx(nearest, abs=1e-5), topic["id"]


def stored_vectors(database: Engine) -> tuple[UUID, dict[str, Vectors]]:
    with database.begin() as connection:
        collection = find_collection(connection, "dl19")
        assert collection is not None
        rows = connection.execute(text("SELECT id, CAST(embedding AS text) FROM chunks")).all()
    return collection.id, {str(chunk): np.array(json.loads(vector), np.float32) for chunk, vector in rows}


@pytest.mark.parametrize(("run", "title"), RECORDED.items())
def test_recorded_runs_score_what_was_published_of_them(evaldata: Path, run: str, title: str) -> None:
    """Of each run the first hundred are at hand: enough for nDCG@10, and for a lower bound of the average precision."""
    figures = json.loads((evaldata / "published/tables.json").read_text("utf-8"))["hyde_dl19"][title]
    grades = read_qrels(evaldata / "common/hyde-dl19/qrels.tsv")
    ranked = read_run(evaldata / f"common/hyde-dl19/run.{run}.top100.trec")
    # For TREC DL a passage counts as relevant from grade 2 on, except to nDCG.
    relevant = {query: {name: int(grade >= 2) for name, grade in of.items()} for query, of in grades.items()}
    ndcg = fmean(ndcg_at_k(ranked[query], grades[query], 10) for query in grades)
    precision = fmean(average_precision(ranked[query], relevant[query]) for query in grades)
    print(f"{title}: nDCG@10 {ndcg:.4f} (published {figures['ndcg@10']}), map of 100 {precision:.4f}")
    assert len(grades) == 43
    assert round(ndcg, 4) == figures["ndcg@10"]
    assert figures["map"] * 0.75 < precision < figures["map"]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for query, name, grade in fields_of(path.read_text("utf-8").splitlines()[1:]):
        grades.setdefault(query, {})[name] = int(grade)
    return grades


def read_run(path: Path) -> dict[str, list[str]]:
    """By score, the highest first, and equal ones by name from high to low, as trec_eval orders them."""
    scored: dict[str, list[tuple[float, str]]] = {}
    for query, _, name, _, score, _ in fields_of(path.read_text("utf-8").splitlines()):
        scored.setdefault(query, []).append((float(score), name))
    return {query: [name for _, name in sorted(names, reverse=True)] for query, names in scored.items()}


def fields_of(lines: Iterable[str]) -> list[Sequence[str]]:
    return [line.split() for line in lines]

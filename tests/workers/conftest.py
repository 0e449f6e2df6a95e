"""Questions put to the real pipeline, without the API between."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
import redis
from sqlalchemy import Engine, text

from burnish.settings import Settings
from burnish.store.questions import NewQuestion, accept_batch, admit, find_collection
from burnish.task_queue import make_app, publish
from burnish.testing import SimulatedModel
from burnish.world.assemble import embedder_from
from burnish.world.documents import Document
from burnish.world.ingestion import ingest
from tests.processes import Pipeline, pipeline

PATIENCE_SECONDS = 120.0
RIVERS = "The Danube is 2,850 km long and ends in the Black Sea. The Rhine is 1,230 km long and ends in the North Sea."
QUOTE = "The Danube is 2,850 km long"
DRAFT = {"quote": QUOTE, "answer": "2,850 km", "supported": "yes"}
SCORES = {"relevance": 3, "accuracy": 3, "completeness": 3, "clarity": 3, "issues": ["vague"]}


def script(**changes: Any) -> dict[str, Any]:
    """A model that answers, imagines, takes apart and puts together, and judges every answer middling."""
    rules = [
        {"kind": "answer|rewrite", "reply": DRAFT},
        {"kind": "answer_and_judge", "reply": {**DRAFT, **SCORES, "suggestions": ["length of rivers"]}},
        {"kind": "merge", "reply": {"answer": "The Danube is 2,850 km long"}},
        {"kind": "text", "reply": "The Danube is a river of Europe, 2,850 km long, as any atlas tells its readers."},
    ]
    return {"rules": [*changes.pop("rules", []), *rules], "latency": 0.05, **changes}


@dataclass(frozen=True)
class Desk:
    """Where a test hands in questions and looks up what became of them."""

    database: Engine
    database_url: str
    redis_url: str

    def pipeline(self, model: SimulatedModel, **options: Any) -> AbstractContextManager[Pipeline]:
        """The documents ingested, and the real processes that answer questions about them."""
        self.ingest(model)
        servers: tuple[Any, ...] = (self.database_url, self.redis_url, model)
        return pipeline(*servers, **{"lanes": ["batch"], **options})

    def empty_the_broker(self) -> None:
        client: Any = redis.Redis.from_url(self.redis_url)  # pyright: ignore[reportUnknownMemberType]
        client.flushall()

    def ingest(self, model: SimulatedModel) -> None:
        settings = Settings(
            embedding_model="openai/simulated-embedding",
            embedding_url=model.url,
            embedding_key=model.key,  # pyright: ignore[reportArgumentType] (pydantic makes a secret of it)
        )
        rivers = Document("rivers", "Rivers", RIVERS, "text/plain", "rivers.txt", "en", {})
        ingest(self.database, embedder_from(settings), "default", [rivers])

    def submit(self, *questions: tuple[str, str, Mapping[str, Any]]) -> UUID:
        """Accept (strategy, question, configuration) as one batch, admit it and send its messages."""
        with self.database.begin() as connection:
            collection = find_collection(connection, "default")
            accepted = [
                NewQuestion(f"q{number}", question, "en", strategy, dict(config), collection)
                for number, (strategy, question, config) in enumerate(questions)
            ]
            batch = accept_batch(connection, None, accepted, [])
        with self.database.begin() as connection:
            messages = admit(connection, "batch", 1000)
        publish(make_app(self.redis_url), messages)
        return batch

    def rows(self, statement: str, **values: Any) -> list[Any]:
        with self.database.begin() as connection:
            return list(connection.execute(text(statement), values).all())

    def number(self, statement: str, **values: Any) -> int:
        return int(self.rows(statement, **values)[0][0])

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                states = self.rows("SELECT state, outcome, strategy, error FROM questions")
                runs = self.rows("SELECT task_name, state, pending, attempts FROM runs")
                pytest.fail(f"waited in vain until {what}: {states} {runs}")
            time.sleep(0.05)

    def wait_for_end(self, batch: UUID) -> dict[str, str]:
        """The outcomes by custom_id, once all questions of the batch have ended."""
        count = "SELECT count(*) FROM questions WHERE batch_id = :batch AND state <> 'ended'"
        self.wait_until(lambda: self.number(count, batch=batch) == 0, "all questions ended")
        rows = self.rows("SELECT custom_id, outcome FROM questions WHERE batch_id = :batch", batch=batch)
        return {row.custom_id: row.outcome for row in rows}


@pytest.fixture
def desk(database: Engine, database_url: str, redis_url: str) -> Desk:
    return Desk(database, database_url, redis_url)

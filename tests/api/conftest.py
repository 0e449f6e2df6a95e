"""The API in this process, over the real database and broker of the test."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, select, update

from api.app import create_app
from burnish.results import Answer, Citation, Outcome, Passage
from burnish.settings import Settings
from burnish.store import codec
from burnish.store.models import Batch, Question, Run
from burnish.store.search_index import ensure_collection
from burnish.testing import SimulatedModel, simulated_model

PASSAGE = Passage("c1", "rivers.md", "Rivers", "The Danube is 2,850 km long.", 0, 28, "en", 0.5)
ANSWER = Answer(
    "2,850 km",
    Outcome.SUCCEEDED,
    0.9,
    (PASSAGE,),
    (Citation("rivers.md", "c1", "Rivers", "The Danube is 2,850 km long", 0, 27),),
    {"iterations": 1},
)


@pytest.fixture(scope="session")
def model() -> Generator[SimulatedModel]:
    with simulated_model() as running:
        yield running


def settings_for(database_url: str, redis_url: str, **more: Any) -> Settings:
    """Settings that no `.env` file has a say in."""
    made: Any = Settings
    return made(_env_file=None, database_url=database_url, redis_url=redis_url, **more)


@pytest.fixture
def settings(database_url: str, redis_url: str, model: SimulatedModel) -> Settings:
    return settings_for(
        database_url,
        redis_url,
        embedding_model="openai/simulated-embedding",
        embedding_url=model.url,
        embedding_key=model.key,
    )


@pytest.fixture
def api(settings: Settings, database: Engine) -> Generator[TestClient]:
    """The API, with an empty collection "default"."""
    with database.begin() as connection:
        ensure_collection(connection, "default", "openai/simulated-embedding", 384)
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        yield client


def json_lines(lines: Iterable[Any]) -> bytes:
    """A JSONL body; bytes stand as they are."""
    return b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)


def submit_lines(api: TestClient, lines: Iterable[Any], **params: Any) -> Any:
    """The response to a job of these lines."""
    headers = {"content-type": "application/jsonl"}
    return api.post("/v1/jobs", content=json_lines(lines), params=params, headers=headers)


def rows(database: Engine, table: type[Batch | Question | Run] = Question) -> int:
    with database.begin() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def end_question(database: Engine, custom_id: str, answer: Answer = ANSWER, error: Any = None) -> UUID:
    """End a question as a worker would."""
    ended = (
        update(Question)
        .where(Question.custom_id == custom_id)
        .values(state="ended", outcome=answer.outcome.value, answer=codec.dump_answer(answer), error=error)
        .values(ended_at=func.clock_timestamp(), calls=2, unpriced_calls=1, prompt_tokens=10, completion_tokens=5)
        .values(cost_usd=0.25)
        .returning(Question.id)
    )
    with database.begin() as connection:
        return connection.scalars(ended).one()

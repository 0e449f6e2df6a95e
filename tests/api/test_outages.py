"""A server that is down when something is submitted: 503, and nothing half-written."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from kombu.exceptions import OperationalError
from sqlalchemy import Engine, make_url, text

from api import dependencies
from api.app import create_app
from burnish.store.models import Batch
from burnish.store.search_index import ensure_collection
from tests.api.conftest import end_question, rows, settings_for, submit_lines
from tests.processes import free_port

QUESTION = {"question": "How long is the Danube?", "custom_id": "q"}


@contextmanager
def api_over(database_url: str, redis_url: str) -> Generator[TestClient]:
    with TestClient(create_app(settings_for(database_url, redis_url)), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def no_broker(database_url: str, database: Engine) -> Generator[TestClient]:
    with database.begin() as connection:
        ensure_collection(connection, "default", "openai/simulated-embedding", 384)
    with api_over(database_url, f"redis://127.0.0.1:{free_port()}/0") as client:
        yield client


@pytest.fixture
def no_database(database_url: str, redis_url: str) -> Generator[TestClient]:
    closed = make_url(database_url).set(host="127.0.0.1", port=free_port(), query={})
    with api_over(closed.render_as_string(hide_password=False), redis_url) as client:
        yield client


def assert_unavailable(response: Any, secret: str = "") -> None:
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
    assert int(response.headers["retry-after"]) > 0
    assert response.json()["code"] == "unavailable"
    assert not secret or secret not in response.text


def test_without_a_broker_nothing_is_accepted_and_nothing_written(no_broker: TestClient, database: Engine) -> None:
    assert_unavailable(no_broker.post("/v1/answers", json=QUESTION))
    assert_unavailable(submit_lines(no_broker, [QUESTION]))
    assert_unavailable(no_broker.post("/v1/jobs", json={"questions": [QUESTION]}))
    assert (rows(database), rows(database, Batch)) == (0, 0)


def test_without_a_broker_what_is_there_can_still_be_read(no_broker: TestClient) -> None:
    assert no_broker.get("/v1/jobs").json() == {"jobs": [], "next": None}
    assert no_broker.get("/healthz").status_code == 200
    response = no_broker.get("/readyz")
    assert_unavailable(response)
    assert response.json()["detail"] == "the broker does not answer"


def test_without_a_database_everything_says_so_and_no_message_is_sent(
    no_database: TestClient, redis_url: str, database_url: str
) -> None:
    import redis

    secret = make_url(database_url).password or "?"
    assert_unavailable(no_database.post("/v1/answers", json=QUESTION), secret)
    assert_unavailable(submit_lines(no_database, [QUESTION]), secret)
    assert_unavailable(no_database.get("/v1/jobs"), secret)
    assert_unavailable(no_database.post("/v1/documents", json={"documents": [{"id": "a", "text": "b"}]}), secret)
    assert no_database.get("/readyz").json()["detail"] == "the database does not answer"
    client: Any = redis.Redis.from_url(redis_url)  # pyright: ignore[reportUnknownMemberType]
    assert client.llen("interactive") + client.llen("batch") == 0


def test_a_broker_that_goes_away_after_the_commit_leaves_the_work_to_the_reconciler(
    api: TestClient, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any) -> int:
        raise OperationalError("connection refused")

    monkeypatch.setattr(dependencies, "publish", lost)
    assert api.post("/v1/answers", json=QUESTION).status_code == 202
    assert submit_lines(api, [QUESTION, {"question": "And the Rhine?"}]).status_code == 202
    assert rows(database) == 3


def test_a_database_that_fails_between_the_rows_of_a_job_leaves_none_of_them(api: TestClient, database: Engine) -> None:
    fails_late = """
        CREATE FUNCTION fail_late() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.custom_id = '2500' THEN RAISE EXCEPTION USING ERRCODE = '57P01'; END IF; RETURN new; END $$
    """
    with database.begin() as connection:
        connection.execute(text(fails_late))
        connection.execute(
            text("CREATE TRIGGER fail_late BEFORE INSERT ON questions FOR EACH ROW EXECUTE FUNCTION fail_late()")
        )
    response = submit_lines(api, [{"custom_id": str(n), "question": "Good?"} for n in range(3000)])
    assert_unavailable(response)
    assert (rows(database), rows(database, Batch)) == (0, 0)


def test_a_database_without_tables_is_not_ready(api: TestClient, database: Engine) -> None:
    assert api.get("/readyz").json() == {"status": "ready"}
    with database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    assert "not migrated" in api.get("/readyz").json()["detail"]
    with database.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    response = api.get("/readyz")
    assert_unavailable(response)
    assert "no tables" in response.json()["detail"]


def test_a_retry_without_a_broker_leaves_the_question_as_it_ended(
    no_broker: TestClient, database_url: str, redis_url: str, database: Engine
) -> None:
    from burnish.results import Answer, Outcome

    with api_over(database_url, redis_url) as api:
        asked = api.post("/v1/answers", json=QUESTION).json()
    end_question(database, "q", Answer("no answer", Outcome.FAILED))
    assert_unavailable(no_broker.post(f"/v1/answers/{asked['id']}/retry"))
    assert no_broker.get(f"/v1/answers/{asked['id']}").json()["outcome"] == "failed"

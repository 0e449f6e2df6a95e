"""One question: what is stored, what comes back, and what cannot be asked."""

from __future__ import annotations

import json
import threading
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from api.answers import wait_wanted
from burnish.results import Answer, Outcome
from burnish.settings import Settings
from burnish.store.models import Question, Run
from tests.api.conftest import end_question, rows


def test_a_question_is_stored_let_in_and_told_where_its_answer_will_stand(api: TestClient, database: Engine) -> None:
    response = api.post("/v1/answers", json={"question": "How long is the Danube?", "metadata": {"by": "me"}})
    assert response.status_code == 202
    assert response.headers["location"] == f"/v1/answers/{response.json()['id']}"
    assert "preference-applied" not in response.headers
    with database.begin() as connection:
        question = connection.execute(select(Question)).one()
        run = connection.execute(select(Run)).one()
    assert (question.lane, question.state, question.strategy) == ("interactive", "running", "self_irag")
    assert (question.language, question.details, question.config) == ("en", {"by": "me"}, {})
    assert (run.question_id, run.state, run.task_name) == (question.id, "ready", "self_irag.start")
    read = api.get(response.headers["location"]).json()
    assert (read["state"], read["outcome"], read["answer"]) == ("running", None, None)
    assert read["collection"] == "default"


def test_the_message_of_a_question_is_in_the_interactive_queue(api: TestClient, redis_url: str) -> None:
    import redis

    api.post("/v1/answers", json={"question": "How long is the Danube?", "strategy": "hyde"})
    client: Any = redis.Redis.from_url(redis_url)  # pyright: ignore[reportUnknownMemberType]
    message = json.loads(client.lpop("interactive"))
    assert message["headers"]["task"] == "hyde.start"
    assert "How long is the Danube?" in message["headers"]["argsrepr"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing_field"),
        ({"question": "  \n "}, "empty_question"),
        ({"question": "\x00\x07"}, "empty_question"),
        ({"question": 7}, "wrong_field"),
        ({"question": ["?"]}, "wrong_field"),
        ({"question": "x" * 8001}, "question_too_long"),
        ({"question": "?", "strategy": "magic"}, "unknown_strategy"),
        ({"question": "?", "strategy": 3}, "wrong_field"),
        ({"question": "?", "collection": "nowhere"}, "unknown_collection"),
        ({"question": "?", "config": {"hyde": {"mode": "best"}}}, "invalid_config"),
        ({"question": "?", "config": {"speed": 9}}, "invalid_config"),
        ({"question": "?", "config": {"max_calls": True}}, "invalid_config"),
        ({"question": "?", "config": []}, "wrong_field"),
        ({"question": "?", "custom_id": " "}, "invalid_custom_id"),
        ({"question": "?", "custom_id": "x" * 257}, "invalid_custom_id"),
        ({"question": "?", "custom_id": True}, "wrong_field"),
        ({"question": "?", "gold": 4}, "wrong_field"),
        ({"question": "?", "metadata": "none"}, "wrong_field"),
        (["?"], "not_an_object"),
        ("?", "not_an_object"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_reason_and_not_stored(
    api: TestClient, database: Engine, body: Any, code: str
) -> None:
    response = api.post("/v1/answers", json=body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["errors"][0]["code"] == code
    assert (problem["status"], problem["code"], problem["instance"]) == (422, "invalid_input", "/v1/answers")
    assert problem["detail"]
    assert rows(database) == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"question": "a"',
        b"\xff\xfe{}",
        b'{"question": NaN}',
        b'{"question": "?", "config": {"max_cost_usd": 1e999}}',
        b'{"question": "?", "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "?", "metadata": {"a": ' + b"[" * 60 + b"]" * 60 + b"}}",
        b'{"question": "?", "metadata": {"n": ' + b"1" * 5000 + b"}}",
    ],
)
def test_a_body_that_is_no_json_that_can_be_kept_is_refused(api: TestClient, database: Engine, body: bytes) -> None:
    response = api.post("/v1/answers", content=body)
    assert (response.status_code, response.json()["errors"][0]["code"]) == (422, "malformed_json")
    assert rows(database) == 0


def test_a_body_that_is_too_large_is_refused_before_it_is_read_to_its_end(api: TestClient) -> None:
    response = api.post("/v1/answers", content=b" " * 2_000_001)
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_texts_are_cleaned_of_what_cannot_be_stored(api: TestClient, database: Engine) -> None:
    body = rb'{"question": "How\u0000 long\ud800?", "custom_id": "a\u0000b", "metadata": {"k\u0000": ["\udfff", 1.5]}}'
    assert api.post("/v1/answers", content=body).status_code == 202
    with database.begin() as connection:
        question = connection.execute(select(Question)).one()
    assert (question.text, question.custom_id, question.details) == ("How long?", "ab", {"k": ["", 1.5]})


def test_an_arabic_question_and_its_gold_are_kept_as_they_are(api: TestClient, database: Engine) -> None:
    asked = api.post(
        "/v1/answers", json={"question": "كم يبلغ طول نهر الدانوب؟", "gold": ["2850 كم"], "topic": "rivers"}
    )
    assert (asked.json()["language"], asked.json()["gold"]) == ("ar", {"answers": ["2850 كم"]})
    assert asked.json()["metadata"] == {"topic": "rivers"}


def test_the_settings_of_the_deployment_lie_below_those_of_a_question(api: TestClient, settings: Settings) -> None:
    settings.strategy_defaults.update({"hyde": {"num_hypothetical_docs": 2, "temperature": 0.1}, "max_calls": 50})
    asked = api.post("/v1/answers", json={"question": "How long?", "config": {"hyde": {"temperature": 0.5}}}).json()
    assert asked["config"] == {"hyde": {"num_hypothetical_docs": 2, "temperature": 0.5}, "max_calls": 50}


def test_an_answer_comes_back_with_its_quotes_sources_costs_and_times(api: TestClient, database: Engine) -> None:
    asked = api.post("/v1/answers", json={"question": "How long is the Danube?", "custom_id": "q"}).json()
    end_question(database, "q")
    answer = api.get(f"/v1/answers/{asked['id']}").json()
    assert (answer["state"], answer["outcome"], answer["answer"]) == ("ended", "succeeded", "2,850 km")
    assert answer["citations"] == [
        {"document_id": "rivers.md", "title": "Rivers", "chunk_id": "c1", "quote": "The Danube is 2,850 km long"}
        | {"start": 0, "end": 27}
    ]
    assert answer["sources"][0] == {
        "document_id": "rivers.md",
        "title": "Rivers",
        "chunk_id": "c1",
        "start": 0,
        "end": 28,
        "score": 0.5,
    }
    assert answer["usage"] == {
        "calls": 2,
        "unpriced_calls": 1,
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "cost_usd": 0.25,
    }
    assert answer["created_at"] <= answer["admitted_at"] <= answer["ended_at"]
    assert answer["trace"] == {"iterations": 1}


def test_whoever_waits_gets_the_answer_as_soon_as_it_is_there(api: TestClient, database: Engine) -> None:
    def end_it_when_it_runs() -> None:
        while rows(database, Run) == 0:
            stop.wait(0.02)
        end_question(database, "q")

    stop = threading.Event()
    worker = threading.Thread(target=end_it_when_it_runs)
    worker.start()
    response = api.post(
        "/v1/answers", json={"question": "How long?", "custom_id": "q"}, headers={"Prefer": "respond-async, wait=60"}
    )
    worker.join()
    assert response.status_code == 200
    assert response.headers["preference-applied"] == "wait=60"
    assert response.json()["answer"] == "2,850 km"


def test_whoever_waits_in_vain_is_told_where_the_answer_will_stand(api: TestClient) -> None:
    response = api.post("/v1/answers", json={"question": "How long?"}, headers={"Prefer": "wait=1"})
    assert (response.status_code, response.json()["state"]) == (202, "running")
    assert response.headers["location"].endswith(response.json()["id"])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("wait=5", 5),
        ("Wait = 5", 5),
        ("respond-async, wait=5", 5),
        ('wait="5"; foo=bar', 5),
        ("wait=601", 600),
        ("wait=99999999999999999999", 0),
        ("wait=-5", 0),
        ("wait=٥", 0),
        ("wait=soon", 0),
        ("waiting=5", 0),
    ],
)
def test_a_wish_to_wait_is_read_and_what_is_not_understood_is_ignored(header: str | None, seconds: int) -> None:
    assert wait_wanted(header) == seconds


def test_a_failed_question_can_be_asked_again_and_an_answered_one_cannot(api: TestClient, database: Engine) -> None:
    asked = api.post("/v1/answers", json={"question": "How long?", "custom_id": "q"}).json()
    address = f"/v1/answers/{asked['id']}/retry"
    running = api.post(address)
    assert (running.status_code, running.json()["code"]) == (409, "conflict")
    failure = {"type": "LanguageModelUnavailable", "message": "the model does not answer", "retryable": True}
    end_question(database, "q", Answer("no answer", Outcome.FAILED), failure)
    assert api.get(f"/v1/answers/{asked['id']}").json()["error"] == failure
    again = api.post(address)
    assert (again.status_code, again.json()) == (202, {"retried": 1, "job": None})
    assert api.get(f"/v1/answers/{asked['id']}").json()["state"] == "running"
    end_question(database, "q")
    assert api.post(address).status_code == 409


def test_an_answer_that_is_not_there_is_not_found(api: TestClient) -> None:
    for response in (
        api.get(f"/v1/answers/{uuid4()}"),
        api.get(f"/v1/answers/{uuid4()}/steps"),
        api.post(f"/v1/answers/{uuid4()}/retry"),
    ):
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_question_that_has_not_begun_has_an_empty_trail(api: TestClient, database: Engine) -> None:
    asked = api.post("/v1/answers", json={"question": "How long?"}).json()
    trail = api.get(f"/v1/answers/{asked['id']}/steps").json()
    assert (trail["answer"]["id"], trail["run"]["steps"], trail["run"]["state"]) == (asked["id"], [], "ready")

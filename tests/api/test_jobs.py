"""Jobs: submitted, followed, read while they run, tried again and cancelled."""

from __future__ import annotations

import json
import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select, update

from burnish.results import Answer, Outcome
from burnish.settings import Settings
from burnish.store import answers
from burnish.store.models import Batch, Question
from burnish.store.questions import retry
from burnish.store.recovery import end_batches
from tests.api.conftest import end_question, rows, submit_lines

FAILED = Answer("no answer", Outcome.FAILED)
ABSTAINED = Answer("nothing was found", Outcome.ABSTAINED)


def results_of(api: TestClient, job_id: str, **params: Any) -> list[Any]:
    response = api.get(f"/v1/jobs/{job_id}/results", params=params)
    assert response.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in response.content.split(b"\n") if line]


def test_a_job_of_lines_is_stored_with_its_defaults_and_let_in(api: TestClient, database: Engine) -> None:
    config = {"hyde": {"num_hypothetical_docs": 2}, "max_calls": 9}
    lines = [
        {"custom_id": "a", "question": "How long is the Danube?"},
        {"question": "كم يبلغ طول نهر الراين؟", "strategy": "direct", "config": {"hyde": {"mode": "mean"}}},
        {"custom_id": 7, "question": "And the Rhine?", "gold": {"answers": ["1,230 km"]}},
    ]
    response = submit_lines(api, lines, name="rivers", strategy="hyde", config=json.dumps(config))
    assert response.status_code == 202
    job = response.json()
    assert response.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["name"], job["total"], job["rejected"], job["rejected_lines"]) == ("rivers", 3, 0, [])
    with database.begin() as connection:
        stored = connection.execute(select(Question).order_by(Question.id)).all()
    assert [question.custom_id for question in stored] == ["a", "line-2", "7"]
    assert [question.strategy for question in stored] == ["hyde", "direct", "hyde"]
    assert [question.language for question in stored] == ["en", "ar", "en"]
    assert stored[0].config == config
    assert stored[1].config == {"hyde": {"num_hypothetical_docs": 2, "mode": "mean"}, "max_calls": 9}
    assert {question.lane for question in stored} == {"batch"}
    assert {question.state for question in stored} == {"running"}


def test_a_job_can_be_one_json_object(api: TestClient, database: Engine) -> None:
    questions = [{"custom_id": "a", "question": "One?"}, {"custom_id": "b", "question": "Two?", "strategy": "direct"}]
    response = api.post("/v1/jobs", json={"name": "both", "strategy": "recursive", "questions": questions})
    assert (response.status_code, response.json()["total"]) == (202, 2)
    with database.begin() as connection:
        assert connection.scalars(select(Question.strategy).order_by(Question.id)).all() == ["recursive", "direct"]


def test_no_more_questions_than_allowed_are_let_in_at_once(
    api: TestClient, database: Engine, settings: Settings
) -> None:
    settings.questions_in_flight = 2
    job = submit_lines(api, [{"question": f"Question {n}?"} for n in range(5)]).json()
    counts = api.get(f"/v1/jobs/{job['id']}").json()["counts"]
    assert (counts["running"], counts["queued"]) == (2, 3)


def test_bad_lines_are_reported_with_their_numbers_and_the_good_ones_run(api: TestClient, database: Engine) -> None:
    lines = [
        {"custom_id": "a", "question": "Good?"},
        b"not json",
        b"",
        b'{"question": "cut off',
        {"custom_id": "b", "question": " "},
        {"custom_id": "a", "question": "The same name?"},
        b"[1, 2]",
        {"custom_id": "c", "question": "Which?", "strategy": "magic"},
        {"custom_id": "d", "question": "Where?", "collection": "nowhere"},
        {"custom_id": "e", "question": "How?", "config": {"hyde": {"mode": 3}}},
        {"custom_id": "f", "question": "x" * 8001},
        {"custom_id": "g", "question": 5},
        {"custom_id": "h"},
        b'{"custom_id": "i", "question": "\xff"}',
        b'{"custom_id": "j", "question": "' + b"x" * 1_000_001 + b'"}',
        b"[" * 100_000,
        {"custom_id": "k", "question": "Also good?"},
    ]
    job = submit_lines(api, lines).json()
    assert (job["total"], job["rejected"]) == (2, 14)
    found = [(each["line"], each.get("custom_id"), each["code"]) for each in job["rejected_lines"]]
    assert found == [
        (2, None, "malformed_json"),
        (4, None, "malformed_json"),
        (5, "b", "empty_question"),
        (6, "a", "duplicate_custom_id"),
        (7, None, "not_an_object"),
        (8, "c", "unknown_strategy"),
        (9, "d", "unknown_collection"),
        (10, "e", "invalid_config"),
        (11, "f", "question_too_long"),
        (12, "g", "wrong_field"),
        (13, "h", "missing_field"),
        (14, None, "malformed_json"),
        (15, None, "line_too_long"),
        (16, None, "malformed_json"),
    ]
    assert all(each["message"] for each in job["rejected_lines"])
    with database.begin() as connection:
        assert connection.scalars(select(Question.custom_id).order_by(Question.id)).all() == ["a", "k"]
    stored = api.get(f"/v1/jobs/{job['id']}/rejected")
    assert [json.loads(line)["line"] for line in stored.content.splitlines()] == [line for line, _, _ in found]
    assert api.get(f"/v1/jobs/{job['id']}").json()["rejected"] == 14


def test_a_name_that_a_rejected_line_bore_is_free_for_a_later_one(api: TestClient) -> None:
    lines = [{"custom_id": "a", "question": ""}, {"custom_id": "a", "question": "Good?"}]
    job = submit_lines(api, lines).json()
    assert (job["total"], [each["line"] for each in job["rejected_lines"]]) == (1, [1])


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"", "application/jsonl"),
        (b"\n\n  \n", "application/x-ndjson"),
        (b'{"question": ""}\nnonsense\n', "application/jsonl"),
        (b'{"questions": []}', "application/json"),
        (b'{"questions": [{"question": ""}, 3]}', "application/json"),
        (b'{"questions": {"question": "?"}}', "application/json"),
        (b'{"questions": [{"question": "Good?"}], "strategy": "magic"}', "application/json"),
        (b'{"questions": [{"question": "Good?"}], "config": {"speed": 1}}', "application/json"),
        (b'{"questions": [{"question": "Good?"}], "quests": 1}', "application/json"),
        (b"[]", "application/json"),
        (b"", "application/json"),
        (b"question=Good%3F", "application/x-www-form-urlencoded"),
    ],
)
def test_a_job_of_which_nothing_can_be_used_is_refused_and_leaves_nothing(
    api: TestClient, database: Engine, body: bytes, media_type: str
) -> None:
    response = api.post("/v1/jobs", content=body, headers={"content-type": media_type})
    assert response.status_code == 422
    assert response.json()["detail"]
    assert (rows(database), rows(database, Batch)) == (0, 0)


def test_the_refusal_of_a_whole_job_lists_what_is_wrong_with_each_line(api: TestClient) -> None:
    response = submit_lines(api, [b"{", {"custom_id": "b", "question": ""}])
    assert [(each["line"], each["code"]) for each in response.json()["errors"]] == [
        (1, "malformed_json"),
        (2, "empty_question"),
    ]


@pytest.mark.parametrize("params", [{"strategy": "magic"}, {"config": "{"}, {"config": "[]"}, {"config": '{"x": 1}'}])
def test_defaults_that_no_question_could_use_are_refused(api: TestClient, params: dict[str, str]) -> None:
    assert submit_lines(api, [{"question": "Good?"}], **params).status_code == 422


def test_a_job_of_too_many_questions_is_refused_whole(api: TestClient, database: Engine, settings: Settings) -> None:
    settings.max_batch_questions = 3
    assert submit_lines(api, [{"question": f"{n}?"} for n in range(3)]).status_code == 202
    response = submit_lines(api, [{"question": f"{n}?"} for n in range(4)])
    assert (response.status_code, response.json()["errors"][0]["code"]) == (422, "too_many_questions")
    assert rows(database) == 3


def test_the_counts_of_a_job_follow_its_questions(api: TestClient, database: Engine) -> None:
    job = submit_lines(api, [{"custom_id": name, "question": f"{name}?"} for name in "abcd"]).json()
    end_question(database, "a")
    end_question(database, "b", FAILED)
    end_question(database, "c", ABSTAINED)
    seen = api.get(f"/v1/jobs/{job['id']}").json()
    assert (seen["status"], seen["total"], seen["ended_at"]) == ("running", 4, None)
    assert seen["counts"] == {
        "queued": 0,
        "running": 1,
        "succeeded": 1,
        "abstained": 1,
        "failed": 1,
        "cancelled": 0,
        "expired": 0,
        "budget_exceeded": 0,
    }
    assert seen["usage"] == {
        "calls": 6,
        "unpriced_calls": 3,
        "prompt_tokens": 30,
        "completion_tokens": 15,
        "cost_usd": 0.75,
    }
    end_question(database, "d")
    seen = api.get(f"/v1/jobs/{job['id']}").json()
    assert (seen["status"], sum(seen["counts"].values())) == ("ended", 4)
    assert seen["ended_at"] > seen["created_at"]


def test_results_can_be_read_while_the_job_runs_in_the_order_of_submission(
    api: TestClient, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ROWS_PER_PAGE", 3)
    names = [f"q{n:02}" for n in range(20)]
    job = submit_lines(api, [{"custom_id": name, "question": f"{name}?"} for name in names]).json()
    other = submit_lines(api, [{"custom_id": "other", "question": "Another job's?"}]).json()
    assert results_of(api, job["id"]) == []
    for name in reversed(names[::2]):
        end_question(database, name, FAILED if name == "q04" else Answer(f"{name}\u2028!", Outcome.SUCCEEDED))
    end_question(database, "other")
    lines = results_of(api, job["id"])
    assert [line["custom_id"] for line in lines] == names[::2]
    assert {line["job_id"] for line in lines} == {job["id"]}
    assert lines[0]["answer"] == "q00\u2028!"
    assert [line["custom_id"] for line in results_of(api, job["id"], outcome="failed")] == ["q04"]
    assert [line["custom_id"] for line in results_of(api, other["id"])] == ["other"]
    assert api.get(f"/v1/jobs/{job['id']}/results", params={"outcome": "lost"}).status_code == 422


def test_jobs_are_listed_newest_first_page_by_page(api: TestClient) -> None:
    made = [submit_lines(api, [{"question": "Good?"}], name=f"job {n}").json()["id"] for n in range(5)]
    first = api.get("/v1/jobs", params={"limit": 3}).json()
    assert [job["id"] for job in first["jobs"]] == made[:1:-1]
    assert first["jobs"][0]["status"] == "running"
    second = api.get("/v1/jobs", params={"limit": 3, "after": first["next"]}).json()
    assert [job["id"] for job in second["jobs"]] == made[1::-1]
    assert second["next"] is None
    assert api.get("/v1/jobs", params={"limit": 0}).status_code == 422


def test_what_failed_is_tried_again_and_what_succeeded_is_left_alone(api: TestClient, database: Engine) -> None:
    job = submit_lines(api, [{"custom_id": name, "question": f"{name}?"} for name in "abc"]).json()
    end_question(database, "a")
    end_question(database, "b", FAILED)
    end_question(database, "c", Answer("", Outcome.CANCELLED))
    retried = api.post(f"/v1/jobs/{job['id']}/retry")
    assert (retried.status_code, retried.json()["retried"]) == (202, 1)
    counts = api.get(f"/v1/jobs/{job['id']}").json()["counts"]
    assert (counts["succeeded"], counts["failed"], counts["running"], counts["cancelled"]) == (1, 0, 1, 1)
    retried = api.post(f"/v1/jobs/{job['id']}/retry", json={"outcomes": ["cancelled", "failed"]})
    assert retried.json()["retried"] == 1
    assert api.post(f"/v1/jobs/{job['id']}/retry").json()["retried"] == 0


@pytest.mark.parametrize("body", [{"outcomes": ["succeeded"]}, {"outcomes": []}, {"outcomes": "failed"}, {"only": 1}])
def test_only_some_outcomes_can_be_tried_again(api: TestClient, body: Any) -> None:
    job = submit_lines(api, [{"question": "Good?"}]).json()
    assert api.post(f"/v1/jobs/{job['id']}/retry", json=body).status_code == 422


def test_an_answer_of_a_job_that_had_ended_is_let_in_again(api: TestClient, database: Engine) -> None:
    job = submit_lines(api, [{"custom_id": "a", "question": "Good?"}]).json()
    answer_id = end_question(database, "a", FAILED)
    with database.begin() as connection:
        connection.execute(update(Batch).values(ended_at=Batch.created_at))
    retried = api.post(f"/v1/answers/{answer_id}/retry").json()
    assert (retried["retried"], retried["job"]["id"]) == (1, job["id"])
    assert api.get(f"/v1/answers/{answer_id}").json()["state"] == "running"


def test_a_job_that_is_tried_again_at_the_moment_it_is_closed_stays_open(api: TestClient, database: Engine) -> None:
    job = submit_lines(api, [{"custom_id": "a", "question": "Good?"}]).json()
    end_question(database, "a", FAILED)

    def close() -> None:
        with database.begin() as connection:
            end_batches(connection)

    closer = threading.Thread(target=close)
    with database.begin() as connection:
        assert retry(connection, UUID(job["id"]), None, ["failed"]) == 1
        closer.start()
        closer.join(1)  # time enough to run into the lock, where there is one to run into
    closer.join()
    with database.begin() as connection:
        assert connection.scalars(select(Batch.ended_at)).one() is None
    end_question(database, "a")
    close()
    with database.begin() as connection:
        assert connection.scalars(select(Batch.ended_at)).one() is not None


def test_cancelling_ends_what_is_queued_and_asks_what_runs_to_end(
    api: TestClient, database: Engine, settings: Settings
) -> None:
    settings.questions_in_flight = 1
    job = submit_lines(api, [{"custom_id": name, "question": f"{name}?"} for name in "abc"]).json()
    cancelled = api.post(f"/v1/jobs/{job['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelling")
    assert cancelled.json()["counts"]["cancelled"] == 2
    with database.begin() as connection:
        running = connection.execute(select(Question).where(Question.state == "running")).one()
    assert running.cancel_requested
    end_question(database, running.custom_id, Answer("", Outcome.CANCELLED))
    assert api.get(f"/v1/jobs/{job['id']}").json()["status"] == "ended"
    assert {line["outcome"] for line in results_of(api, job["id"])} == {"cancelled"}


def test_a_job_that_is_not_there_is_not_found(api: TestClient) -> None:
    missing = uuid4()
    for method, path in (
        ("GET", ""),
        ("GET", "/results"),
        ("GET", "/rejected"),
        ("POST", "/retry"),
        ("POST", "/cancel"),
    ):
        response = api.request(method, f"/v1/jobs/{missing}{path}")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_ids_sort_as_the_questions_were_submitted(api: TestClient, database: Engine) -> None:
    submit_lines(api, [{"custom_id": str(n), "question": f"{n}?"} for n in range(3000)])
    with database.begin() as connection:
        stored: list[tuple[UUID, str]] = [(row.id, row.custom_id) for row in connection.execute(select(Question))]
    assert [int(name) for _, name in sorted(stored)] == list(range(3000))

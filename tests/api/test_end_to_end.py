"""The whole pipeline by its API: real server, real workers, real database and broker, a simulated model."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, event

from burnish.client import Client
from burnish.errors import InvalidInput, NotFound, Unavailable
from burnish.store.trail import read_trail
from burnish.testing import SimulatedModel, simulated_model
from tests.api.trails import failures_of, records_of, steps_of, wait_for_end
from tests.processes import api_server, environment_for, free_port, pipeline

QUOTE = "The Danube is 2,850 km long"
ANSWERED = {"quote": QUOTE, "answer": "2,850 km", "supported": "yes"}
SCRIPT: dict[str, Any] = {
    "rules": [
        {"match": "Oslo", "status": 403},
        {"kind": "answer", "reply": ANSWERED},
        {
            "kind": "answer_and_judge",
            "reply": {**ANSWERED, "relevance": 3, "accuracy": 3, "completeness": 3, "clarity": 3}
            | {"issues": ["vague"], "suggestions": ["length of rivers"]},
        },
        {"kind": "decompose", "reply": {"sub_questions": ["How long is the Danube?", "How long is the Rhine?"]}},
        {"kind": "merge", "reply": {"answer": "The Danube is 2,850 km long, the Rhine 1,230 km."}},
        {"kind": "text", "reply": "The Danube is a river in Europe, 2,850 km long, as one may imagine."},
    ]
}
TEXT = "The Danube is 2,850 km long and ends in the Black Sea. The Rhine is 1,230 km long."
COMPOUND = "How long is the Danube and how does its length compare with the Rhine?"


@pytest.fixture
def scripted() -> Generator[SimulatedModel]:
    with simulated_model(SCRIPT) as model:
        yield model


def test_questions_asked_over_the_api_run_to_their_end_and_every_answer_has_its_proof(
    database_url: str, redis_url: str, scripted: SimulatedModel, database: Engine, tmp_path: Path
) -> None:
    with (
        pipeline(database_url, redis_url, scripted) as running,
        api_server(running.environment) as url,
        Client(url) as burnish,
    ):
        assert burnish.ready()
        assert burnish.add_documents([{"id": "rivers", "title": "Rivers", "text": TEXT}])["added"] == 1
        job = submit_file(burnish, tmp_path / "questions.jsonl")
        results = read_results(burnish, job["id"])
        check_trails(burnish, results)
        assert_reads_each_table_once(database, UUID(results["tree"]["id"]))
        scripted.set_script({"rules": SCRIPT["rules"][1:]})
        try_again(burnish, job["id"])
        wait_for_an_answer(burnish)


def submit_file(burnish: Client, file: Path) -> Any:
    """A job of all strategies; one line cannot be read and one question cannot be answered."""
    file.write_bytes(
        b'{"custom_id": "direct", "question": "How long is the Danube?", "strategy": "direct"}\n'
        b"this line is spoilt\n"
        b'{"custom_id": "lost", "question": "How far is Oslo?", "strategy": "direct"}\n'
        b'{"custom_id": "hyde", "question": "How long is the Danube?", "strategy": "hyde"}\n'
        b'{"custom_id": "tree", "question": "' + COMPOUND.encode() + b'", "strategy": "recursive"}\n'
        b'{"custom_id": "refined", "question": "How long is the Danube?"}\n'
    )
    with file.open("rb") as questions:
        job = burnish.submit(questions, name="rivers", config={"recursive": {"leaf": "hyde", "max_depth": 2}})
    assert [(each["line"], each["code"]) for each in job["rejected_lines"]] == [(2, "malformed_json")]
    assert [each["line"] for each in burnish.rejected(job["id"])] == [2]
    return job


def read_results(burnish: Client, job_id: str) -> dict[str, Any]:
    ended = wait_for_end(burnish, job_id)
    assert (ended["counts"]["succeeded"], ended["counts"]["failed"], ended["total"]) == (4, 1, 5)
    assert ended["usage"]["calls"] > 0
    assert [job["id"] for job in burnish.jobs()] == [job_id]
    results = {line["custom_id"]: line for line in burnish.results(job_id)}
    assert list(results) == ["direct", "lost", "hyde", "tree", "refined"]
    assert [line["custom_id"] for line in burnish.results(job_id, "failed")] == ["lost"]
    assert results["direct"]["answer"] == "2,850 km"
    citation = results["direct"]["citations"][0]
    assert TEXT[citation["start"] : citation["end"]] == citation["quote"] == QUOTE
    assert results["lost"]["error"]["type"] == "LanguageModelRefused"
    return results


def check_trails(burnish: Client, results: dict[str, Any]) -> None:
    runs = {name: burnish.steps(line["id"])["run"] for name, line in results.items()}
    assert records_of(runs["hyde"]) == {"hypothetical_document": 3}
    assert records_of(runs["refined"])["refinement_step"] >= 1
    assert failures_of(runs["lost"]) == ["LanguageModelRefused"]
    tree = runs["tree"]
    children = [step["run"] for step in tree["steps"] if step["run"]]
    assert [child["text"] for child in children] == ["How long is the Danube?", "How long is the Rhine?"]
    assert {child["depth"] for child in children} == {1}
    assert records_of(tree)["sub_answer"] == 2
    assert all(step["state"] == "done" for step in steps_of(tree))
    assert sum(step["call"] is not None for step in steps_of(tree)) == results["tree"]["usage"]["calls"]
    whole = burnish.steps(results["tree"]["id"], full=True)["run"]
    call = next(step["call"] for step in steps_of(whole) if step["call"])
    assert (call["model"], call["tries"]) == ("openai/simulated", 1)
    assert call["reply"]


def try_again(burnish: Client, job_id: str) -> None:
    """The model was mended."""
    assert burnish.retry_job(job_id)["retried"] == 1
    assert wait_for_end(burnish, job_id)["counts"]["succeeded"] == 5
    lost = next(line for line in burnish.results(job_id) if line["custom_id"] == "lost")
    assert failures_of(burnish.steps(lost["id"])["run"]) == ["LanguageModelRefused"]
    with pytest.raises(InvalidInput, match="succeeded"):
        burnish.retry_answer(lost["id"])
    assert burnish.cancel(job_id)["status"] == "ended"


def wait_for_an_answer(burnish: Client) -> None:
    answer = burnish.ask("How long is the Danube?", strategy="direct", wait=60)
    assert (answer["state"], answer["outcome"], answer["answer"]) == ("ended", "succeeded", "2,850 km")
    later = burnish.ask("How long is the Danube?", strategy="hyde", config={"hyde": {"num_hypothetical_docs": 1}})
    assert later["outcome"] is None
    assert burnish.answer(later["id"])["strategy"] == "hyde"


def assert_reads_each_table_once(database: Engine, question_id: UUID) -> None:
    statements: list[str] = []

    def listen(*args: Any) -> None:
        statements.append(args[2])

    event.listen(database, "before_cursor_execute", listen)
    with database.begin() as connection:
        assert read_trail(connection, question_id) is not None
    event.remove(database, "before_cursor_execute", listen)
    assert len(statements) == 6


def test_the_client_says_what_was_wrong(
    database_url: str, redis_url: str, scripted: SimulatedModel, tmp_path: Path
) -> None:
    with api_server(environment_for(database_url, redis_url, scripted)) as url, Client(url) as burnish:
        text = tmp_path / "seas.txt"
        text.write_text("The Black Sea is a sea.")
        assert burnish.add_file(text, name="seas/black.txt")["added"] == 1
        assert burnish.add_documents([{"id": "rivers", "text": TEXT}], "rivers")["added"] == 1
        assert [each["name"] for each in burnish.collections()] == ["default", "rivers"]
        scan = tmp_path / "scan.pdf"
        scan.write_bytes(b"%PDF-1.7 cut off")
        with pytest.raises(InvalidInput, match=r"scan\.pdf"):
            burnish.add_file(scan)
        with pytest.raises(InvalidInput, match="unknown strategy 'magic'") as refused:
            burnish.ask("Good?", strategy="magic")
        assert refused.value.errors[0]["code"] == "unknown_strategy"
        with pytest.raises(InvalidInput, match="none of the 2 lines") as unusable:
            burnish.submit([{"question": ""}, {"custom_id": "b"}])
        assert [each["line"] for each in unusable.value.errors] == [1, 2]
        with pytest.raises(NotFound):
            list(burnish.results("0199c0de-0000-7000-8000-000000000001"))


def test_without_a_server_the_client_says_how_to_start_one() -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as client:
        assert not client.ready()
        with pytest.raises(Unavailable, match="burnish up"):
            client.ask("Good?")


def test_a_server_without_a_broker_is_unavailable(database_url: str, scripted: SimulatedModel) -> None:
    environment = environment_for(database_url, f"redis://127.0.0.1:{free_port()}/0", scripted)
    with api_server(environment) as url, Client(url) as client:
        assert not client.ready()
        with pytest.raises(Unavailable, match="broker"):
            client.submit([{"question": "Good?"}] * 5_000)

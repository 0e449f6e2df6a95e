"""The whole pipeline by its API: real server, real workers, real database and broker, a simulated model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from burnish.client import Client
from burnish.errors import InvalidInput, NotFound, Unavailable
from burnish.store.session import Sessions
from burnish.store.trail import read_trail
from burnish.testing import SimulatedModel, simulated_model
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


@pytest.fixture
def burnish(database_url: str, redis_url: str, scripted: SimulatedModel) -> Generator[Client]:
    """A client of the running pipeline, with one document in its collection."""
    with (
        pipeline(database_url, redis_url, scripted) as running,
        api_server(running.environment) as url,
        Client(url) as client,
    ):
        assert client.add_documents([{"id": "rivers", "title": "Rivers", "text": TEXT}])["added"] == 1
        yield client


def wait_for_end(burnish: Client, job_id: str) -> Any:
    until = time.monotonic() + 120
    while (job := burnish.job(job_id))["status"] != "ended":
        assert time.monotonic() < until, job
        time.sleep(0.2)
    return job


def steps_of(run: Any) -> Iterator[Any]:
    """Every step of a tree."""
    for step in run["steps"]:
        yield step
        if step["run"]:
            yield from steps_of(step["run"])


def records_of(run: Any) -> Counter[str]:
    return Counter(record["type"] for step in steps_of(run) for record in step["records"])


def test_a_job_of_all_strategies_runs_to_its_end_and_every_answer_has_its_proof(
    burnish: Client, sessions: Sessions, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
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

    ended = wait_for_end(burnish, job["id"])
    assert (ended["counts"]["succeeded"], ended["counts"]["failed"], ended["total"]) == (4, 1, 5)
    assert ended["usage"]["calls"] > 0
    assert burnish.jobs()[0]["id"] == job["id"]

    results = {line["custom_id"]: line for line in burnish.results(job["id"])}
    assert list(results) == ["direct", "lost", "hyde", "tree", "refined"]
    assert [line["custom_id"] for line in burnish.results(job["id"], "failed")] == ["lost"]
    assert results["direct"]["answer"] == "2,850 km"
    citation = results["direct"]["citations"][0]
    assert TEXT[citation["start"] : citation["end"]] == citation["quote"] == QUOTE
    assert results["lost"]["error"]["type"] == "LanguageModelRefused"

    trails = {name: burnish.steps(line["id"]) for name, line in results.items()}
    assert records_of(trails["hyde"]["run"]) == {"hypothetical_document": 3}
    assert records_of(trails["refined"]["run"])["refinement_step"] >= 1
    tree = trails["tree"]["run"]
    children = [step["run"] for step in tree["steps"] if step["run"]]
    assert [child["text"] for child in children] == ["How long is the Danube?", "How long is the Rhine?"]
    assert {(child["strategy"], child["depth"], child["outcome"]) for child in children} == {
        ("hyde", 1, "succeeded")
    } or [child["strategy"] for child in children] == ["recursive", "recursive"]
    assert records_of(tree)["sub_answer"] == 2
    assert sum(step["call"] is not None for step in steps_of(tree)) == results["tree"]["usage"]["calls"]
    assert all(step["state"] == "done" for step in steps_of(tree))
    failed = [step for step in steps_of(trails["lost"]["run"]) if step["state"] == "failed"]
    assert [failure["type"] for step in failed for failure in step["failures"]] == ["LanguageModelRefused"]
    assert_reads_each_table_once(sessions, results["tree"]["id"])

    long_prompts = burnish.steps(results["tree"]["id"], full=True)["run"]
    call = next(step["call"] for step in steps_of(long_prompts) if step["call"])
    assert call["reply"]
    assert call["model"] == "openai/simulated"


def assert_reads_each_table_once(sessions: Sessions, question_id: str) -> None:
    statements: list[str] = []

    def listen(*args: Any) -> None:
        statements.append(args[2])

    engine = sessions.kw["bind"]
    event.listen(engine, "before_cursor_execute", listen)
    with sessions.begin() as session:
        assert read_trail(session, question_id) is not None  # pyright: ignore[reportArgumentType] - the text of an id
    event.remove(engine, "before_cursor_execute", listen)
    assert len(statements) == 6


def test_what_failed_succeeds_when_it_is_tried_again_after_the_model_was_mended(
    burnish: Client, scripted: SimulatedModel
) -> None:
    job = burnish.submit([{"custom_id": "lost", "question": "How far is Oslo?", "strategy": "direct"}])
    assert wait_for_end(burnish, job["id"])["counts"]["failed"] == 1
    scripted.set_script({"rules": SCRIPT["rules"][1:]})
    assert burnish.retry_job(job["id"])["retried"] == 1
    assert wait_for_end(burnish, job["id"])["counts"]["succeeded"] == 1
    (line,) = burnish.results(job["id"])
    failures = [step["failures"] for step in steps_of(burnish.steps(line["id"])["run"]) if step["failures"]]
    assert [failure["type"] for each in failures for failure in each] == ["LanguageModelRefused"]

    with pytest.raises(InvalidInput, match="succeeded"):
        burnish.retry_answer(line["id"])
    cancelled = burnish.cancel(job["id"])
    assert cancelled["status"] == "ended"


def test_one_question_is_answered_while_its_asker_waits(burnish: Client) -> None:
    answer = burnish.ask("How long is the Danube?", strategy="direct", wait=60)
    assert (answer["state"], answer["outcome"], answer["answer"]) == ("ended", "succeeded", "2,850 km")
    later = burnish.ask("How long is the Danube?", strategy="hyde", config={"hyde": {"num_hypothetical_docs": 1}})
    assert later["outcome"] is None
    assert burnish.answer(later["id"])["strategy"] == "hyde"
    assert burnish.ready()


def test_the_client_says_what_was_wrong(burnish: Client, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="unknown strategy 'magic'") as refused:
        burnish.ask("Good?", strategy="magic")
    assert refused.value.errors[0]["code"] == "unknown_strategy"
    with pytest.raises(InvalidInput, match="none of the 2 lines") as unusable:
        burnish.submit([{"question": ""}, {"custom_id": "b"}])
    assert [each["line"] for each in unusable.value.errors] == [1, 2]
    with pytest.raises(NotFound):
        list(burnish.results("0199c0de-0000-7000-8000-000000000001"))
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(b"%PDF-1.7 cut off")
    with pytest.raises(InvalidInput, match=r"scan\.pdf"):
        burnish.add_file(scan)
    text = tmp_path / "seas.txt"
    text.write_text("The Black Sea is a sea.")
    assert burnish.add_file(text, "seas", name="seas/black.txt")["added"] == 1
    assert [each["name"] for each in burnish.collections()] == ["default", "seas"]


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

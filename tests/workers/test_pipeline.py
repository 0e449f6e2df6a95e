"""The pipeline as its users meet it: every strategy on real workers, with every step on record."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from celery import Celery
from sqlalchemy import func, select

from burnish.store.models import Question
from burnish.store.questions import NewQuestion, accept_batch, admit, find_collection, request_cancel, retry
from burnish.testing import simulated_model
from tests.workers.conftest import Desk, script

COMPOUND = "How long is the Danube, and how does its length compare with that of the Rhine?"
NESTED = [
    {"match": "how does its length compare", "kind": "decompose",
     "reply": {"sub_questions": ["How long is the Rhine, and why or when is it shorter than others?", "What is it?"]}},
    {"match": "why or when is it shorter", "kind": "decompose",
     "reply": {"sub_questions": ["How long is the Rhine in km?", "When is the Rhine short?"]}},
]  # fmt: skip
THREE_ITERATIONS = {"self_irag": {"max_refinement_iterations": 3, "confidence_threshold": 1.0}}


def test_chords_and_chained_tasks_show_in_celerys_own_events_by_their_names(desk: Desk) -> None:
    with simulated_model(script(rules=NESTED)) as model, desk.pipeline(model), _watching(desk) as seen:
        batch = desk.submit(
            ("self_irag", "How long is the Danube?", THREE_ITERATIONS),
            ("hyde", "How long is the Danube?", {"hyde": {"num_hypothetical_docs": 3}}),
            ("recursive", COMPOUND, {"recursive": {"max_depth": 3}}),
        )
        assert set(desk.wait_for_end(batch).values()) == {"succeeded"}
        desk.wait_until(lambda: seen.count("recursive.gathered") == 2, "the last event had come")
    assert [name for name in seen if name.startswith("self_irag")] == [
        "self_irag.start",
        "self_irag.iteration",
        "self_irag.iteration",
    ]
    assert [name for name in seen if name.startswith("hyde")] == [
        "hyde.start",
        *["hyde.document"] * 3,
        "hyde.gathered",
    ]
    # The question, one of its parts, and the two parts of that.
    assert [seen.count(f"recursive.{stage}") for stage in ("start", "subquestion", "gathered")] == [1, 4, 2]
    assert not [name for name in seen if "resumed" in name], "no message had to be sent twice"


def test_every_kind_of_audit_row_stands_once_for_every_question(desk: Desk) -> None:
    with simulated_model(script(rules=NESTED)) as model, desk.pipeline(model):
        batch = desk.submit(
            *[("self_irag", f"How long is river {number}?", THREE_ITERATIONS) for number in range(5)],
            *[("hyde", f"How long is river {number}?", {"hyde": {"mode": "mean"}}) for number in range(5)],
            *[("recursive", f"{COMPOUND} ({number})", {"recursive": {"leaf": "self_irag"}}) for number in range(5)],
        )
        assert set(desk.wait_for_end(batch).values()) == {"succeeded"}
    assert desk.rows(
        """SELECT questions.strategy, count(DISTINCT questions.id),
                  count(refinement_steps.id), count(DISTINCT iteration)
           FROM questions JOIN runs ON runs.question_id = questions.id
           LEFT JOIN refinement_steps ON refinement_steps.run_id = runs.id
           WHERE runs.parent_step_id IS NULL GROUP BY 1 ORDER BY 1"""
    ) == [("hyde", 5, 0, 0), ("recursive", 5, 0, 0), ("self_irag", 5, 15, 3)]
    assert desk.number("SELECT count(*) FROM hypothetical_documents WHERE kept") == 15
    assert desk.number("SELECT count(*) FROM sub_answers") == 5 * (2 + 2)
    assert desk.number("SELECT count(*) FROM llm_calls") == desk.number("SELECT sum(calls) FROM questions")
    assert desk.number("SELECT count(*) FROM runs WHERE state <> 'ended'") == 0


def test_a_model_that_is_down_gives_a_typed_failure_and_a_retry_answers(desk: Desk) -> None:
    down = {"rules": [{"status": 503}], "latency": 0.01}
    with simulated_model(down) as model, desk.pipeline(model, settings={"model_retries": 1}):
        batch = desk.submit(("self_irag", "How long is the Danube?", {}), ("recursive", COMPOUND, {}))
        assert desk.wait_for_end(batch) == {"q0": "failed", "q1": "failed"}
        for (error,) in desk.rows("SELECT error FROM questions"):
            assert error["type"] == "LanguageModelUnavailable"
            assert error["retryable"] is True
            assert model.key not in str(error)

        model.set_script(script())
        with desk.database.begin() as connection:
            assert retry(connection, batch, None, ["failed"]) == 2
        assert desk.wait_for_end(batch) == {"q0": "succeeded", "q1": "succeeded"}
    assert desk.number("SELECT count(*) FROM steps WHERE jsonb_array_length(failures) > 0") >= 2


def test_a_cancelled_batch_ends_before_its_next_call(desk: Desk) -> None:
    with simulated_model(script(latency=1.0)) as model, desk.pipeline(model):
        batch = desk.submit(*[("self_irag", f"How long is river {number}?", THREE_ITERATIONS) for number in range(4)])
        desk.wait_until(lambda: desk.number("SELECT count(*) FROM llm_calls") >= 1, "a call was recorded")
        with desk.database.begin() as connection:
            request_cancel(connection, batch)
        assert set(desk.wait_for_end(batch).values()) == {"cancelled"}
        assert desk.number("SELECT max(calls) FROM questions") < 3


def test_a_question_never_passes_its_cap_on_calls(desk: Desk) -> None:
    with simulated_model(script(rules=NESTED)) as model, desk.pipeline(model):
        batch = desk.submit(
            ("self_irag", "How long is the Danube?", {**THREE_ITERATIONS, "max_calls": 2}),
            ("recursive", COMPOUND, {"max_calls": 1}),
        )
        assert desk.wait_for_end(batch) == {"q0": "budget_exceeded", "q1": "budget_exceeded"}
    assert desk.rows("SELECT calls FROM questions ORDER BY custom_id") == [(2,), (1,)]


def test_work_that_takes_down_every_worker_is_given_up_in_the_end(desk: Desk) -> None:
    with (
        simulated_model(script(latency=30.0)) as model,
        desk.pipeline(model, settings={"lease_seconds": 1.5, "max_attempts": 2}) as running,
    ):
        batch = desk.submit(("direct", "How long is the Danube?", {}))
        for attempt in range(1, 3):
            desk.wait_until(lambda nth=attempt: model.calls().by_kind.get("answer", 0) >= nth, "the call was under way")
            running.workers["batch"][-1].kill()
            running.start_worker("batch")
        assert desk.wait_for_end(batch) == {"q0": "failed"}
    assert desk.rows("SELECT error->>'type' FROM questions") == [("AttemptsExhausted",)]


def test_several_batches_are_let_in_by_turns(desk: Desk) -> None:
    with simulated_model(script()) as model:
        desk.ingest(model)
    with desk.database.begin() as connection:
        collection = find_collection(connection, "default")
        big, small = (
            accept_batch(
                connection,
                name,
                [NewQuestion(f"{n}", "How long?", "en", "direct", {}, collection) for n in range(size)],
                [],
            )
            for name, size in (("big", 50), ("small", 3))
        )
    with desk.database.begin() as connection:
        assert len(admit(connection, "batch", 6)) == 6
        assert admit(connection, "batch", 6) == []
        statement = (
            select(Question.batch_id, func.count()).where(Question.state == "running").group_by(Question.batch_id)
        )
        assert dict(connection.execute(statement).all()) == {big: 3, small: 3}


@contextmanager
def _watching(desk: Desk) -> Generator[list[str]]:
    """The names of the tasks that workers say they have received, in order."""
    app: Any = Celery("watcher", broker=desk.redis_url)
    seen: list[str] = []
    stopped = threading.Event()

    def watch() -> None:
        with app.connection() as connection:

            def note(event: dict[str, Any]) -> None:
                seen.append(event["name"])

            receiver = app.events.Receiver(connection, handlers={"task-received": note})
            while not stopped.is_set():
                try:
                    receiver.capture(limit=None, timeout=0.5, wakeup=False)
                except TimeoutError:
                    continue

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    app.control.enable_events(reply=True, timeout=5)
    try:
        yield seen
    finally:
        stopped.set()
        watcher.join(10)

"""Whatever dies in the middle, each question still ends, and each of its steps stands once.

Real workers are killed as a machine would kill them. A worker that holds a lease is dead for the others once the lease
has run out, which the tests make short.
"""

from __future__ import annotations

from burnish.testing import SimulatedModel, simulated_model
from tests.workers.conftest import DRAFT, Desk, script

COMPOUND = "How long is the Danube, and how does its length compare with that of the Rhine?"
PARTS = ["How long is the Danube in km?", "How long is the Rhine in km?", "Where does it end?", "Where is the Rhine?"]
QUICK = {"lease_seconds": 2}
SLOW = 2.0
FOUR_DOCUMENTS = {"hyde": {"num_hypothetical_docs": 4}}

DOUBLES = """
    SELECT count(*) FROM (
        SELECT run_id, key FROM steps GROUP BY 1, 2 HAVING count(*) > 1 UNION ALL
        SELECT step_id, '' FROM llm_calls GROUP BY 1 HAVING count(*) > 1 UNION ALL
        SELECT run_id, iteration::text FROM refinement_steps GROUP BY 1, 2 HAVING count(*) > 1 UNION ALL
        SELECT run_id, position::text FROM sub_answers GROUP BY 1, 2 HAVING count(*) > 1 UNION ALL
        SELECT run_id, position::text FROM hypothetical_documents GROUP BY 1, 2 HAVING count(*) > 1
    ) AS doubles
"""
UNFINISHED = "SELECT count(*) FROM steps WHERE state <> 'done'"


def test_a_worker_killed_in_the_middle_of_a_hyde_chord_costs_nothing_but_time(desk: Desk) -> None:
    slow = script(rules=[{"kind": "text", "reply": "The Danube is a river of Europe, 2,850 km long.", "latency": SLOW}])
    with simulated_model(slow) as model, desk.pipeline(model, settings=QUICK) as running:
        batch = desk.submit(("hyde", "How long is the Danube?", FOUR_DOCUMENTS))
        _wait_for_calls(desk, model, "text", 4)

        running.workers["batch"][0].kill()
        running.start_worker("batch")

        assert desk.wait_for_end(batch) == {"q0": "succeeded"}
    assert desk.number("SELECT count(*) FROM hypothetical_documents") == 4
    assert desk.number("SELECT count(*) FROM llm_calls") == 5
    assert desk.number(DOUBLES) == desk.number(UNFINISHED) == 0


def test_a_worker_killed_in_the_middle_of_a_recursive_chord_costs_nothing_but_time(desk: Desk) -> None:
    slow = script(
        rules=[
            {"kind": "decompose", "reply": {"sub_questions": PARTS}},
            {"kind": "answer", "reply": DRAFT, "latency": SLOW},
        ]
    )
    with simulated_model(slow) as model, desk.pipeline(model, settings=QUICK) as running:
        batch = desk.submit(("recursive", COMPOUND, {}))
        _wait_for_calls(desk, model, "answer", 4)

        running.workers["batch"][0].kill()
        running.start_worker("batch")

        assert desk.wait_for_end(batch) == {"q0": "succeeded"}
    assert desk.number("SELECT count(*) FROM sub_answers") == 4
    assert desk.number("SELECT count(*) FROM runs") == 5
    assert desk.number("SELECT count(*) FROM llm_calls") == 6
    assert desk.number(DOUBLES) == desk.number(UNFINISHED) == 0


def test_what_was_recorded_before_a_kill_is_not_asked_again(desk: Desk) -> None:
    config = {"self_irag": {"max_refinement_iterations": 3, "confidence_threshold": 1.0}}
    with simulated_model(script(latency=0.5)) as model, desk.pipeline(model, settings=QUICK) as running:
        batch = desk.submit(("self_irag", "How long is the Danube?", config))
        desk.wait_until(lambda: desk.number("SELECT count(*) FROM refinement_steps") == 1, "one iteration ended")
        recorded = desk.number("SELECT count(*) FROM llm_calls")

        running.workers["batch"][0].kill()
        model.reset()
        running.start_worker("batch")

        assert desk.wait_for_end(batch) == {"q0": "succeeded"}
        assert model.calls().by_kind["answer_and_judge"] <= 3 - recorded + 1
    assert desk.number("SELECT count(*) FROM refinement_steps") == 3
    assert desk.number(DOUBLES) == 0


def test_a_broker_that_loses_everything_delays_and_loses_no_question(desk: Desk) -> None:
    with simulated_model(script(latency=0.5)) as model, desk.pipeline(model, threads=2, settings=QUICK):
        batch = desk.submit(*[("hyde", f"How long is river {number}?", FOUR_DOCUMENTS) for number in range(6)])
        desk.wait_until(lambda: desk.number("SELECT count(*) FROM llm_calls") >= 2, "the work had begun")

        desk.empty_the_broker()

        assert set(desk.wait_for_end(batch).values()) == {"succeeded"}
    assert desk.number(DOUBLES) == desk.number(UNFINISHED) == 0


def test_a_worker_that_was_frozen_and_wakes_up_cannot_write_over_the_one_that_took_over(desk: Desk) -> None:
    with simulated_model(script(latency=1.0)) as model, desk.pipeline(model, settings=QUICK) as running:
        frozen = running.workers["batch"][0]
        batch = desk.submit(("direct", "How long is the Danube?", {}))
        _wait_for_calls(desk, model, "answer", 1)

        frozen.freeze()
        running.start_worker("batch")
        assert desk.wait_for_end(batch) == {"q0": "succeeded"}
        frozen.thaw()

        second = desk.submit(("direct", "How long is the Rhine?", {}))
        assert desk.wait_for_end(second) == {"q0": "succeeded"}
    assert desk.number("SELECT count(*) FROM llm_calls") == 2
    assert desk.number("SELECT sum(calls) FROM questions") == 2
    assert desk.number(DOUBLES) == 0


def test_a_reconciler_that_is_killed_is_replaced_by_the_next(desk: Desk) -> None:
    with simulated_model(script()) as model, desk.pipeline(model, settings=QUICK) as running:
        assert running.reconciler is not None
        running.reconciler.kill()
        running.start_reconciler()

        batch = desk.submit(("direct", "How long is the Danube?", {}))
        desk.empty_the_broker()  # now only a reconciler can send what is ready

        assert desk.wait_for_end(batch) == {"q0": "succeeded"}


def _wait_for_calls(desk: Desk, model: SimulatedModel, kind: str, number: int) -> None:
    desk.wait_until(lambda: model.calls().by_kind.get(kind, 0) >= number, f"{number} calls of {kind} were under way")

"""Work that cannot be read any more (a setting that an upgrade renamed, say) runs out of attempts as any other does."""

from __future__ import annotations

from collections.abc import Generator
from uuid import UUID

import pytest
from sqlalchemy import text

from burnish.settings import Settings
from burnish.store.journal import open_run
from burnish.store.leases import LeaseLost, hold
from burnish.testing import SimulatedModel, simulated_model
from burnish.world.assemble import world_from
from tests.processes import environment_for
from tests.workers.conftest import Desk, script
from workers.advancing import Ended, FanOut, Workplace, advance, perform_step
from workers.leases import Heartbeat

ATTEMPTS = 3


@pytest.fixture
def model() -> Generator[SimulatedModel]:
    with simulated_model(script()) as running:
        yield running


@pytest.fixture
def place(desk: Desk, model: SimulatedModel) -> Generator[Workplace]:
    """A worker's place without the worker: the tests call what its tasks call."""
    chosen = environment_for(desk.database_url, desk.redis_url, model)
    settings = Settings(
        **{name.removeprefix("BURNISH_").lower(): value for name, value in chosen.items() if name.startswith("BURNISH")}  # pyright: ignore[reportArgumentType] (pydantic reads texts)
    )
    heartbeat = Heartbeat(desk.database, lease_seconds=30)
    desk.ingest(model)
    yield Workplace(desk.database, world_from(settings, desk.database), heartbeat, ATTEMPTS)
    heartbeat.stop()


def test_a_run_that_cannot_be_read_ends_as_failed_after_its_attempts(desk: Desk, place: Workplace) -> None:
    desk.submit(("direct", "How long is the Danube?", {"a_setting_that_is_gone": 1}))
    run_id = _only_run(desk)

    for attempt in range(1, ATTEMPTS + 1):
        assert advance(place, run_id) == Ended()
        assert desk.rows("SELECT state, attempts FROM runs") == [("ready", attempt)]
    advance(place, run_id)

    rows = desk.rows("SELECT state, outcome, error->>'type' FROM questions")
    assert rows == [("ended", "failed", "AttemptsExhausted")]


def test_a_run_of_a_strategy_that_is_gone_ends_as_failed_after_its_attempts(desk: Desk, place: Workplace) -> None:
    desk.submit(("direct", "How long is the Danube?", {}))
    _execute(desk, "UPDATE runs SET strategy = 'gone'")

    for _ in range(ATTEMPTS + 1):
        advance(place, _only_run(desk))

    assert desk.rows("SELECT state, outcome FROM questions") == [("ended", "failed")]


def test_a_reply_that_cannot_be_read_ends_its_run_as_failed(desk: Desk, place: Workplace) -> None:
    slow = {"self_irag": {"max_refinement_iterations": 3, "confidence_threshold": 1.0}}
    desk.submit(("self_irag", "How long is the Danube?", slow))
    advance(place, _only_run(desk))
    _execute(desk, """UPDATE steps SET reply = '{"unknown": 1}' WHERE kind = 'answer_and_judge'""")

    for _ in range(ATTEMPTS + 1):
        advance(place, _only_run(desk))

    assert desk.rows("SELECT state, outcome FROM questions") == [("ended", "failed")]


def test_a_step_that_cannot_be_read_fails_alone_and_its_run_goes_on(desk: Desk, place: Workplace) -> None:
    desk.submit(("hyde", "How long is the Danube?", {"hyde": {"num_hypothetical_docs": 2}}))
    boundary = advance(place, _only_run(desk))
    assert isinstance(boundary, FanOut)
    poisoned, sound = (each.row_id for each in boundary.sent)
    _execute(desk, """UPDATE steps SET request = '{"effect": "ask"}' WHERE id = :id""", id=poisoned)

    perform_step(place, sound)
    for _ in range(ATTEMPTS + 1):
        perform_step(place, poisoned)
    advance(place, _only_run(desk))

    assert sorted(desk.rows("SELECT state, failures->0->>'type' FROM steps WHERE kind = 'hypothesise'")) == [
        ("done", None),
        ("failed", "AttemptsExhausted"),
    ]
    assert desk.rows("SELECT state, outcome FROM questions") == [("ended", "succeeded")]


def test_one_who_lost_a_step_to_another_is_told_so(desk: Desk, place: Workplace, model: SimulatedModel) -> None:
    desk.submit(("direct", "How long is the Danube?", {}))
    run_id = _only_run(desk)
    with desk.database.begin() as connection:
        late = open_run(connection, run_id, lease_seconds=0)
    assert late is not None

    advance(place, run_id)

    with pytest.raises(LeaseLost), desk.database.begin() as connection:
        hold(connection, late.lease, 30)


def _only_run(desk: Desk) -> UUID:
    return desk.rows("SELECT id FROM runs WHERE parent_step_id IS NULL")[0].id


def _execute(desk: Desk, statement: str, **values: object) -> None:
    with desk.database.begin() as connection:
        connection.execute(text(statement), values)

"""One simulated model for all of these tests, put back to the default script before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from burnish.testing import Script, SimulatedModel, simulated_model


@pytest.fixture(scope="session")
def running_model() -> Iterator[SimulatedModel]:
    with simulated_model() as model:
        yield model


@pytest.fixture
def model(running_model: SimulatedModel) -> SimulatedModel:
    running_model.set_script(Script())
    running_model.reset()
    return running_model

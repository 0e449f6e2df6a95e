"""One `burnish up` for all tests of the commands, with a simulated model behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from burnish.testing import Script, SimulatedModel, simulated_model
from tests.cli.terminal import Terminal, terminal


@pytest.fixture(scope="module")
def model() -> Iterator[SimulatedModel]:
    with simulated_model() as running:
        yield running


@pytest.fixture
def fresh_model(model: SimulatedModel) -> SimulatedModel:
    """The model, playing its default script, with nothing counted yet."""
    model.set_script(Script())
    model.reset()
    return model


@pytest.fixture(scope="module")
def shell(model: SimulatedModel) -> Iterator[Terminal]:
    """A terminal in which burnish is up, with a simulated model behind it and three documents in it."""
    address = {"BURNISH_MODEL": "openai/simulated", "BURNISH_MODEL_URL": model.url, "BURNISH_MODEL_KEY": model.key}
    with terminal(**address, BURNISH_WORKER_THREADS="8") as ready:
        said = ready.run("up")
        assert said.code == 0, said.err
        ready.write("rivers/danube.md", "# Danube\n\nThe Danube is 2,850 km long and ends in the Black Sea.\n")
        ready.write("rivers/rhine.txt", "The Rhine is 1,230 km long and ends in the North Sea.\n")
        ready.write("rivers/nile.ar.txt", "يبلغ طول نهر النيل ٦٦٥٠ كيلومتراً ويصب في البحر المتوسط.\n")
        said = ready.run("ingest", "rivers", "--collection", "rivers")
        assert said.code == 0, said.err
        yield ready

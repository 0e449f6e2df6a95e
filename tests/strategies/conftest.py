from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def evaldata() -> Path:
    """The folder of published question sets; tests that compare with them say so where it is absent."""
    folder = Path(os.environ.get("BURNISH_EVALDATA", "../shared/evaldata"))
    if not folder.is_dir():
        pytest.skip(f"no published evaluation data at {folder} (set BURNISH_EVALDATA)")
    return folder

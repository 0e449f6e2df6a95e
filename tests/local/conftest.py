from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.local.servers import stop_servers
from burnish.local.supervisor import stop_supervisor


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder that the servers' account can reach, unlike pytest's own temporary folders when run by root."""
    folder = Path(tempfile.mkdtemp(prefix="burnish-test-")).resolve()
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        stop_supervisor(folder)
        stop_servers(folder)
        shutil.rmtree(folder)

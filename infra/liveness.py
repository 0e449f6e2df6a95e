"""A worker's sign of life: a file touched with each heartbeat that its loop sends, every two seconds.

    celery ... worker --include liveness

The heartbeat goes to the broker first, so the file grows old both when the loop stands still and when the broker
cannot be reached. Asking the worker itself (`celery inspect ping`) would tell the same for seconds of CPU each time.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from celery import signals

SIGN_OF_LIFE = Path(tempfile.gettempdir()) / "burnish-worker-alive"


def touch(**_: Any) -> None:
    SIGN_OF_LIFE.touch()


_signals: Any = signals
_signals.heartbeat_sent.connect(touch)

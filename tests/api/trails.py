"""Waiting for a job, and reading the audit trail that the API gives of an answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from burnish.client import Client


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


def failures_of(run: Any) -> list[str]:
    return [failure["type"] for step in steps_of(run) for failure in step["failures"]]


def records_of(run: Any) -> Counter[str]:
    return Counter(record["type"] for step in steps_of(run) for record in step["records"])

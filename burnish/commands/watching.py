"""A job watched until it ends: done, failed, rate, cost and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from burnish.client import Client
from burnish.commands.showing import Json, cost_in_words
from burnish.errors import Unavailable

_POLL_SECONDS = 1.0
_OUTAGE_SECONDS = 120.0
FAILURES = ("failed", "cancelled", "expired", "budget_exceeded")


@dataclass(frozen=True)
class Pace:
    """How fast questions have ended since `began`, in seconds of a monotonic clock; `before` had ended by then."""

    began: float
    before: int

    def a_minute(self, done: int, now: float) -> float | None:
        """Questions a minute; None before the first has ended."""
        return (done - self.before) * 60 / (now - self.began) if done > self.before and now > self.began else None

    def seconds_left(self, done: int, total: int, now: float) -> float | None:
        rate = self.a_minute(done, now)
        return (total - done) * 60 / rate if rate else None


def watch(
    client: Client, job_id: str, console: Console, on_news: Callable[[Json], None] | None = None
) -> dict[str, Any]:
    """Show the job's progress until it has ended, and return it. `on_news` is given it whenever more is done.

    An outage of the API is waited out for two minutes; then Unavailable is raised.
    """
    job = client.job(job_id)
    pace = Pace(time.monotonic(), done_of(job))
    with _progress(console) as progress:
        task = progress.add_task("Answering", total=job["total"], failed=0, rate="", cost="", left="")
        seen = -1
        while True:
            _show(progress, task, job, pace)
            if on_news is not None and done_of(job) != seen:
                seen = done_of(job)
                on_news(job)
            if job["status"] == "ended":
                return job
            time.sleep(_POLL_SECONDS)
            job = _job_through_outages(client, job_id)


def done_of(job: Json) -> int:
    return job["total"] - job["counts"]["queued"] - job["counts"]["running"]


def failed_of(job: Json) -> int:
    """How many ended without an answer, for whatever reason."""
    return sum(job["counts"][outcome] for outcome in FAILURES)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("done, {task.fields[failed]} failed{task.fields[rate]}, {task.fields[cost]}{task.fields[left]}"),
        console=console,
    )


def _show(progress: Progress, task: TaskID, job: Json, pace: Pace) -> None:
    now, done = time.monotonic(), done_of(job)
    rate, left = pace.a_minute(done, now), pace.seconds_left(done, job["total"], now)
    progress.update(
        task,
        completed=done,
        failed=failed_of(job),
        rate=f", {rate:.1f} a minute" if rate else "",
        cost=cost_in_words(job["usage"]),
        left=f", about {_duration(left)} left" if left else "",
    )


def _job_through_outages(client: Client, job_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + _OUTAGE_SECONDS
    while True:
        try:
            return client.job(job_id)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

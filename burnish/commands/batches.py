"""Many questions as one job: submit, watch, fetch, ask again, stop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.client import Client
from burnish.commands.asking import connected
from burnish.commands.console import err, remark, say
from burnish.commands.showing import Json, job_line
from burnish.commands.watching import FAILURES, failed_of, watch
from burnish.errors import InvalidInput, NotFound

_INTERRUPTED = 130
_SHOWN_REJECTIONS = 20


@dataclass(frozen=True)
class Batch:
    """A file of questions, and what holds for those that do not say it themselves."""

    file: Path
    name: str | None
    strategy: str | None
    collection: str | None
    config: dict[str, Any] | None


def run_batch(batch: Batch, output: Path) -> bool:
    """Ask everything in the file, watch it, and write the results; whether every line came to an answer."""
    refuse_unwritable(output)
    with connected() as client:
        job = _submit(client, batch)
        try:
            remark(f"job {job['id']}")
            _tell_rejected(job)
            job = watch(client, job["id"], err)
        except KeyboardInterrupt:
            remark(f"The job goes on without you: burnish results {job['id']} -o {output}")
            raise SystemExit(_INTERRUPTED) from None
        _write(client, job["id"], output)
    say(f"{job_line(job)}; results in {output}")
    return failed_of(job) == 0 and job["rejected"] == 0


def questions_in(file: Path) -> Iterator[Mapping[str, Any] | bytes]:
    """The lines of a JSONL file as they stand, or of a text file each as a question.

    Blank lines stay, so that whatever is said of a line names its number in the file.
    """
    with file.open("rb") as lines:
        if file.suffix.lower() != ".txt":
            yield from lines
            return
        for line in lines:
            question = line.decode("utf-8-sig", "replace").strip()
            yield {"question": question} if question else b""


def show_job(job_id: str, *, watch_it: bool) -> None:
    with connected() as client:
        job = client.job(job_id)
        if watch_it and job["status"] != "ended":
            job = watch(client, job_id, err)
        say(f"{job['name'] or job['id']}  {job_line(job)}")


def fetch_results(job_id: str, output: Path) -> None:
    refuse_unwritable(output)
    with connected() as client:
        job = client.job(job_id)
        count = _write(client, job_id, output)
    say(f"{count} of {job['total']} answers in {output}" + ("" if job["status"] == "ended" else "; more will come"))


def retry_any(identity: str, outcomes: Sequence[str]) -> None:
    """Ask again what ended so of a job, and say what did not; or an answer, if it is no job."""
    with connected() as client:
        try:
            retried = client.retry_job(identity, outcomes)
        except NotFound:
            client.retry_answer(identity)
            say("1 asked again")
            return
    say(f"{retried['retried']} asked again" if retried["retried"] else f"None ended as {' or '.join(outcomes)} there.")
    if left := left_alone(retried["job"], outcomes):
        remark(left)


def left_alone(job: Json, outcomes: Sequence[str]) -> str:
    """The questions of a job without an answer that ended otherwise, in words; "" where there are none."""
    left = {outcome: job["counts"][outcome] for outcome in FAILURES if outcome not in outcomes}
    counted = ", ".join(f"{number} {outcome}" for outcome, number in left.items() if number)
    return f"not asked again: {counted}; `burnish retry --help` says how" if counted else ""


def cancel_job(job_id: str) -> None:
    with connected() as client:
        say(job_line(client.cancel(job_id)))


def refuse_unwritable(output: Path) -> None:
    """Find out before the questions are asked, and paid for, and not after."""
    try:
        output.open("ab").close()
    except OSError as error:
        raise InvalidInput(f"{output} cannot be written: {error.strerror}") from error


def _submit(client: Client, batch: Batch) -> dict[str, Any]:
    return client.submit(
        questions_in(batch.file),
        name=batch.name or batch.file.name,
        strategy=batch.strategy,
        collection=batch.collection,
        config=batch.config,
    )


def _tell_rejected(job: Json) -> None:
    for line in job["rejected_lines"][:_SHOWN_REJECTIONS]:
        remark(f"line {line['line']}: {line['message']}", "yellow")
    if job["rejected"] > _SHOWN_REJECTIONS:
        remark(f"and {job['rejected'] - _SHOWN_REJECTIONS} more lines that cannot be used", "yellow")


def _write(client: Client, job_id: str, output: Path) -> int:
    count = 0
    with output.open("w", encoding="utf-8") as file:
        for count, result in enumerate(client.results(job_id), start=1):  # noqa: B007 (the last count is the result)
            file.write(json.dumps(result, ensure_ascii=False) + "\n")
    return count

"""Jobs of many questions, within bounds of memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from burnish.settings import Settings
from burnish.store.answers import read_results
from tests.api.conftest import rows

MANY = 20_000


def lines(count: int) -> Iterator[bytes]:
    for number in range(count):
        if number % 100 == 7:
            yield b"spoilt\n"
        else:
            yield json.dumps({"custom_id": f"q{number}", "question": f"How long is river {number}?"}).encode() + b"\n"


def test_twenty_thousand_lines_are_taken_as_they_come(api: TestClient, database: Engine, settings: Settings) -> None:
    settings.questions_in_flight = 4
    tracemalloc.start()
    response = api.post("/v1/jobs", content=lines(MANY), headers={"content-type": "application/x-ndjson"})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    job = response.json()
    assert (job["total"], job["rejected"], len(job["rejected_lines"])) == (MANY * 99 // 100, MANY // 100, MANY // 100)
    assert [each["line"] for each in job["rejected_lines"][:2]] == [8, 108]
    assert rows(database) == MANY * 99 // 100
    assert most < 5_000 * MANY, f"{most / MANY:.0f} bytes a line"


def test_the_results_of_a_large_job_are_never_in_memory_together(api: TestClient, database: Engine) -> None:
    job = api.post("/v1/jobs", json={"questions": [{"custom_id": "first", "question": "Good?"}]}).json()
    _end_copies(database, MANY)
    tracemalloc.start()
    seen = sum(1 for _ in read_results(database, job["id"]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == MANY
    assert most < 20_000_000, f"{most:,} bytes"


def _end_copies(database: Engine, count: int) -> None:
    """Many ended questions in the job of the one that is there."""
    answer: dict[str, Any] = {"text": "x" * 2000, "confidence": 0.5, "evidence": [], "citations": [], "trace": {}}
    copied = "batch_id, collection_id, text, language, strategy, config, lane"
    statement = f"""
        INSERT INTO questions (id, custom_id, state, outcome, answer, {copied})
        SELECT uuidv7(), 'copy-' || number, 'ended', 'succeeded', CAST(:answer AS jsonb), {copied}
        FROM questions CROSS JOIN generate_series(1, :count) AS number
    """
    with database.begin() as connection:
        connection.execute(text(statement), {"count": count, "answer": json.dumps(answer)})

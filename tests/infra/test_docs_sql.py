"""Every SQL statement in the documentation runs on the real tables, and finds what its text says it finds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import Engine, Row, insert, text
from uuid_utils.compat import uuid7

from burnish.store.models import (
    Base,
    Batch,
    Collection,
    Document,
    HypotheticalDocumentRow,
    LLMCall,
    Question,
    RefinementStepRow,
    Run,
    Step,
    SubAnswerRow,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCED = re.compile(r"```sql\n(.*?)```", re.DOTALL)
TEXT = "The Danube is 2,850 km long."


def statements() -> list[tuple[str, str]]:
    """Each statement, and the sentences that stand before it."""
    found: list[tuple[str, str]] = []
    for page in sorted(DOCS.rglob("*.md")):
        parts = FENCED.split(page.read_text("utf-8"))
        found += [
            (before.strip().rsplit("\n\n", 1)[-1], sql) for before, sql in zip(parts[::2], parts[1::2], strict=False)
        ]
    return found


STATEMENTS = statements()
JOB, COLLECTION, DECOMPOSED, FAILED = (uuid7() for _ in range(4))
FAILURE = {"type": "LanguageModelUnavailable", "message": "m did not answer", "retryable": True}


def question(question_id: UUID, strategy: str, outcome: str, **values: Any) -> Question:
    known: dict[str, Any] = {"id": question_id, "strategy": strategy, "custom_id": strategy, "outcome": outcome}
    place: dict[str, Any] = {"batch_id": JOB, "collection_id": COLLECTION, "lane": "batch", "state": "ended"}
    return Question(text=f"a {strategy} question", language="en", config={}, **known, **place, **values)


def run(run_id: UUID, question_id: UUID, said: str, outcome: str, **values: Any) -> Run:
    known: dict[str, Any] = {"id": run_id, "question_id": question_id, "text": said, "outcome": outcome}
    return Run(strategy="recursive", config={}, state="ended", **known, **values)


def step(step_id: UUID, run_id: UUID, kind: str, state: str, **values: Any) -> Step:
    request = {"prompt": {"system": "Answer.", "user": "How long?"}}
    known: dict[str, Any] = {"id": step_id, "run_id": run_id, "kind": kind, "state": state}
    return Step(key=kind, position=0, request=request, **known, **values)


def refinement(run_id: UUID, step_id: UUID, iteration: int, confidence: float | None) -> RefinementStepRow:
    known: dict[str, Any] = {"run_id": run_id, "step_id": step_id, "iteration": iteration, "confidence": confidence}
    return RefinementStepRow(query="danube length", answer="2,850 km", issues=[], suggestions=[], **known)


def documents() -> list[Base]:
    document: dict[str, Any] = {"external_id": "danube", "title": "Danube", "text": TEXT, "language": "en"}
    origin: dict[str, Any] = {"media_type": "text/plain", "source": "", "content_hash": "0" * 64}
    return [
        Collection(id=COLLECTION, name="rivers", embedding_model="m", dimension=3),
        Document(collection_id=COLLECTION, **document, **origin),
    ]


def decomposed() -> list[Base]:
    """A question taken apart, with one part: a SelfIRAG answer of two iterations."""
    root, leaf, asking, calling = (uuid7() for _ in range(4))
    cited = [{"document_id": "danube", "quote": "2,850 km", "start": 14, "end": 22}]
    answer = {"text": "2,850 km", "confidence": 0.9, "citations": cited, "trace": {"decomposed": True}}
    spent: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25}
    call: dict[str, Any] = {"model": "m", "request": {}, "reply": {"text": "2,850 km"}, "latency_ms": 7, "tries": 1}
    part: dict[str, Any] = {"question": "a part", "answer": "2,850 km", "outcome": "succeeded", "confidence": 0.9}
    return [
        question(DECOMPOSED, "recursive", "succeeded", answer=answer, calls=1, **spent),
        run(root, DECOMPOSED, "the whole", "succeeded", answer=answer),
        step(asking, root, "subquestion", "done"),
        run(leaf, DECOMPOSED, "a part", "succeeded", depth=1, parent_step_id=asking),
        step(calling, leaf, "answer", "done"),
        LLMCall(step_id=calling, question_id=DECOMPOSED, **call, **spent),
        refinement(leaf, calling, 2, 0.9),
        refinement(leaf, calling, 1, None),
        SubAnswerRow(run_id=root, step_id=asking, position=0, depth=1, **part),
    ]


def failed() -> list[Base]:
    """A HyDE question whose model went away after the first imagined passage."""
    root, answering = uuid7(), uuid7()
    return [
        question(FAILED, "hyde", "failed", error=FAILURE),
        run(root, FAILED, "imagine", "failed", error=FAILURE),
        step(answering, root, "answer", "failed", failures=[FAILURE]),
        HypotheticalDocumentRow(run_id=root, step_id=answering, position=0, text="A river", kept=True),
    ]


class Asked:
    """A database with a job of two questions, and the statements asked of it."""

    def __init__(self, database: Engine) -> None:
        self._database = database
        job = Batch(id=JOB, total=2, rejected=[{"line": 3, "message": "it is empty"}])
        with database.begin() as connection:
            for row in (job, *documents(), *decomposed(), *failed()):
                connection.execute(insert(type(row)), _columns_of(row))

    def rows(self, about: str, question_id: UUID = DECOMPOSED) -> list[Row[Any]]:
        """What the one statement under a text that holds these words finds."""
        (statement,) = [sql for before, sql in STATEMENTS if about in before]
        return self.run(statement, question_id)

    def run(self, statement: str, question_id: UUID = DECOMPOSED) -> list[Row[Any]]:
        filled = statement.replace(":'question'", f"'{question_id}'").replace(":'job'", f"'{JOB}'")
        with self._database.begin() as connection:
            return list(connection.exec_driver_sql(filled).all())


def _columns_of(row: Any) -> dict[str, Any]:
    return {name: value for name, value in cast("dict[str, Any]", vars(row)).items() if not name.startswith("_")}


@pytest.fixture
def asked(database: Engine) -> Asked:
    return Asked(database)


def test_every_statement_of_the_documentation_runs(asked: Asked) -> None:
    assert len(STATEMENTS) >= 15
    for _, statement in STATEMENTS:
        asked.run(statement)


def test_the_audit_of_an_answer_finds_its_runs_steps_prompts_and_citations(asked: Asked) -> None:
    assert [row.question for row in asked.rows("Its runs as a tree")] == ["the whole", "  a part"]
    steps = asked.rows("Every step in order")
    assert [(row.kind, row.model) for row in steps] == [("subquestion", None), ("answer", "m")]
    (prompt,) = asked.rows("Every prompt, word for word")
    assert (prompt.system, prompt.prompt, prompt.reply) == ("Answer.", "How long?", "2,850 km")
    (citation,) = asked.rows("Its citations")
    assert (citation.quote, citation.verbatim) == ("2,850 km", True)


def test_the_typed_rows_are_found_in_their_order(asked: Asked) -> None:
    refinements = asked.rows("Every RefinementStep")
    assert [(row.iteration, row.confidence) for row in refinements] == [(1, None), (2, 0.9)]
    (part,) = asked.rows("Every SubAnswer")
    assert (part.part_of, part.question, part.depth) == ("the whole", "a part", 1)
    (imagined,) = asked.rows("Every HypotheticalDocument", FAILED)
    assert (imagined.text, imagined.kept) == ("A river", True)


def test_costs_and_failures_add_up(asked: Asked) -> None:
    costs = {row.strategy: (row.questions, row.calls, float(row.cost_usd)) for row in asked.rows("By strategy")}
    assert costs == {"hyde": (1, 0, 0.0), "recursive": (1, 1, 0.25)}
    ended = {(row.strategy, row.outcome, row.reason) for row in asked.rows("How a job's questions ended")}
    assert ended == {("recursive", "succeeded", None), ("hyde", "failed", "LanguageModelUnavailable")}
    (failure,) = asked.rows("Steps that failed")
    assert (failure.custom_id, failure.failure) == ("hyde", "LanguageModelUnavailable")


def test_a_whole_trail_raises_no_alarm_and_a_torn_one_does(asked: Asked, database: Engine) -> None:
    assert asked.rows("lack the rows") == []
    assert asked.rows("whose totals are not") == []
    with database.begin() as connection:
        connection.execute(text("DELETE FROM sub_answers"))
        connection.execute(text("DELETE FROM llm_calls"))
    assert [row.strategy for row in asked.rows("lack the rows")] == ["recursive"]
    assert [row.recorded for row in asked.rows("whose totals are not")] == [0]

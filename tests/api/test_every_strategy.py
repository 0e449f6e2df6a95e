"""Every strategy by its name, through the API and real workers, with the proof that each leaves behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from burnish.client import Client
from burnish.strategies.registry import STRATEGY_NAMES
from burnish.testing import SimulatedModel, simulated_model
from tests.api.trails import records_of, steps_of, wait_for_end
from tests.processes import api_server, pipeline

TEXT = "The Danube is 2,850 km long and ends in the Black Sea."
SEA = "The Black Sea is 2,212 m deep at most. It lies between Europe and Asia."
PLAIN = "How long is the Danube?"
COMPOUND = "How long is the Danube and how does its length compare with the Rhine?"
HOPS = "How deep is the sea in which the Danube ends?"
DRAFT = {"quote": "The Danube is 2,850 km long", "answer": "2,850 km", "supported": "yes"}
NOTHING: list[str] = []
SCORES = {"relevance": 5, "accuracy": 5, "completeness": 5, "clarity": 5, "issues": NOTHING, "suggestions": NOTHING}
SCRIPT: dict[str, Any] = {
    "rules": [
        {
            "kind": "answer",
            "match": "How deep",
            "reply": {"quote": "The Black Sea is 2,212 m deep", "answer": "2,212 m", "supported": "yes"},
        },
        {"kind": "answer", "reply": DRAFT},
        {"kind": "answer_and_judge", "reply": {**DRAFT, **SCORES}},
        {"kind": "decompose", "reply": {"sub_questions": [PLAIN, "How long is the Rhine?"]}},
        {"kind": "merge", "reply": {"answer": "The Danube is 2,850 km long, the Rhine 1,230 km."}},
        {"kind": "support", "reply": {"context_says": TEXT, "supported": "yes", "unsupported": []}},
        {"kind": "use", "reply": {"asked": "a length", "given": "a length", "useful": "yes"}},
        {
            "kind": "sufficiency",
            "match": "Black Sea depth[\\s\\S]*$",
            "reply": {"known": SEA, "sufficient": "yes", "missing": "", "next_query": ""},
        },
        {
            "kind": "sufficiency",
            "reply": {"known": TEXT, "sufficient": "no", "missing": "its depth", "next_query": "Black Sea depth"},
        },
        {"match": "yes or no", "reply": "yes"},
        {"kind": "text", "reply": "The Danube is a river in Europe, 2,850 km long, as one may imagine."},
    ]
}
QUESTIONS: dict[str, Mapping[str, Any]] = {
    "direct": {"question": PLAIN},
    "self_irag": {"question": PLAIN},
    "hyde": {"question": PLAIN},
    "recursive": {"question": COMPOUND},
    "self_rag": {"question": PLAIN},
    "multi_hop": {"question": HOPS},
    "auto": {"question": COMPOUND},
}
CHAINED: dict[str, Mapping[str, Any]] = {
    "recursive over self_irag": {
        "question": COMPOUND,
        "strategy": "recursive",
        "config": {"recursive": {"leaf": "self_irag"}},
    },
    "self_irag over hyde": {
        "question": PLAIN,
        "strategy": "self_irag",
        "config": {"search": {"retriever": "hyde"}},
    },
    "self_rag over hyde": {
        "question": PLAIN,
        "strategy": "self_rag",
        "config": {"search": {"retriever": "hyde"}, "self_rag": {"mode": "graded"}},
    },
    "interleaved": {
        "question": HOPS,
        "strategy": "multi_hop",
        "config": {"multi_hop": {"mode": "interleaved"}},
    },
}


@pytest.fixture(scope="module")
def model() -> Generator[SimulatedModel]:
    with simulated_model(SCRIPT) as model:
        yield model


def test_every_strategy_answers_by_its_name_and_any_may_be_chained(
    database_url: str, redis_url: str, model: SimulatedModel
) -> None:
    assert set(QUESTIONS) == set(STRATEGY_NAMES), "a strategy is missing here"
    asked = [{"custom_id": name, "strategy": name, **question} for name, question in QUESTIONS.items()]
    asked += [{"custom_id": name, **question} for name, question in CHAINED.items()]
    with (
        pipeline(database_url, redis_url, model) as running,
        api_server(running.environment) as url,
        Client(url) as burnish,
    ):
        burnish.add_documents([{"id": "danube", "text": TEXT}, {"id": "sea", "text": SEA}])
        job = burnish.submit(asked)
        wait_for_end(burnish, job["id"])
        results = {line["custom_id"]: line for line in burnish.results(job["id"])}
        runs = {name: burnish.steps(line["id"])["run"] for name, line in results.items()}
    assert {name: line["outcome"] for name, line in results.items()} == dict.fromkeys(results, "succeeded")
    check_answers(results)
    check_records({name: records_of(run) for name, run in runs.items()})
    for name, run in runs.items():
        calls = [step["call"] for step in steps_of(run) if step["call"]]
        assert len(calls) == results[name]["usage"]["calls"], name


def check_answers(results: Mapping[str, Any]) -> None:
    assert results["self_rag"]["answer"] == "2,850 km"
    assert results["self_rag"]["confidence"] == 1.0
    assert results["multi_hop"]["answer"] == results["interleaved"]["answer"] == "2,212 m"
    assert {citation["document_id"] for citation in results["multi_hop"]["citations"]} == {"sea"}
    assert results["auto"]["answer"] == results["recursive"]["answer"]
    told = {"chosen": "recursive", "reason": "several questions in one", "by": "features"}
    assert results["auto"]["trace"].items() >= told.items()


def check_records(records: Mapping[str, Counter[str]]) -> None:
    assert records["direct"] == {}
    assert records["self_irag"] == records["self_rag"] == {"refinement_step": 1}
    assert records["hyde"] == {"hypothetical_document": 3}
    assert records["recursive"] == records["auto"] == {"sub_answer": 2}
    assert records["recursive over self_irag"] == {"sub_answer": 2, "refinement_step": 2}
    assert records["self_irag over hyde"] == {"hypothetical_document": 3, "refinement_step": 1}
    assert records["self_rag over hyde"] == {"hypothetical_document": 3, "refinement_step": 1}

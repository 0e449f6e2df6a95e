"""How close the pipeline comes to what its model allows. `python -m benchmarks.throughput`.

A simulated model answers every call after just one second, and no more than 64 calls may be in flight. Then no
scheduler can end a batch sooner than

    ideal = max(critical path, calls x latency / 64)

and achieved / ideal says how much of that is lost in queues, SQL and the client. All else is real: LiteLLM, worker
processes, Postgres, the broker. Embeddings come from the same simulated server, through LiteLLM, at once.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from benchmarks.deployment import Deployment, deployment
from burnish.store.questions import NewQuestion, accept_batch, admit, find_collection
from burnish.task_queue import make_app, publish

CAP = 64
QUESTIONS = 256
LATENCY_SECONDS = 1.0
SHORT_LATENCY_SECONDS = 0.2
QUESTION = "How long is river {number}, and how does its length compare with that of the Danube?"
LEAVES = [
    "How long is the Danube in km?",
    "How long is the Rhine?",
    "Where does the Danube end?",
    "Where is the Rhine?",
]
DRAFT = {"quote": "The Danube is 2,850 km long", "answer": "2,850 km", "supported": "yes"}
MIDDLING = {
    "relevance": 3,
    "accuracy": 3,
    "completeness": 3,
    "clarity": 3,
    "issues": ["vague"],
    "suggestions": ["a river"],
}


@dataclass(frozen=True)
class Case:
    """calls: of the model, for one question. depth: how many of them follow upon each other."""

    name: str
    strategy: str
    config: Mapping[str, Any]
    calls: int
    depth: int


CASES = (
    Case("self_irag, 1 iteration", "self_irag", {"self_irag": {"max_refinement_iterations": 1}}, 1, 1),
    Case("self_irag, 3 iterations", "self_irag", {"self_irag": {"max_refinement_iterations": 3}}, 3, 3),
    Case("hyde, N = 3", "hyde", {"hyde": {"num_hypothetical_docs": 3}}, 4, 2),
    Case("recursive, 4 leaves", "recursive", {"recursive": {"max_depth": 1}}, 6, 3),
)


def script(latency: float) -> dict[str, Any]:
    rules = [
        {"kind": "answer", "reply": DRAFT},
        {"kind": "answer_and_judge", "reply": {**DRAFT, **MIDDLING}},
        {"kind": "decompose", "reply": {"sub_questions": LEAVES}},
        {"kind": "merge", "reply": {"answer": "The Danube is 2,850 km long"}},
        {"kind": "text", "reply": "The Danube is a river of Europe, 2,850 km long, as any atlas tells its readers."},
    ]
    return {"rules": rules, "latency": latency, "keep": 0}


def submit(place: Deployment, case: Case, number: int) -> UUID:
    """Accept so many questions and send their messages, as the API does."""
    with place.database.begin() as connection:
        collection = find_collection(connection, "default")
        questions = [
            NewQuestion(str(n), QUESTION.format(number=n), "en", case.strategy, dict(case.config), collection)
            for n in range(number)
        ]
        batch = accept_batch(connection, case.name, questions, [])
    with place.database.begin() as connection:
        messages = admit(connection, "batch", 512)
    publish(make_app(place.redis_url), messages)
    return batch


def wait(place: Deployment, batch: UUID) -> float:
    """Seconds from the batch's acceptance to its last question's end, by the database's clock."""
    ended = text(
        """SELECT count(*) FILTER (WHERE questions.state <> 'ended') AS open,
                  count(*) FILTER (WHERE outcome <> 'succeeded') AS wrong,
                  extract(epoch FROM max(questions.ended_at) - min(questions.created_at)) AS seconds
           FROM questions WHERE batch_id = :batch"""
    )
    while True:
        with place.database.begin() as connection:
            row = connection.execute(ended, {"batch": batch}).one()
        if row.open == 0:
            assert row.wrong == 0, f"{row.wrong} questions did not succeed"
            return float(row.seconds)
        time.sleep(0.2)


def measure(place: Deployment, case: Case, questions: int, repeats: int) -> str:
    """One row of the table."""
    place.model.set_script(script(LATENCY_SECONDS))
    ideal = max(case.depth, questions * case.calls / CAP) * LATENCY_SECONDS
    place.model.reset()
    before = place.cpu_seconds()
    walls = [wait(place, submit(place, case, questions)) for _ in range(repeats)]
    after, calls = place.cpu_seconds(), place.model.calls()
    made = sum(number for kind, number in calls.by_kind.items() if kind != "embeddings")
    assert made == repeats * questions * case.calls, f"{made} calls were made"
    spent = {kind: (after[kind] - before[kind]) * 1000 / made for kind in after}
    ratios = sorted(ideal / wall for wall in walls)
    costs = " | ".join(f"{spent[kind]:.1f}" for kind in ("workers", "Postgres", "Valkey", "reconciler", "model"))
    return (
        f"| {case.name} | {made // repeats} | {ideal:.0f} s | {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {calls.most_in_flight} | {costs} |"
    )


def measure_latency(place: Deployment, repeats: int) -> str:
    """How much longer one recursive question takes than its three calls in a row."""
    case = CASES[-1]
    place.model.set_script(script(SHORT_LATENCY_SECONDS))
    critical = case.depth * SHORT_LATENCY_SECONDS
    ratios = sorted(wait(place, submit(place, case, 1)) / critical for _ in range(repeats))
    return f"{statistics.median(ratios):.2f} x its critical path ({ratios[0]:.2f} to {ratios[-1]:.2f}, {repeats} runs)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name begins so")
    chosen = parser.parse_args()
    with deployment(CAP) as place:
        place.model.set_script(script(0.01))
        wait(place, submit(place, CASES[0], 32))
        print(f"\n{chosen.questions} questions, {LATENCY_SECONDS:.0f} s a call, {CAP} in flight at most\n")
        print("| strategy | calls | ideal | achieved / ideal | most in flight | CPU ms a call: workers", end="")
        print(" | Postgres | Valkey | reconciler | model |\n|---|---|---|---|---|---|---|---|---|---|")
        for case in CASES:
            if case.name.startswith(chosen.only):
                print(measure(place, case, chosen.questions, chosen.repeats), flush=True)
        print(f"\none recursive question, 4 leaves, {SHORT_LATENCY_SECONDS * 1000:.0f} ms a call: ", end="")
        print(measure_latency(place, 9))


if __name__ == "__main__":
    main()

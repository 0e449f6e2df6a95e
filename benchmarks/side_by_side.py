"""burnish's classes beside those of fennec-community, which has the same interface, in one run: time and calls.

    python -m benchmarks.side_by_side [--repeats N] [--latency SECONDS] [--only CASE]

Both are asked the same questions over the same retriever and the same scripted model (`benchmarks.towers`), with at
most 32 calls of the model in flight: fennec-community by a pool of 32 threads, and burnish by one `abatch` with
max_concurrency=32, on one thread. A question that is asked alone is asked by `query` there and by `aquery` here. The
two take turns, and who goes first alternates, so that a machine that slows down slows both.

fennec-community is in the dependency group `bench`, which nothing else needs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import logging
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.towers import Model, Shelf, compound, nested, refining, simple
from burnish import RecursiveRAG, SelfIRAG

CAP = 32
LATENCY_SECONDS = 0.1
REPEATS = 5
PEER = "fennec-community"
PEER_MODULE = "fennec_community"
MISSING = f"{PEER} is not installed; `uv sync --inexact --all-extras --group bench` installs it (uv is in .venv/bin)"

Ask = Callable[[Model, Sequence[str]], list[str]]


@dataclass(frozen=True)
class Case:
    """questions: asked together, or one alone. peer, ours: ask them, and give the answers."""

    name: str
    questions: tuple[str, ...]
    peer: Ask
    ours: Ask


@dataclass(frozen=True)
class Took:
    """seconds: wall clock. cpu: seconds of the process. calls, most: of the model, in all and in flight together."""

    seconds: float
    cpu: float
    calls: int
    most: int


def is_installed() -> bool:
    return importlib.util.find_spec(PEER_MODULE) is not None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=f"burnish beside {PEER}: time and calls.")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--latency", type=float, default=LATENCY_SECONDS, help="seconds that a call takes")
    parser.add_argument("--only", default="", help="cases whose name begins so")
    chosen = parser.parse_args(argv)
    if not is_installed():
        print(MISSING)
        return 1
    print(f"\n{chosen.latency * 1000:.0f} ms a call, {CAP} in flight at most, {chosen.repeats} repeats in turn\n")
    print(f"| work | calls {PEER} | burnish | seconds | | burnish / {PEER} | most in flight | | CPU ms a question | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in cases():
        if case.name.startswith(chosen.only):
            print(row(case, chosen.repeats, chosen.latency), flush=True)
    return 0


def cases() -> list[Case]:
    peer = importlib.import_module(f"{PEER_MODULE}.rag.types.self_improving_rag")
    _silence()
    self_irag = in_threads(lambda model: peer.SelfIRAG(Shelf(), model))
    recursive = in_threads(lambda model: peer.RecursiveRAG(Shelf(), model))
    routed = in_threads(lambda model: Routed(peer.SelfIRAG(Shelf(), model), peer.RecursiveRAG(Shelf(), model)))
    batch_self, batch_recursive = in_a_batch(SelfIRAG), in_a_batch(RecursiveRAG)
    batch_mixed = in_a_batch(lambda shelf, model: RecursiveRAG(shelf, model, leaf="self_irag"))
    return [
        Case("256 simple questions", tuple(map(simple, range(1, 257))), self_irag, batch_self),
        Case("64 refining questions", tuple(map(refining, range(1, 65))), self_irag, batch_self),
        Case("64 compound questions", tuple(map(compound, range(1, 65))), recursive, batch_recursive),
        Case("64 mixed questions", mixed(64, refine=True), routed, batch_mixed),
        Case("256 mixed questions", mixed(256, refine=True), routed, batch_mixed),
        Case("64 mixed questions, none refining", mixed(64, refine=False), routed, batch_mixed),
        Case("one compound question, 4 leaves", (compound(7),), recursive, alone(RecursiveRAG)),
        Case("one compound question, depth 2", (nested(7),), recursive, alone(RecursiveRAG)),
    ]


def mixed(number: int, *, refine: bool) -> tuple[str, ...]:
    """Of four questions two are simple, one is compound, and one refining; where none is to refine, simple."""
    kinds = (simple, refining if refine else simple, simple, compound)
    return tuple(kinds[n % 4](n) for n in range(1, number + 1))


class Routed:
    """The peer's two classes, each asked what it is for: the compound questions are known by what they ask."""

    def __init__(self, self_irag: Any, recursive: Any) -> None:
        self._self_irag = self_irag
        self._recursive = recursive

    def query(self, question: str) -> Any:
        return (self._recursive if " and " in question else self._self_irag).query(question)


def in_threads(make: Callable[[Model], Any]) -> Ask:
    """Ask in a pool of as many threads as calls may be in flight; a question alone needs no pool."""

    def ask(model: Model, questions: Sequence[str]) -> list[str]:
        rag = make(model)
        if len(questions) == 1:
            return [rag.query(questions[0]).answer]
        with ThreadPoolExecutor(CAP) as pool:
            return [result.answer for result in pool.map(rag.query, questions)]

    return ask


def in_a_batch(make: Callable[[Shelf, Model], Any]) -> Ask:
    def ask(model: Model, questions: Sequence[str]) -> list[str]:
        return _answers(asyncio.run(make(Shelf(), model).abatch(questions, max_concurrency=CAP)))

    return ask


def alone(make: Callable[[Shelf, Model], Any]) -> Ask:
    def ask(model: Model, questions: Sequence[str]) -> list[str]:
        return _answers([asyncio.run(make(Shelf(), model).aquery(questions[0]))])

    return ask


def _answers(results: Sequence[Any]) -> list[str]:
    return [result.answer for result in results]


def row(case: Case, repeats: int, latency: float) -> str:
    """One row of the table: medians, and of the ratio the range too."""
    _check_alike(case)
    peers, ours = take_turns(case, repeats, latency)
    ratios = sorted(our.seconds / peer.seconds for peer, our in zip(peers, ours, strict=True))
    seconds = " | ".join(f"{statistics.median(took.seconds for took in side):.2f}" for side in (peers, ours))
    most = " | ".join(str(max(took.most for took in side)) for side in (peers, ours))
    asked = len(case.questions)
    spent = " | ".join(f"{statistics.median(took.cpu for took in side) * 1000 / asked:.2f}" for side in (peers, ours))
    return (
        f"| {case.name} | {peers[0].calls} | {ours[0].calls} | {seconds} | **{statistics.median(ratios):.2f}** "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {most} | {spent} |"
    )


def take_turns(case: Case, repeats: int, latency: float) -> tuple[list[Took], list[Took]]:
    """What each repeat took, there and here; the one of them begins that was second before."""
    took: tuple[list[Took], list[Took]] = ([], [])
    for repeat in range(repeats):
        for side in (0, 1) if repeat % 2 else (1, 0):
            took[side].append(measure((case.peer, case.ours)[side], case.questions, latency))
    return took


def measure(ask: Ask, questions: Sequence[str], latency: float) -> Took:
    model = Model(latency)
    cpu, begun = time.process_time(), time.perf_counter()
    ask(model, questions)
    return Took(time.perf_counter() - begun, time.process_time() - cpu, model.calls, model.most)


def _check_alike(case: Case) -> None:
    """Ask both once without latency, so that imports and caches are warm, and see that both find the same facts."""
    for theirs, ours in zip(*(ask(Model(0), case.questions) for ask in (case.peer, case.ours)), strict=True):
        assert ours in theirs, f"{case.name}: {PEER} answers {theirs!r}, burnish {ours!r}"


def _silence() -> None:
    """A line in the log for each call would cost the peer time, and nobody reads it."""
    for name in ("SelfImprovingRAG", PEER_MODULE):
        logging.getLogger(name).setLevel(logging.CRITICAL)


if __name__ == "__main__":
    raise SystemExit(main())

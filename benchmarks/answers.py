"""How good the answers of a real model are, by strategy, on published question sets, and what they take.

    python -m benchmarks.answers [xquad-en xquad-ar hotpotqa] [--questions N] [--minutes M] [--replies FOLDER]

All is the product's own: strategies, search in Postgres, embedded vectors, prompts, schemas, log-probabilities, and the
settings; where none are set, those that `burnish up` chooses for the embedded language model. Answers are compared with
the gold ones, a few words of a passage each, as a whole (EM) and word by word (F1); whoever abstains scores 0. `gold
found` counts the questions for which every document that they need was retrieved.

Every reply is kept in the folder under its request. So what two strategies ask alike is asked once, a run that was
broken off goes on where it stood, and one after a change of the prompts asks what has changed and no more. The seconds
of a question are those of its calls, added up, each as long as it took when it was made, beside others in flight.

Question after question is asked of every set by all strategies, and one counts once all have answered it: at any time
the table compares like with like. The data (BURNISH_EVALDATA, default ../shared/evaldata) are other people's and not
part of burnish.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from benchmarks.question_sets import ANSWERED, Question, collection_of, in_turn, open_database, questions_of
from benchmarks.replies import Recorded, Replies
from benchmarks.retrieval import ROOT
from burnish.asking import asked_for, without_answer
from burnish.commands.deployment import home_of, read_settings
from burnish.commands.plan import Ports, chosen_values, needs_of
from burnish.config import StrategyConfig
from burnish.effects import Ask, Retrieve
from burnish.engine import arun
from burnish.errors import EffectFailed
from burnish.local.servers import start_servers
from burnish.results import Answer, Outcome
from burnish.settings import Settings
from burnish.strategies.registry import begin
from burnish.text.metrics import Norm, exact_match, f1
from burnish.world.assemble import language_model_from
from burnish.world.embeddings import EmbeddedE5, Embedder
from burnish.world.loop import LoopThread
from burnish.world.retrieval import search

STRATEGIES = ("direct", "self_irag", "hyde", "recursive", "self_rag", "multi_hop")
NORMS: Mapping[str, Norm] = {"en": "squad", "ar": "fold"}
QUESTIONS = 12
RUNS_AT_ONCE = 3
HEADINGS = (
    *("set", "strategy", "questions", "EM", "F1", "outcomes", "gold found"),
    *("calls", "at most", "tokens read", "written", "model seconds"),
)


@dataclass(frozen=True)
class Place:
    """Where questions are asked."""

    database: Engine
    embedder: Embedder
    collections: Mapping[str, UUID]
    replies: Replies
    config: StrategyConfig


@dataclass
class Taken:
    """What answering a question took: the replies to its calls, and the documents retrieved."""

    replies: list[Recorded] = field(default_factory=list[Recorded])
    documents: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Run:
    """A question answered by a strategy. found: every document that it needs was among those retrieved."""

    set: str
    question: str
    strategy: str
    text: str
    golds: tuple[str, ...]
    outcome: str
    answer: str
    em: float
    f1: float
    found: bool
    calls: tuple[str, ...]
    tokens_read: int
    tokens_written: int
    seconds: float
    trace: Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _arguments(argv)
    data = Path(os.environ.get("BURNISH_EVALDATA", ROOT.parent / "shared" / "evaldata"))
    if not data.is_dir():
        print(f"skipped: there is no evaluation data at {data}; set BURNISH_EVALDATA to where it lies")
        return 0
    settings = settings_in_use()
    folder: Path = chosen.replies or home_of(settings) / "answers"
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = chosen.sets or list(ANSWERED)
    place = _place(settings, data, names, folder)
    questions = in_turn([questions_of(data, name, chosen.questions) for name in names])
    runs = asyncio.run(answer_all(place, questions, folder, time.monotonic() + 60 * chosen.minutes))
    print(table(runs))
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Answers of a real model on published question sets, by strategy.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(ANSWERED)}; all by default")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each set")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no question is begun")
    parser.add_argument("--replies", type=Path, metavar="FOLDER", help="to keep replies and results in")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.sets).difference(ANSWERED):
        parser.error(f"unknown sets: {', '.join(sorted(unknown))}")
    return arguments


def settings_in_use() -> Settings:
    """The settings that `burnish up` would run with, and the servers started that it would embed."""
    settings = read_settings()
    needs, home = needs_of(settings), home_of(settings)
    endpoints = start_servers(
        home, database=needs.database, broker=False, model=needs.model, model_path=settings.model_path, report=print
    )
    if needs.database or needs.model:
        print("what was started stays up; `burnish down` stops it")
    return read_settings(**chosen_values(settings, needs, endpoints, Ports(0, 0), ""))


def _place(settings: Settings, data: Path, names: Sequence[str], folder: Path) -> Place:
    database = open_database(str(settings.database_url))
    return Place(
        database,
        EmbeddedE5(),
        {name: collection_of(database, data, name) for name in names},
        Replies(folder / "replies.jsonl", language_model_from(settings, LoopThread())),
        StrategyConfig.from_mapping(settings.strategy_defaults),
    )


async def answer_all(place: Place, questions: Sequence[Question], folder: Path, until: float) -> list[Run]:
    """Every question by every strategy, a few at a time; each run is written down as it ends, and the table with it."""
    left = _asked_until(until, questions)
    runs: list[Run] = []
    with (folder / "runs.jsonl").open("w", encoding="utf-8") as written:

        async def take_turns() -> None:
            for question, strategy in left:
                runs.append(await answer(place, question, strategy))
                print(json.dumps(asdict(runs[-1]), ensure_ascii=False), file=written, flush=True)
                (folder / "table.md").write_text(table(runs) + "\n", encoding="utf-8")
                print(f"\r{len(runs)} of {len(questions) * len(STRATEGIES)}", end="", file=sys.stderr, flush=True)

        await asyncio.gather(*(take_turns() for _ in range(RUNS_AT_ONCE)))
    print(file=sys.stderr)
    return runs


def _asked_until(until: float, questions: Sequence[Question]) -> Iterator[tuple[Question, str]]:
    for question in questions:
        if time.monotonic() > until:
            return
        yield from ((question, strategy) for strategy in STRATEGIES)


async def answer(place: Place, question: Question, strategy: str) -> Run:
    taken = Taken()

    async def perform(effect: Retrieve | Ask) -> Any:
        if isinstance(effect, Ask):
            recorded = await place.replies.reply_to(effect)
            taken.replies.append(recorded)
            return recorded.reply
        collection = place.collections[question.set]
        found = await asyncio.to_thread(search, place.database, place.embedder, collection, effect)
        taken.documents.update(passage.document_id for passage in found)
        return found

    try:
        given = await arun(asked_for(question.text, strategy, place.config), begin, perform)
    except EffectFailed as failure:
        given = without_answer(question.text, failure)
    return scored(question, strategy, given, taken)


def scored(question: Question, strategy: str, given: Answer, taken: Taken) -> Run:
    norm = NORMS[ANSWERED[question.set].language]
    said = given.text if given.outcome is Outcome.SUCCEEDED else ""
    return Run(
        set=question.set,
        question=question.id,
        strategy=strategy,
        text=question.text,
        golds=question.golds,
        outcome=given.outcome.value,
        answer=given.text,
        em=exact_match(said, question.golds, norm),
        f1=f1(said, question.golds, norm),
        found=question.documents <= taken.documents,
        calls=tuple(reply.kind for reply in taken.replies),
        tokens_read=sum(reply.prompt_tokens for reply in taken.replies),
        tokens_written=sum(reply.completion_tokens for reply in taken.replies),
        seconds=sum(reply.seconds for reply in taken.replies),
        trace=given.trace,
    )


def table(runs: Sequence[Run]) -> str:
    """In Markdown, a row for each set and strategy over the questions that all strategies have answered."""
    answered = Counter((run.set, run.question) for run in runs)
    complete = [run for run in runs if answered[run.set, run.question] == len(STRATEGIES)]
    rows = [
        _row(name, strategy, [run for run in complete if (run.set, run.strategy) == (name, strategy)])
        for name in dict.fromkeys(run.set for run in complete)
        for strategy in STRATEGIES
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEADINGS, ("---",) * len(HEADINGS), *rows))


def _row(name: str, strategy: str, runs: Sequence[Run]) -> tuple[str, ...]:
    outcomes = Counter(run.outcome for run in runs).most_common()
    calls = [len(run.calls) for run in runs]
    return (
        name,
        strategy,
        f"{len(runs)}",
        f"{statistics.fmean(run.em for run in runs):.2f}",
        f"{statistics.fmean(run.f1 for run in runs):.2f}",
        ", ".join(f"{number} {outcome}" for outcome, number in outcomes),
        f"{sum(run.found for run in runs)}",
        f"{statistics.median(calls):g}",
        f"{max(calls)}",
        *(f"{statistics.median(figures):.0f}" for figures in zip(*map(_taken, runs), strict=True)),
    )


def _taken(run: Run) -> tuple[float, ...]:
    return run.tokens_read, run.tokens_written, run.seconds


if __name__ == "__main__":
    raise SystemExit(main())

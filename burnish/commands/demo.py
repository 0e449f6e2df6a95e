"""`burnish demo`: the whole pipeline over `examples/`, as one job through the API.

The job's name carries a hash of everything that decides its answers. So a second run finds the first one's job and
shows it from the record; what failed in it, or never ended, is gone on with.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from burnish.client import Client
from burnish.commands.audit_tree import audit_tree
from burnish.commands.console import out, remark
from burnish.commands.deployment import (
    Deployment,
    home_of,
    read_settings,
    require_source_tree,
    settings_in_effect,
)
from burnish.commands.grading import Verdict, verdict_on
from burnish.commands.ingesting import in_words, ingest_paths
from burnish.commands.showing import Json, answer_block, usage_in_words
from burnish.commands.starting import addresses, wait_visibly
from burnish.commands.up import start
from burnish.commands.watching import failed_of, watch
from burnish.settings import Settings

COLLECTION = "examples"
_VERDICT_STYLES = {True: "bold green", False: "bold red"}


@dataclass
class Show:
    """Prints each answer once, as soon as it is there, and counts the right ones."""

    client: Client
    gold: Mapping[str, Mapping[str, Any]]
    began: float = field(default_factory=time.monotonic)
    shown: dict[str, Json] = field(default_factory=dict[str, Json])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    first_after: float | None = None

    def news_of(self, job: Json) -> None:
        for answer in self.client.results(job["id"]):
            if answer["id"] not in self.shown:
                self._show(answer)

    def _show(self, answer: Json) -> None:
        if self.first_after is None:
            self.first_after = time.monotonic() - self.began
        verdict = verdict_on(self.gold[answer["custom_id"]], answer["outcome"], answer["answer"])
        self.shown[answer["id"]] = answer
        self.verdicts.append(verdict)
        out.print(answer_block(answer, Text(verdict.value, style=_VERDICT_STYLES[verdict.is_right])))


def run_demo(*, ask_all: bool, again: bool) -> None:
    """Start, ingest, ask, show the answers as they come, the score, the audit, and how to go on."""
    began = time.monotonic()
    examples = require_source_tree() / "examples"
    questions = read_questions(examples / "questions.jsonl", ask_all=ask_all)
    deployment = start(remark)
    report = ingest_paths([examples / "corpus"], COLLECTION)
    remark(in_words(report, COLLECTION))
    wait_visibly(deployment)
    with Client(deployment.api_url) as client:
        name = job_name(questions, examples / "corpus")
        job, is_new = _job(client, name, questions, again=again)
        show = Show(client, {str(question["custom_id"]): question["gold"] for question in questions}, began)
        job = watch(client, job["id"], out, show.news_of)
        _conclude(client, show, job, deployment, is_new=is_new)


def read_questions(file: Path, *, ask_all: bool) -> list[dict[str, Any]]:
    """The questions of the examples; those of the demo alone unless all are wanted."""
    lines = file.read_text(encoding="utf-8").splitlines()
    questions = [cast("dict[str, Any]", json.loads(line)) for line in lines if line.strip()]
    return [question for question in questions if ask_all or question["demo"]]


def job_name(questions: Sequence[Json], corpus: Path) -> str:
    """The name that a job over these questions, documents, models and settings has."""
    user = read_settings()
    settings = settings_in_effect(home_of(user), user)
    digest = hashlib.sha256()
    digest.update(json.dumps([version("burnish"), list(questions), _deciding(settings)], sort_keys=True).encode())
    for file in sorted(path for path in corpus.rglob("*") if path.is_file()):
        digest.update(file.relative_to(corpus).as_posix().encode() + b"\0" + file.read_bytes())
    return f"demo-{len(questions)}-{digest.hexdigest()[:12]}"


def _deciding(settings: Settings) -> list[Any]:
    return [settings.model, str(settings.model_path), settings.embedding_model, settings.strategy_defaults]


def _job(client: Client, name: str, questions: Sequence[Json], *, again: bool) -> tuple[dict[str, Any], bool]:
    """The job of this name, gone on with, or a new one; and whether it is new."""
    known = None if again else next((job for job in client.jobs(limit=100) if job["name"] == name), None)
    if known is None or known["status"] == "cancelling" or known["counts"]["cancelled"]:
        return client.submit(questions, name=name, collection=COLLECTION), True
    if failed_of(known):
        return client.retry_job(known["id"])["job"], False
    return known, False


def _conclude(client: Client, show: Show, job: Json, deployment: Deployment, *, is_new: bool) -> None:
    out.print(_score(show, job, is_new=is_new))
    out.print(Rule("How one answer of each strategy came about", style="dim"))
    for answer in _one_of_each(list(show.shown.values())):
        out.print(answer_line(answer))
        out.print(audit_tree(client.steps(answer["id"])))
    out.print(Rule("How to go on", style="dim"))
    out.print(addresses(deployment, home_of(read_settings())))
    out.print(
        'burnish ask "How high is the lighthouse?" --collection examples --strategy self_irag --steps', style="bold"
    )


def _score(show: Show, job: Json, *, is_new: bool) -> Text:
    right = sum(verdict.is_right for verdict in show.verdicts)
    text = Text.assemble(
        (f"{right} of {len(show.verdicts)} right", "bold"), f" by the gold answers; {usage_in_words(job['usage'])}"
    )
    if is_new:
        took = time.monotonic() - show.began
        text.append(f"; first answer after {show.first_after or took:.0f} s, all after {took:.0f} s")
    else:
        text.append("; answered by an earlier run and shown from the record: `burnish demo --again` asks anew")
    return text


def answer_line(answer: Json) -> RenderableType:
    return Text.assemble((f"{answer['strategy']}: ", "bold cyan"), str(answer["question"]))


def _one_of_each(answers: Sequence[Json]) -> list[Json]:
    """For each strategy the answer with most to show: one that succeeded, with the most calls."""
    best: dict[str, Json] = {}
    for answer in sorted(answers, key=_worth_showing):
        best[str(answer["strategy"])] = answer
    return list(best.values())


def _worth_showing(answer: Json) -> tuple[bool, int]:
    return answer["outcome"] == "succeeded", answer["usage"]["calls"]

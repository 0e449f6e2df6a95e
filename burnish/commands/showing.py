"""Answers and jobs as a person reads them. Every text from outside is shown as it stands, never as markup."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

Json: TypeAlias = Mapping[str, Any]

OUTCOME_STYLES = {"succeeded": "green", "abstained": "yellow"}
_QUOTE_LENGTH = 200


def answer_block(answer: Json, verdict: Text | None = None) -> RenderableType:
    """A question with its answer, how sure it is, what it rests on and what it took."""
    heading = Text.assemble((str(answer["question"]), "bold"), (f"  [{answer['strategy']}]", "dim"))
    body = Text(str(answer["answer"] or "(no answer yet)"))
    lines: list[RenderableType] = [body, standing(answer, verdict), *evidence_lines(answer)]
    if answer["error"]:
        lines.append(Text(f"{answer['error']['type']}: {answer['error']['message']}", style="red"))
    return Group(heading, Padding(Group(*lines), (0, 0, 1, 2)))


def standing(answer: Json, verdict: Text | None = None) -> Text:
    """Outcome, confidence, time and cost in one line."""
    outcome = str(answer["outcome"] or answer["state"])
    parts = [Text(outcome, style=OUTCOME_STYLES.get(outcome, "red"))]
    if verdict is not None:
        parts.append(verdict)
    if answer["confidence"] is not None:
        parts.append(Text(f"confidence {answer['confidence']:.2f}"))
    seconds = seconds_between(answer["admitted_at"], answer["ended_at"])
    if seconds is not None:
        parts.append(Text(f"{seconds:.1f} s"))
    parts.append(Text(usage_in_words(answer["usage"])))
    return Text(" · ", style="dim").join(parts)


def evidence_lines(answer: Json) -> list[Text]:
    """The quotes that the answer cites; the documents it was shown where it cites none."""
    if answer["citations"]:
        return [
            Text.assemble((f"{cited['document_id']}: ", "cyan"), f"“{shortened(cited['quote'], _QUOTE_LENGTH)}”")
            for cited in answer["citations"]
        ]
    shown = dict.fromkeys(str(source["document_id"]) for source in answer["sources"])
    return [Text(f"no quote found; shown were {', '.join(shown)}", style="dim")] if shown else []


def usage_in_words(usage: Json) -> str:
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    calls = "1 call" if usage["calls"] == 1 else f"{usage['calls']} calls"
    return f"{calls}, {tokens:,} tokens, {cost_in_words(usage)}"


def cost_in_words(usage: Json) -> str:
    """The cost as far as it is known."""
    known = money(float(usage["cost_usd"]))
    if not usage["unpriced_calls"]:
        return known
    return "price unknown" if usage["unpriced_calls"] == usage["calls"] else f"{known} and calls of unknown price"


def money(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars == 0 or dollars >= 1 else f"${dollars:.4f}"


def job_line(job: Json) -> str:
    """How far a job has come, in one line."""
    counts = ", ".join(f"{number} {state}" for state, number in job["counts"].items() if number)
    rejected = f", {job['rejected']} lines rejected" if job["rejected"] else ""
    return f"{job['status']}: {counts or 'no questions'} of {job['total']}{rejected}; {usage_in_words(job['usage'])}"


def seconds_between(start: str | None, end: str | None) -> float | None:
    if not start or not end:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def shortened(text: str, length: int) -> str:
    """The text in one line, cut at a word where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + " …"

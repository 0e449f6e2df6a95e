"""One question and its answer, and the audit of an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from burnish.client import Client
from burnish.commands.audit_tree import audit_tree
from burnish.commands.console import err, out, remark
from burnish.commands.deployment import api_url, home_of, read_settings
from burnish.commands.showing import answer_block

_INTERRUPTED = 130


@dataclass(frozen=True)
class Asked:
    question: str
    strategy: str | None
    collection: str | None
    config: dict[str, Any] | None


@contextmanager
def connected() -> Generator[Client]:
    """A client of the API that `up` started, or that the settings name."""
    settings = read_settings()
    with Client(api_url(home_of(settings), settings)) as client:
        yield client


def ask_one(asked: Asked, *, with_steps: bool) -> None:
    """Ask, wait, and show the answer; on Ctrl-C say how to find it later."""
    with connected() as client:
        answer = client.ask(asked.question, strategy=asked.strategy, collection=asked.collection, config=asked.config)
        try:
            with err.status("Asking"):
                answer = _until_ended(client, answer)
        except KeyboardInterrupt:
            remark(f"It is still being answered: burnish steps {answer['id']}")
            raise SystemExit(_INTERRUPTED) from None
        out.print(answer_block(answer))
        if with_steps:
            out.print(audit_tree(client.steps(answer["id"])))
        else:
            out.print(Text(f"burnish steps {answer['id']} shows how it came about", style="dim"))


def show_steps(answer_id: str, *, full: bool) -> None:
    """The audit as a tree; `full` as JSON with nothing left out."""
    with connected() as client:
        trail = client.steps(answer_id, full=full)
    if full:
        out.print_json(json.dumps(trail, ensure_ascii=False))
    else:
        out.print(answer_block(trail["answer"]))
        out.print(audit_tree(trail))


def _until_ended(client: Client, answer: dict[str, Any]) -> dict[str, Any]:
    pause = 0.1
    while answer["state"] != "ended":
        time.sleep(pause)
        pause = min(1.0, pause * 1.5)
        answer = client.answer(answer["id"])
    return answer

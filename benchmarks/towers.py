"""A small world that two libraries can be asked about alike: passages about towers, and a model of a fixed latency.

The model's replies go by the prompt alone, and each is valid for both libraries: an answer with its quote and scores,
flat or nested, a list of sub-questions, or a text. Whether an answer is good depends on the passages in the prompt. A
question about a tower's keeper needs two more searches than its first, since each page that is found names the next.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

KEEPER_PAGES = ("register", "archive")
_TOWER = re.compile(r"tower (\d+)", re.IGNORECASE)
_FACTS = {
    "high": "Tower {n} is {n}5 m high.",
    "old": "Tower {n} was built in the year 1{n}.",
    "wide": "Tower {n} is {n}2 paces wide.",
    "visitors": "Tower {n} has {n}80 visitors a year.",
}
_KEEPER = "The archive says that tower {n} is kept by Warden {n}."
_REGISTER = "The register of tower {n} names its keeper in the archive."
_PLAN = ("Break the complex question", "You split a question")
_MERGE = ("Synthesise the sub-answers", "You combine answers")
_REWRITE = ("Improve the following answer",)


def simple(n: int) -> str:
    return f"How high is tower {n}?"


def refining(n: int) -> str:
    return f"Who is the keeper of tower {n}?"


def compound(n: int) -> str:
    return f"How high and how wide is tower {n}, when was it built, and why do visitors come?"


def nested(n: int) -> str:
    """A compound question whose four parts are compound."""
    return f"Compare four towers from tower {n} on: how high and how wide are they, and when were they built?"


class Shelf:
    """Five passages for any query that names a tower, at once."""

    def retrieve(self, query: str, top_k: int = 5) -> list[dict[str, object]]:
        n = _tower_in(query)
        pages = [_REGISTER.format(n=n)] if KEEPER_PAGES[0] in query else []
        pages += [_KEEPER.format(n=n)] if KEEPER_PAGES[1] in query else []
        texts = [*pages, *(fact.format(n=n) for fact in _FACTS.values()), f"Tower {n} stands on a hill."]
        return [{"text": text, "score": 1 / rank} for rank, text in enumerate(texts[:top_k], 1)]

    async def aretrieve(self, query: str, top_k: int = 5) -> list[dict[str, object]]:
        return self.retrieve(query, top_k)


class Model:
    """calls, most: calls since `reset`, and the most of them in flight together."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.calls = self.most = self._now = 0

    def generate(self, prompt: str) -> str:
        with self._in_flight():
            time.sleep(self._latency)
        return reply_to(prompt)

    async def agenerate(self, prompt: str) -> str:
        with self._in_flight():
            await asyncio.sleep(self._latency)
        return reply_to(prompt)

    @contextmanager
    def _in_flight(self) -> Generator[None]:
        with self._lock:
            self.calls += 1
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1


def reply_to(prompt: str) -> str:
    n = _tower_in(prompt)
    if any(mark in prompt for mark in _PLAN):
        return json.dumps(_parts_of(prompt, n))
    if any(mark in prompt for mark in _MERGE):
        return f"Tower {n} is {n}5 m high, {n}2 paces wide, was built in the year 1{n}, and has {n}80 visitors a year."
    if any(mark in prompt for mark in _REWRITE):
        return f"Nobody has written down who keeps tower {n}."
    if refining(n) in prompt:
        return _about_the_keeper(prompt, n)
    word = next((word for word, question in _questions(n).items() if question in prompt), "high")
    return _judged(_FACTS[word].format(n=n), 0.9)


def _tower_in(text: str) -> int:
    """The tower that a text is about: of several, those of the parts come after that of the question."""
    return min(map(int, _TOWER.findall(text)))


def _questions(n: int) -> dict[str, str]:
    return {
        "high": simple(n),
        "wide": f"What is the width of tower {n}?",
        "old": f"What is the age of tower {n}?",
        "visitors": f"How many visit tower {n}?",
    }


def _parts_of(prompt: str, n: int) -> list[str]:
    return [compound(n + i) for i in range(4)] if nested(n) in prompt else list(_questions(n).values())


def _about_the_keeper(prompt: str, n: int) -> str:
    if _KEEPER.format(n=n) in prompt:
        return _judged(_KEEPER.format(n=n), 0.9)
    missing = KEEPER_PAGES[_REGISTER.format(n=n) in prompt]
    return _judged(f"Tower {n} stands on a hill.", 0.4, issues=["no keeper"], suggestions=[missing])


def _judged(answer: str, score: float, **lists: list[str]) -> str:
    scores = dict.fromkeys(("relevance", "accuracy", "completeness", "clarity"), score)
    evaluation = {**scores, "issues": [], "suggestions": [], **lists}
    return json.dumps({"quote": answer, "answer": answer, "supported": "yes", "evaluation": evaluation})

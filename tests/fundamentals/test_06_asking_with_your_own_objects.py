"""6. `burnish.query` puts it together for a retriever and a language model of your own.

No database and no queue: a search that gives Passages, a model that gives texts, and an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

import burnish
from burnish import Answer, Outcome, Passage
from burnish.errors import InvalidInput

NOTES = {
    "Danube": "The Danube is 2,850 km long.",
    "Nile": "The Nile is 6,650 km long.",
}


class Notes:
    """A search by name."""

    def retrieve(self, query: str, top_k: int) -> Sequence[Passage]:
        found = [(name, text) for name, text in NOTES.items() if name in query]
        return [Passage(name, "notes", name, text, 0, len(text), "en", 1.0) for name, text in found[:top_k]]


class Model:
    """A model that finds the passage about the river it is asked for, and is sure of itself."""

    def generate(self, prompt: str) -> str:
        river = prompt.rpartition("How long is the ")[2].partition("?")[0]
        length = NOTES[river].partition(" is ")[2].partition(" long")[0]
        scores = dict.fromkeys(("relevance", "accuracy", "completeness", "clarity"), 5)
        return json.dumps({"quote": NOTES[river], "answer": length, "supported": "yes", **scores})


def test_three_lines_are_enough() -> None:
    answer = burnish.query("How long is the Nile?", retriever=Notes(), language_model=Model())
    assert (answer.text, answer.outcome, answer.confidence) == ("6,650 km", Outcome.SUCCEEDED, 1.0)
    assert answer.citations[0].quote == "The Nile is 6,650 km long"


def test_many_questions_are_asked_at_once_on_an_event_loop() -> None:
    async def ask_both() -> list[Answer]:
        rivers = ("Danube", "Nile")
        asked = (
            burnish.aquery(f"How long is the {river}?", retriever=Notes(), language_model=Model()) for river in rivers
        )
        return list(await asyncio.gather(*asked))

    assert [answer.text for answer in asyncio.run(ask_both())] == ["2,850 km", "6,650 km"]


def test_a_model_that_is_down_gives_a_failed_answer_and_keeps_its_secrets() -> None:
    class Down:
        def generate(self, prompt: str) -> str:
            raise ConnectionError(f"refused {prompt}; key=sk-SECRET")

    answer = burnish.query("How long is the Nile?", retriever=Notes(), language_model=Down())
    assert answer.outcome is Outcome.FAILED
    assert answer.text == "No answer: the question could not be processed."
    assert "sk-SECRET" not in repr(answer)


def test_a_journal_brings_a_failed_question_to_its_end_without_doing_anything_twice() -> None:
    class Flaky(Model):
        prompts = 0

        def generate(self, prompt: str) -> str:
            Flaky.prompts += 1
            if Flaky.prompts == 1:
                raise TimeoutError
            return super().generate(prompt)

    class Counting(Notes):
        searches = 0

        def retrieve(self, query: str, top_k: int) -> Sequence[Passage]:
            Counting.searches += 1
            return super().retrieve(query, top_k)

    journal: dict[str, Any] = {}
    question = "How long is the Danube?"
    first = burnish.query(question, retriever=Counting(), language_model=Flaky(), journal=journal)
    again = burnish.query(question, retriever=Counting(), language_model=Flaky(), journal=journal)
    assert (first.outcome, again.text) == (Outcome.FAILED, "2,850 km")
    assert (Counting.searches, Flaky.prompts) == (1, 2)


def test_what_cannot_be_asked_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput, match="not empty"):
        burnish.query("  ", retriever=Notes(), language_model=Model())
    with pytest.raises(InvalidInput, match="choose one of direct, self_irag, hyde, recursive"):
        burnish.query("How long?", strategy="magic", retriever=Notes(), language_model=Model())
    with pytest.raises(InvalidInput, match="object has no method 'retrieve'"):
        burnish.query("How long?", retriever=object(), language_model=Model())  # pyright: ignore[reportArgumentType]

"""The connection, the end, and the base that a system of one's own is made on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.rag_system.base import BaseRAGSystem
from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.documents import Documents, documents_of
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import (
    CATS,
    SECRET,
    Broken,
    Lines,
    Lists,
    Model,
    Piece,
    Words,
    always,
    counts,
    fails,
    system_of_cats,
    texts_of,
    users_system,
)


def test_the_connection_is_tried_without_being_counted() -> None:
    rag = system_of_cats()
    assert rag.validate_connection("cats") == {
        "success": True,
        "reason": "searching and answering work",
        "components": {"retrieval": True, "generation": True},
    }
    assert counts(rag) == (0, 0, 0)


@pytest.mark.parametrize(
    ("rag", "retrieval", "reason"),
    [
        (users_system(Broken()), False, "the search raised RAGRetrievalError"),
        (users_system(), True, "found nothing"),
        (system_of_cats(Model(ValueError(SECRET))), True, "generating does not: failed"),
        (system_of_cats(Model({"error": SECRET})), True, "generating does not: failed"),
    ],
)
def test_a_connection_that_does_not_work_says_which_part(rag: RAGSystem, retrieval: bool, reason: str) -> None:
    report = rag.validate_connection("cats")
    assert report["success"] is False
    assert report["components"] == {"retrieval": retrieval, "generation": False}
    assert reason in report["reason"]
    assert "sk-SECRET" not in report["reason"]


class Cleaned(Lists):
    def __init__(self, chunks: Sequence[Any] = ()) -> None:
        super().__init__(chunks)
        self.cleaned = 0

    def cleanup(self) -> None:
        self.cleaned += 1


@pytest.mark.parametrize("is_async", [False, True])
def test_leaving_the_context_cleans_up_whatever_else_fails(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    store = Cleaned(CATS)
    rag = users_system(store, SimpleNamespace(generate=always("x"), cleanup=fails))

    async def within() -> None:
        async with rag as same:
            assert same is rag
            raise LookupError

    def plainly() -> None:
        with rag as same:
            assert same is rag
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(within()) if is_async else plainly()
    assert store.cleaned == 1
    assert "llm was not cleaned up: ValueError" in caplog.text


class Plain(BaseRAGSystem):
    """The least that a system of one's own needs."""

    def add_documents(self, docs: Documents) -> dict[str, int]:
        return {str(document.doc_id): 1 for document in documents_of(docs)}

    def retrieve(self, query: str, top_k: int | None = None) -> list[Scored]:
        return [(Piece(query, "a"), 1.0)][:top_k]

    def generate(self, query: str, **kwargs: Any) -> str:
        if query == "bad":
            raise ValueError(SECRET)
        return f"{query} {sorted(kwargs)}"


def test_a_system_of_ones_own_has_the_rest_from_the_base() -> None:
    async def trial() -> tuple[Any, ...]:
        async with Plain() as rag:
            return (
                await rag.aadd_documents({"a": "x"}),
                texts_of(await rag.aretrieve("cats", 1)),
                await rag.agenerate("cats", speed=1),
            )

    assert asyncio.run(trial()) == ({"a": 1}, ["cats"], "cats ['speed']")
    with Plain(RAGConfig(top_k=3)) as rag:
        assert rag.validate_connection("cats")["success"] is True
        assert rag.validate_connection("bad")["reason"].endswith("it raised ValueError")
        assert repr(rag) == "Plain(docs=0, chunks=0, queries=0)"
        for operation in (lambda: rag.remove_document("a"), lambda: rag.save("x"), lambda: Plain.load("x")):
            with pytest.raises(NotImplementedError, match="Plain cannot"):
                operation()


def test_a_step_that_a_subclass_does_in_its_own_way_is_used() -> None:
    class Own(RAGSystem):
        def retrieve(self, query: str, top_k: int | None = None, **_: Any) -> list[Scored]:
            return [(Piece("my own", "own"), 1.0)]

        def _build_prompt(self, query: str, context: str, language_pr: str | None) -> str:
            return f"{context} | {query}"

    model = Model()
    rag = Own(Lists(), model, Words(), Lines(), RAGConfig(enable_prompt_routing=False))
    rag.generate("cats")
    assert model.asked == ["my own | cats"]


def test_importing_and_building_leaves_logging_alone() -> None:
    before = list(logging.root.handlers), logging.root.level
    system_of_cats()
    assert (list(logging.root.handlers), logging.root.level) == before


def test_no_question_is_logged_at_info(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for question in ("a private matter of cats", "another private matter"):
            system_of_cats().generate(question)
    assert "private" not in caplog.text

"""Documents go in: each counted, none in another's way, one id one document."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.chunks import DocumentChunk
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.errors import RAGInitializationError
from burnish.rag_system.memory_store import MemoryStore
from burnish.rag_system.stores import ChunkedDocument
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import Lines, Lists, Model, Piece, Words, always, own_system, texts_of, users_system
from tests.world.word_embedder import WordEmbedder


def by_id(documents: list[LoadedDocument]) -> dict[str, str]:
    return {str(each.doc_id): each.page_content for each in documents}


def documents(count: int) -> list[LoadedDocument]:
    return [LoadedDocument(f"text number {n}", doc_id=f"d{n}") for n in range(count)]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "form",
    [list, iter, by_id],
    ids=["list", "generator", "dict"],
)
def test_both_forms_take_a_list_or_a_dict(form: Any, is_async: bool) -> None:
    rag = users_system()
    given = form([LoadedDocument("one two three four", doc_id="a"), LoadedDocument("five", doc_id="b")])
    results = asyncio.run(rag.aadd_documents(given)) if is_async else rag.add_documents(given)
    assert results == {"a": 2, "b": 1}
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (2, 3)
    assert rag.get_stats()["vector_db_size"] == 3


def test_nothing_to_add_is_nothing_done() -> None:
    rag = users_system()
    assert rag.add_documents([]) == {}
    assert rag.vector_db.adds == []


@pytest.mark.parametrize("given", ["one long text", [1], ["text"], [{"page_content": "x"}]])
def test_what_is_no_document_is_refused_with_what_to_give(given: Any) -> None:
    with pytest.raises(InvalidInput, match="add_documents takes a list of LoadedDocument or a dict of texts"):
        users_system().add_documents(given)


@pytest.mark.parametrize("is_async", [False, True])
def test_one_that_fails_counts_nothing_and_keeps_no_other_out(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    class Picky(Words):
        def chunk(self, text: str, doc_id: str) -> list[Piece]:
            if "bad" in text:
                raise ValueError("sk-SECRET")
            return [] if "empty" in text else super().chunk(text, doc_id)

    rag = RAGSystem(Lists(), Model(), Picky(), Lines(), enable_query_expansion=False)
    given = {"a": "good", "b": "bad", "c": " \n", "d": "empty", "e": "good too"}
    results = asyncio.run(rag.aadd_documents(given)) if is_async else rag.add_documents(given)
    assert results == {"a": 1, "b": 0, "c": 0, "d": 0, "e": 1}
    assert rag.stats["total_documents"] == 2
    assert "document b could not be cut: ValueError" in caplog.text
    assert "sk-SECRET" not in caplog.text


def test_what_is_no_text_counts_nothing() -> None:
    broken = LoadedDocument(None, doc_id="n")  # pyright: ignore[reportArgumentType]
    assert users_system().add_documents([broken, *documents(1)]) == {"n": 0, "d0": 1}


def test_a_chunker_that_cannot_cut_is_an_error_and_no_empty_index() -> None:
    rag = RAGSystem(Lists(), Model(), SimpleNamespace(), Lines())
    with pytest.raises(RAGInitializationError, match="no method chunk_text, chunk or split_text"):
        rag.add_text("text")


def alone(text: str) -> list[str]:
    return [text]


@pytest.mark.parametrize(
    "chunker",
    [
        SimpleNamespace(chunk_text=always(["a text"]), chunk=always(["a", "text"])),
        SimpleNamespace(split_text=alone),
        alone,
    ],
    ids=["chunk_text goes before chunk", "split_text", "a function"],
)
def test_other_chunkers_will_do_and_bare_texts_become_chunks(chunker: Any) -> None:
    store = Lists()
    rag = RAGSystem(store, Model(), chunker, Lines(), enable_query_expansion=False)
    assert rag.add_documents([LoadedDocument("a text", {"page": 3}, "d")]) == {"d": 1}
    assert store.chunks == [DocumentChunk("a text", "d", "d#0", {"page": 3})]


class Frozen:
    __slots__ = ("doc_id", "text")

    def __init__(self, text: str, doc_id: str) -> None:
        self.text, self.doc_id = text, doc_id


@pytest.mark.parametrize(
    ("made", "held"),
    [
        (Piece("a text", "d"), {"page": 3}),
        (Piece("a text", "d", {"page": 4, "own": 1}), {"page": 4, "own": 1}),
        (SimpleNamespace(text="a text", doc_id="d"), {"page": 3}),
        (Frozen("a text", "d"), None),
    ],
    ids=["dataclass", "its own goes first", "object", "one that can be told nothing"],
)
def test_a_documents_metadata_reach_its_chunks(made: Any, held: Any) -> None:
    store = Lists()
    rag = RAGSystem(store, Model(), SimpleNamespace(chunk=always([made])), Lines())
    rag.add_documents([LoadedDocument("a text", {"page": 3}, "d")])
    assert getattr(store.chunks[0], "metadata", None) == held
    assert store.chunks[0].text == "a text"


def test_a_chunk_that_is_a_dict_is_told_too() -> None:
    found: list[Any] = []
    store = SimpleNamespace(add=found.extend, search=always([]))
    chunker = SimpleNamespace(chunk=always([{"text": "a text", "doc_id": "d"}]))
    RAGSystem(store, Model(), chunker, Lines()).add_documents([LoadedDocument("a text", {"page": 3}, "d")])
    assert found == [{"text": "a text", "doc_id": "d", "metadata": {"page": 3}}]


def test_a_chunker_that_asks_for_metadata_is_given_them() -> None:
    seen: list[Any] = []

    def chunk(text: str, doc_id: str, metadata: dict[str, Any]) -> list[str]:
        seen.append(metadata)
        return [text]

    RAGSystem(Lists(), Model(), SimpleNamespace(chunk=chunk), Lines()).add_text("t", metadata={"page": 1})
    assert seen == [{"page": 1}]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("build", [users_system, own_system], ids=["a user's store", "our store"])
def test_a_document_takes_the_place_of_the_one_with_its_id(build: Any, is_async: bool) -> None:
    rag = build()
    rag.add_documents({"a": "cats purr", "b": "dogs bark"})
    again = {"a": "horses neigh"}
    assert (asyncio.run(rag.aadd_documents(again)) if is_async else rag.add_documents(again)) == {"a": 1}
    assert rag.get_stats()["vector_db_size"] == 2
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (2, 2)
    assert "cats purr" not in texts_of(rag.retrieve("cats purr"))
    assert texts_of(rag.retrieve("horses neigh"))[0] == "horses neigh"


def test_the_later_of_two_documents_with_one_id_stays() -> None:
    rag = users_system()
    both = [LoadedDocument("cats purr", doc_id="a"), LoadedDocument("dogs bark", doc_id="a")]
    assert rag.add_documents(both) == {"a": 1}
    assert [chunk.text for chunk in rag.vector_db.chunks] == ["dogs bark"]
    assert rag.stats["total_documents"] == 1


def test_a_failed_new_form_leaves_the_old_one_in_place() -> None:
    rag = users_system()
    rag.add_documents({"a": "cats purr"})
    assert rag.add_documents({"a": "  "}) == {"a": 0}
    assert texts_of(rag.retrieve("cats")) == ["cats purr"]
    assert rag.stats["total_documents"] == 1


def test_a_document_of_a_store_that_was_filled_before_is_replaced_too() -> None:
    rag = users_system(Lists([Piece("cats purr", "a")]))
    rag.add_documents({"a": "dogs bark"})
    assert [chunk.text for chunk in rag.vector_db.chunks] == ["dogs bark"]


def test_a_store_that_cannot_remove_takes_new_documents_and_says_so_of_old_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class OnlyAdds:
        def __init__(self) -> None:
            self.chunks: list[Any] = []

        def add(self, chunks: Sequence[Any]) -> None:
            self.chunks.extend(chunks)

    rag = users_system(OnlyAdds())
    assert rag.add_documents({"a": "cats"}) == {"a": 1}
    assert "cannot remove" not in caplog.text
    rag.add_documents({"a": "dogs"})
    assert "the store cannot remove: document a stays" in caplog.text


def test_a_store_that_fails_to_remove_what_it_does_not_hold_is_none_the_worse() -> None:
    class Strict(Lists):
        def remove_by_doc_id(self, doc_id: str) -> int:
            if all(chunk.doc_id != doc_id for chunk in self.chunks):
                raise KeyError(doc_id)
            return super().remove_by_doc_id(doc_id)

    rag = users_system(Strict())
    assert rag.add_documents({"a": "cats"}) == {"a": 1}
    assert rag.add_documents({"a": "dogs"}) == {"a": 1}
    assert len(rag.vector_db.chunks) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_store_that_fails_ends_the_ingest_with_its_own_error(is_async: bool) -> None:
    class Fills(Lists):
        def add(self, chunks: Sequence[Any]) -> None:
            if len(self.chunks) + len(chunks) > 2:
                raise ConnectionError("the disk is full")
            super().add(chunks)

    rag = users_system(Fills(), config=RAGConfig(ingest_batch_size=2))
    with pytest.raises(ConnectionError, match="the disk is full"):
        asyncio.run(rag.aadd_documents(documents(5))) if is_async else rag.add_documents(documents(5))
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (2, 2)


@pytest.mark.parametrize(("size", "adds"), [(64, [5]), (2, [2, 2, 1]), (1, [1] * 5)])
def test_documents_are_stored_in_groups_of_the_configured_size(size: int, adds: list[int]) -> None:
    rag = users_system(config=RAGConfig(ingest_batch_size=size))
    rag.add_documents(documents(5))
    assert rag.vector_db.adds == adds


def test_a_store_with_an_asynchronous_add_is_awaited() -> None:
    class Native(Lists):
        awaited = 0

        async def aadd(self, chunks: Sequence[Any]) -> None:
            Native.awaited += 1
            self.chunks.extend(chunks)

    rag = users_system(Native())
    assert asyncio.run(rag.aadd_documents({"a": "cats"})) == {"a": 1}
    assert asyncio.run(rag.aadd_documents({"a": "dogs"})) == {"a": 1}
    assert (Native.awaited, rag.vector_db.adds, len(rag.vector_db.chunks)) == (2, [], 1)


def test_documents_are_cut_side_by_side_on_an_event_loop() -> None:
    together = threading.Barrier(3, timeout=30)

    class Meeting(Words):
        def chunk(self, text: str, doc_id: str) -> list[Piece]:
            together.wait()
            return super().chunk(text, doc_id)

    rag = RAGSystem(Lists(), Model(), Meeting(), Lines())
    assert sum(asyncio.run(rag.aadd_documents(documents(3))).values()) == 3


def test_many_threads_add_and_replace_and_every_document_is_there_once() -> None:
    rag = users_system()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(rag.add_text, [f"text {n}" for n in range(80)], [f"d{n % 10}" for n in range(80)]))
    assert sorted(chunk.doc_id for chunk in rag.vector_db.chunks) == sorted(f"d{n}" for n in range(10))
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (10, 10)


def test_texts_without_an_id_are_never_taken_for_each_other() -> None:
    rag = users_system()
    assert [rag.add_text("the same text") for _ in range(3)] == [1, 1, 1]
    ids = {chunk.doc_id for chunk in rag.vector_db.chunks}
    assert (len(ids), all(doc_id.startswith("text_") for doc_id in ids)) == (3, True)
    assert rag.remove_document(ids.pop()) == 1
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (2, 2)


def test_texts_come_with_metadata_of_their_own() -> None:
    rag = users_system()
    assert rag.add_texts({"a": "cats", "b": "dogs"}, {"b": {"page": 2}}) == {"a": 1, "b": 1}
    assert [chunk.metadata for chunk in rag.vector_db.chunks] == [{}, {"page": 2}]


def test_a_strategys_add_document_is_there() -> None:
    rag = users_system()
    assert rag.add_document("cats purr", {"page": 1}) == 1
    assert rag.vector_db.chunks[0].metadata == {"page": 1}


def test_removing_counts_and_what_is_not_there_is_nothing() -> None:
    rag = users_system()
    rag.add_documents({"a": "one two three four", "b": "five"})
    assert [rag.remove_document("a"), rag.remove_document("a"), rag.remove_document("unknown")] == [2, 0, 0]
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (1, 1)


def test_counts_do_not_fall_below_nothing() -> None:
    rag = users_system(Lists([Piece("cats", "a")]))
    assert rag.remove_document("a") == 1
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (0, 0)


def test_a_removal_that_fails_is_nothing_removed(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Lists):
        def remove_by_doc_id(self, doc_id: str) -> int:
            raise ConnectionError("sk-SECRET")

    with caplog.at_level(logging.DEBUG):
        assert users_system(Broken([Piece("cats", "a")])).remove_document("a") == 0
    assert "ConnectionError" in caplog.text
    assert "sk-SECRET" not in caplog.text


def test_a_document_that_our_store_refuses_keeps_no_other_out(caplog: pytest.LogCaptureFixture) -> None:
    class Refusing(MemoryStore):
        def put(self, documents: Sequence[ChunkedDocument]) -> int:
            if any(document.doc_id == "bad" for document in documents):
                raise InvalidInput("this id will not do")
            return super().put(documents)

    rag = users_system(Refusing(WordEmbedder()))
    assert rag.add_documents({"a": "cats", "bad": "dogs", "b": "mice"}) == {"a": 1, "bad": 0, "b": 1}
    assert "document bad cannot be stored: this id will not do" in caplog.text


def test_vectors_of_the_wrong_length_are_nobodys_single_fault() -> None:
    class Shifting(WordEmbedder):
        def embed(self, texts: Sequence[str], role: Any) -> Any:
            vectors = super().embed(texts, role)
            return vectors[:, : 64 if len(self.asked) < 2 else 32]

    rag = users_system(MemoryStore(Shifting()))
    rag.add_text("cats")
    with pytest.raises(DimensionMismatch):
        rag.add_documents({"a": "dogs", "b": "mice"})

"""What is saved comes back: chunks, counts and versions, with any vector database; what is damaged says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from burnish.errors import BurnishError, NotFound
from burnish.rag_system.chunking import SentenceChunker
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.context import ContextBuilder
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.errors import VectorDBPersistenceError
from burnish.rag_system.memory_store import MemoryStore
from burnish.rag_system.system import RAGSystem
from burnish.rag_system.versions import DocumentVersionManager
from tests.rag_system.parts import Lines, Lists, Model, Piece, Words, own_system, texts_of, users_system
from tests.world.word_embedder import WordEmbedder


class Kept(Lists):
    """A user's store that is saved as JSON."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps([[chunk.text, chunk.doc_id] for chunk in self.chunks]))


def read(path: Path) -> list[Piece]:
    return [Piece(text, doc_id) for text, doc_id in json.loads(path.read_text())]


class LoadsItself(Kept):
    def load(self, path: Path) -> None:
        self.chunks = list(read(path))


class SaysItDid(Kept):
    def load(self, path: Path) -> bool:
        self.chunks = list(read(path))
        return True


class GivesANewOne(Kept):
    @classmethod
    def load(cls, path: Path) -> GivesANewOne:
        return cls(read(path))


@pytest.mark.parametrize(
    "vector_db",
    [LoadsItself(), SaysItDid(), GivesANewOne(), GivesANewOne],
    ids=["an object that loads itself", "one that returns True", "a classmethod of an object", "a class"],
)
def test_a_users_store_comes_back_however_it_is_loaded(vector_db: Any, tmp_path: Path) -> None:
    rag = users_system(Kept())
    rag.add_documents({"a": "cats purr", "b": "dogs bark loudly and long"})
    rag.generate("cats")
    rag.save(str(tmp_path / "deep" / "down"))

    loaded = RAGSystem.load(str(tmp_path / "deep" / "down"), vector_db, Model(), Words(), Lines())

    assert texts_of(loaded.retrieve("cats")) == ["cats purr"]
    assert loaded.generate("dogs") == "fourteen days"
    assert loaded.get_stats()["vector_db_size"] == 3
    assert (loaded.stats["total_queries"], loaded.stats["successful_queries"]) == (2, 2)
    assert (loaded.stats["total_documents"], loaded.stats["total_chunks"]) == (2, 3)
    loaded.add_documents({"a": "horses neigh"})
    assert (loaded.stats["total_documents"], loaded.stats["total_chunks"]) == (2, 3)


def test_our_store_comes_back_with_metadata_and_versions(tmp_path: Path) -> None:
    rag = own_system()
    rag.add_or_update("Cats purr.", "a", {"title": "Cats", "pages": [1, 2]})
    rag.add_or_update("Cats purr. Cats hunt.", "a", {"title": "Cats", "pages": [1, 2]})
    rag.save(str(tmp_path))

    config = RAGConfig(top_k=1)
    loaded = RAGSystem.load(
        *(str(tmp_path), MemoryStore(WordEmbedder()), Model(), SentenceChunker(), ContextBuilder()),
        config=config,
        enable_query_expansion=False,
    )

    assert loaded.retrieve("cats") == rag.retrieve("cats", 1)
    assert loaded.versions.versions("a") == rag.versions.versions("a")
    assert loaded.add_or_update("Cats purr. Cats hunt.", "a", {"title": "Cats", "pages": [1, 2]}).status == "unchanged"
    assert loaded.config is config


def test_where_nothing_was_saved_nothing_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RAGSystem.load(str(tmp_path / "nowhere"), LoadsItself(), Model(), Words(), Lines())


@pytest.mark.parametrize("vector_db", [LoadsItself(), Lists()], ids=["nothing to load", "no load"])
def test_a_store_that_cannot_be_loaded_says_where(vector_db: Any, tmp_path: Path) -> None:
    with pytest.raises(VectorDBPersistenceError, match="could not load") as caught:
        RAGSystem.load(str(tmp_path), vector_db, Model(), Words(), Lines())
    assert (caught.value.operation, caught.value.path) == ("load", str(tmp_path / "vector_db"))


def test_a_store_that_cannot_be_saved_says_where_and_keeps_its_secrets(tmp_path: Path) -> None:
    class Full(Lists):
        def save(self, path: Path) -> None:
            raise OSError("sk-SECRET")

    for store in (Full(), Lists()):
        with pytest.raises(VectorDBPersistenceError, match="could not save") as caught:
            users_system(store).save(str(tmp_path))
        assert caught.value.operation == "save"
        assert "sk-SECRET" not in str(caught.value)


def test_without_statistics_the_counts_begin_anew(tmp_path: Path) -> None:
    Kept([Piece("cats", "a")]).save(tmp_path / "vector_db")
    loaded = RAGSystem.load(str(tmp_path), LoadsItself(), Model(), Words(), Lines())
    assert set(loaded.stats.values()) == {0}
    assert loaded.get_stats()["vector_db_size"] == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("stats.json", "{"),
        ("stats.json", "[1]"),
        ("documents.json", "\x00"),
        ("documents.json", '{"versions": {"a": [{"version": 1}]}}'),
        ("documents.json", '{"versions": {"a": [7]}}'),
        ("documents.json", '{"versions": [1]}'),
    ],
)
def test_a_damaged_file_is_told_of(name: str, content: str, tmp_path: Path) -> None:
    rag = users_system(Kept())
    rag.save(str(tmp_path))
    (tmp_path / name).write_text(content)
    with pytest.raises(BurnishError, match="damaged"):
        RAGSystem.load(str(tmp_path), LoadsItself(), Model(), Words(), Lines())


def test_counts_that_are_none_are_left_out(tmp_path: Path) -> None:
    users_system(Kept()).save(str(tmp_path))
    (tmp_path / "stats.json").write_text('{"total_queries": 5, "failed_queries": "many", "other": null}')
    (tmp_path / "documents.json").write_text('{"chunks": [1]}')
    loaded = RAGSystem.load(str(tmp_path), LoadsItself(), Model(), Words(), Lines())
    assert (loaded.stats["total_queries"], loaded.stats["failed_queries"]) == (5, 0)


# Versions

LONG = "\n\n".join(
    f"Section {n}. The clause of section {n} says what holds in case number {n}, and why." for n in range(8)
)


def changed(text: str) -> str:
    return text.replace("in case number 3", "in no case at all")


def small() -> RAGSystem:
    return own_system(config=RAGConfig(chunk_size=120, overlap=0))


def passages(rag: RAGSystem) -> list[str]:
    return [text for text, role in rag.vector_db._embedder._owner.asked if role == "passage"]


@pytest.mark.parametrize("is_async", [False, True])
def test_only_what_is_new_in_a_document_is_embedded(is_async: bool) -> None:
    rag = small()

    def update(text: str, **metadata: Any) -> Any:
        if is_async:
            return asyncio.run(rag.aadd_or_update(text, "a", metadata))
        return rag.add_or_update(text, "a", metadata)

    first = update(LONG)
    assert (first.status, first.version, first.added, first.embedded) == ("added", 1, 8, 8)
    again = update(LONG)
    assert (again.status, again.version, again.kept, again.embedded) == ("unchanged", 1, 8, 0)
    second = update(changed(LONG))
    assert (second.status, second.version) == ("updated", 2)
    assert (second.added, second.removed, second.kept, second.embedded) == (1, 1, 7, 1)
    assert len(passages(rag)) == 9
    described = update(changed(LONG), page=1)
    assert (described.status, described.version, described.embedded) == ("updated", 3, 0)
    assert rag.retrieve("no case at all", 1)[0][0].metadata == {"page": 1}
    assert (rag.stats["total_documents"], rag.stats["total_chunks"]) == (1, 8)


def test_a_changed_cutting_is_news() -> None:
    rag = small()
    rag.add_or_update(LONG, "a")
    rag.config.chunk_size = 400
    assert rag.add_or_update(LONG, "a").status == "updated"


def test_earlier_versions_are_kept_and_brought_back() -> None:
    rag = small()
    rag.add_or_update(LONG, "a", {"page": 1})
    rag.add_or_update(changed(LONG), "a")
    assert [(each.version, each.text, each.metadata) for each in rag.versions.versions("a")] == [
        (1, LONG, {"page": 1}),
        (2, changed(LONG), {}),
    ]
    back = rag.versions.rollback("a", 1)
    assert (back.status, back.version, back.embedded) == ("updated", 3, 1)
    assert "case number 3" in rag.retrieve("case number 3", 1)[0][0].text
    assert rag.versions.versions("a")[-1].metadata == {"page": 1}
    for doc_id, version in (("a", 9), ("unknown", 1)):
        with pytest.raises(NotFound, match="there is no version"):
            rag.versions.rollback(doc_id, version)


def test_the_latest_ten_versions_are_kept() -> None:
    rag = small()
    for n in range(13):
        rag.add_or_update(f"text {n}", "a")
    assert [each.version for each in rag.versions.versions("a")] == list(range(4, 14))


def test_other_ways_in_make_versions_too_and_removing_forgets_them() -> None:
    rag = small()
    rag.add_or_update("one", "a")
    rag.add_text("two", "a")
    rag.add_text("two", "a")
    rag.add_text("alone", "b")
    assert [each.text for each in rag.versions.versions("a")] == ["one", "two"]
    assert rag.versions.versions("b") == ()
    assert rag.add_or_update("two", "a").status == "unchanged"
    rag.remove_document("a")
    assert rag.versions.versions("a") == ()
    assert rag.add_or_update("two", "a").status == "added"
    assert rag.add_or_update("alone too", "b").status == "updated"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_update_that_fails_leaves_what_was_there(text: str) -> None:
    rag = small()
    rag.add_or_update("one", "a")
    failed = rag.add_or_update(text, "a")
    assert (failed.status, failed.version) == ("failed", 1)
    assert texts_of(rag.retrieve("one")) == ["one"]
    assert rag.add_or_update(text, "new").version == 0


def test_a_store_of_ones_own_takes_the_whole_document_and_does_not_tell_what_it_embeds() -> None:
    rag = users_system()
    versions = DocumentVersionManager(rag)
    assert versions.add_or_update(LoadedDocument("one two three four", doc_id="a")).embedded is None
    update = versions.add_or_update(LoadedDocument("one two three five", doc_id="a"))
    assert (update.added, update.removed, update.kept) == (1, 1, 1)
    assert sorted(chunk.text for chunk in rag.vector_db.chunks) == ["five", "one two three"]
    assert versions.add_or_update(LoadedDocument("one two three five", doc_id="a")).status == "unchanged"
    assert rag.vector_db.adds == [2, 2]
    assert rag.versions.versions("a") == versions.versions("a")


def test_a_store_that_fails_makes_no_version() -> None:
    class Fails(Lists):
        def add(self, chunks: Sequence[Any]) -> None:
            raise ConnectionError

    rag = users_system(Fails())
    with pytest.raises(ConnectionError):
        rag.add_or_update("one", "a")
    assert rag.versions.versions("a") == ()

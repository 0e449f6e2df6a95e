"""The store in memory: exact, whole documents, safe between threads, and itself again when it is loaded."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.chunks import DocumentChunk
from burnish.rag_system.memory_store import MemoryStore
from burnish.rag_system.stores import ChunkedDocument
from tests.rag_system.parts import Piece, texts_of
from tests.world.word_embedder import WordEmbedder


def document(doc_id: str, *texts: str, **metadata: Any) -> ChunkedDocument:
    return ChunkedDocument(doc_id, " ".join(texts), texts, metadata)


@pytest.fixture
def store(embedder: WordEmbedder) -> MemoryStore:
    return MemoryStore(embedder)


def embedded(embedder: WordEmbedder) -> list[str]:
    return [text for text, role in embedder.asked if role == "passage"]


def test_a_search_is_exact_best_first_and_cut(store: MemoryStore) -> None:
    store.put([document(f"d{n}", f"alpha beta{n % 7} gamma{n}") for n in range(300)])
    found = store.search("alpha gamma42", top_k=5)
    assert (found[0][0].doc_id, len(found)) == ("d42", 5)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    every = store.search("alpha gamma42", top_k=1000, score_threshold=-1)
    assert len(every) == store.size == 300
    assert [score for _, score in every][:5] == scores
    assert all(score >= 0.9 for _, score in store.search("alpha gamma42", 1000, score_threshold=0.9))


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_question_and_an_empty_store_find_nothing(store: MemoryStore, query: str) -> None:
    assert store.search("cats") == []
    store.put([document("a", "cats")])
    assert store.search(query) == []
    with pytest.raises(InvalidInput):
        store.search("cats", top_k=0)


def test_a_document_takes_the_place_of_its_earlier_form_and_only_news_are_embedded(
    store: MemoryStore, embedder: WordEmbedder
) -> None:
    assert store.put([document("a", "cats purr", "dogs bark"), document("b", "cats purr")]) == 3
    assert store.put([document("a", "cats purr", "horses neigh", "cats purr", page=2)]) == 1
    assert embedded(embedder) == ["cats purr", "dogs bark", "horses neigh"]
    assert store.size == 4
    assert {chunk.text for chunk, _ in store.search("cats", 9, -1) if chunk.doc_id == "a"} == {
        *("cats purr", "horses neigh"),
    }
    assert all(chunk.metadata == {"page": 2} for chunk, _ in store.search("cats", 9, -1) if chunk.doc_id == "a")


def test_of_two_documents_with_one_id_the_later_stays(store: MemoryStore) -> None:
    store.put([document("a", "cats"), document("a", "dogs")])
    assert texts_of(store.search("x", 9, -1)) == ["dogs"]


def test_chunks_are_added_beside_others_and_in_place_of_their_namesakes(store: MemoryStore) -> None:
    store.add([Piece("cats purr", "a")])
    store.add([Piece("dogs bark", "a", {"page": 1})])
    named = DocumentChunk("horses neigh", "a", "mine")
    store.add([named, DocumentChunk("old", "a", "other")])
    store.add([DocumentChunk("new", "a", "other")])
    assert sorted(texts_of(store.search("x", 9, -1))) == ["cats purr", "dogs bark", "horses neigh", "new"]
    assert len({chunk.chunk_id for chunk, _ in store.search("x", 9, -1)}) == 4


def test_a_chunk_without_a_document_is_refused(store: MemoryStore) -> None:
    for chunk in ("bare text", DocumentChunk("text", "")):
        with pytest.raises(InvalidInput, match="needs a doc_id"):
            store.add([chunk])


def test_removing_says_how_many(store: MemoryStore) -> None:
    store.put([document("a", "one", "two"), document("b", "three")])
    assert [store.remove_by_doc_id(doc_id) for doc_id in ("a", "a", "none", "b")] == [2, 0, 0, 1]
    assert (store.size, store.search("one")) == (0, [])
    store.put([document("c", "four")])
    assert store.size == 1


def test_it_comes_back_as_it_was_saved(store: MemoryStore, embedder: WordEmbedder, tmp_path: Path) -> None:
    odd = {"page": 1, "tags": ["a", "b"], "none": None, "when": {"y": 1.5}}
    store.put([document("a", "cats purr", "نص عربي", **odd), document("b", "lone \ud800 surrogate")])
    store.save(tmp_path / "here")
    loaded = MemoryStore(WordEmbedder()).load(tmp_path / "here")
    assert loaded.size == store.size == 3
    for question in ("cats", "نص", "lone"):
        assert loaded.search(question, 9, -1) == store.search(question, 9, -1)
    loaded.put([document("c", "more")])
    loaded.save(tmp_path / "here")
    assert MemoryStore(embedder).load(tmp_path / "here").size == 4
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["store.npz"]


def test_an_empty_store_comes_back_too(store: MemoryStore, embedder: WordEmbedder, tmp_path: Path) -> None:
    store.save(tmp_path)
    assert MemoryStore(WordEmbedder(model="another")).load(tmp_path).size == 0


def test_it_does_not_come_back_to_another_model(store: MemoryStore, tmp_path: Path) -> None:
    store.put([document("a", "cats")])
    store.save(tmp_path)
    for other in (WordEmbedder(model="another"), WordEmbedder(32)):
        with pytest.raises(DimensionMismatch, match="load it with the model"):
            MemoryStore(other).load(tmp_path)


def raw(content: bytes) -> Callable[[Path], Any]:
    return lambda path: (path / "store.npz").write_bytes(content)


def written(**arrays: Any) -> Callable[[Path], Any]:
    return lambda path: np.savez(path / "store.npz", **arrays)


def content(**fields: Any) -> Any:
    held: dict[str, Any] = {"format": 1, "model": "test/words", "chunks": [], **fields}
    return np.frombuffer(json.dumps(held).encode(), np.uint8)


@pytest.mark.parametrize(
    "damage",
    [
        Path.exists,
        raw(b""),
        raw(b"PK\x03\x04 no archive"),
        written(vectors=np.ones((1, 2))),
        written(vectors=np.ones((3, 2)), content=content()),
        written(vectors=np.ones(2), content=content()),
        written(vectors=np.ones((0, 2)), content=content(format=9)),
        written(vectors=np.ones((1, 2)), content=content(chunks=[{"no": "chunk"}])),
        written(vectors=np.array([{}, []], object), content=content()),
    ],
    ids=["missing", "empty", "no archive", "no chunks", "too few chunks", "no table", "format", "chunk", "pickled"],
)
def test_a_damaged_file_is_refused_and_leaves_the_store_as_it_was(
    store: MemoryStore, tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    store.put([document("a", "cats")])
    damage(tmp_path)
    with pytest.raises(InvalidInput, match="damaged"):
        store.load(tmp_path)
    assert store.size == 1


def test_nothing_in_the_file_is_a_pickle(store: MemoryStore, tmp_path: Path) -> None:
    store.put([document("a", "cats")])
    store.save(tmp_path)
    with zipfile.ZipFile(tmp_path / "store.npz") as archive:
        assert sorted(archive.namelist()) == ["content.npy", "vectors.npy"]
        assert all(b"'descr': '|O'" not in archive.read(name) for name in archive.namelist())


def test_readers_see_whole_documents_while_writers_write(store: MemoryStore) -> None:
    store.put([document("a", "alpha one", "alpha two"), document("b", "beta")])

    def write(n: int) -> None:
        store.put([document("a", f"alpha one{n}", f"alpha two{n}")])
        store.put([document(f"d{n}", "gamma")])
        store.remove_by_doc_id(f"d{n}")

    def read(_: int) -> int:
        return sum(chunk.doc_id == "a" for chunk, _ in store.search("alpha", 100, -1))

    with ThreadPoolExecutor(8) as pool:
        writes = pool.map(write, range(100))
        assert set(pool.map(read, range(200))) == {2}
        list(writes)
    assert store.size == 3


def test_vectors_of_another_length_do_not_go_with_those_that_are_there(store: MemoryStore) -> None:
    store.put([document("a", "cats")])
    store._embedder = MemoryStore(WordEmbedder(32))._embedder  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(DimensionMismatch):
        store.put([document("b", "dogs")])
    assert store.size == 1


def test_chunks_stand_under_their_document_whatever_they_call_it(store: MemoryStore) -> None:
    for _ in range(2):
        store.put([ChunkedDocument("a", "cats", (Piece("cats", "another name"),))])
    assert [store.size, store.remove_by_doc_id("a")] == [1, 1]

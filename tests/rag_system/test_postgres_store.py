"""The same system on a real Postgres: whole documents, verbatim chunks, and only news embedded."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.chunking import SentenceChunker
from burnish.rag_system.chunks import DocumentChunk
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.context import ContextBuilder
from burnish.rag_system.errors import RAGRetrievalError
from burnish.rag_system.postgres_store import PostgresStore
from burnish.rag_system.stores import ChunkedDocument
from burnish.rag_system.system import RAGSystem
from burnish.store.database import make_engine
from burnish.world.ingestion import ingest
from tests.rag_system.parts import Model, Piece, Words, texts_of
from tests.world.word_embedder import WordEmbedder, document

LIGHTS = "The lighthouse was built in 1868. Its lamp is seen from thirty miles away."
ARABIC = "بُنِيَتِ المنارةُ سنةَ ١٨٦٨. ويُرى ضوؤها من بعيد."


@pytest.fixture
def store(database: Engine, embedder: WordEmbedder) -> PostgresStore:
    return PostgresStore(database, embedder, "lights")


def system(store: PostgresStore, model: Any = None, config: RAGConfig | None = None, **options: Any) -> RAGSystem:
    parts = (store, model or Model(), SentenceChunker(), ContextBuilder(), config)
    return RAGSystem(*parts, **{"enable_query_expansion": False, **options})


def rows(database: Engine, statement: str) -> list[Any]:
    with database.begin() as connection:
        return list(connection.execute(text(statement)).all())


def assert_every_chunk_stands_in_its_document(database: Engine) -> None:
    stored = rows(
        database,
        "SELECT d.text, c.text, c.start_offset, c.end_offset FROM chunks c JOIN documents d ON d.id = document_id",
    )
    assert all(whole[start:end] == part for whole, part, start, end in stored)


def assert_counts_are_exact(database: Engine) -> None:
    counted = rows(database, "SELECT search_config || ' ' || lexeme, chunk_count FROM lexemes")
    recounted = rows(
        database,
        "SELECT search_config::text || ' ' || entry.lexeme, count(*) "
        "FROM chunks CROSS JOIN LATERAL unnest(search) AS entry GROUP BY 1",
    )
    assert sorted(counted) == sorted(recounted)
    counts = rows(database, "SELECT chunk_count, word_count FROM collections")
    assert counts == rows(database, "SELECT count(*), coalesce(sum(word_count), 0) FROM chunks")


def test_a_system_ingests_searches_and_answers_on_postgres(store: PostgresStore, database: Engine) -> None:
    model = Model("In 1868.")
    rag = system(store, model)
    assert rag.retrieve("lighthouse") == []
    long = "\n\n".join(f"Section {n}. {LIGHTS}" for n in range(20))
    results = rag.add_texts({"a": LIGHTS, "b": ARABIC, "c": long, "d": " "}, {"a": {"title": "Lights", "page": 3}})

    assert (results["a"], results["b"], results["d"]) == (1, 1, 0)
    assert results["c"] > 3
    assert rag.get_stats()["vector_db_size"] == sum(results.values()) == store.size
    assert_every_chunk_stands_in_its_document(database)
    assert_counts_are_exact(database)
    [(chunk, score)] = rag.retrieve("When was the lighthouse built?", top_k=1)
    assert isinstance(chunk, DocumentChunk)
    assert "built in 1868" in chunk.text
    assert 0 < score <= 1
    assert texts_of(rag.retrieve("متى بنيت المنارة؟", 1)) == [ARABIC]
    assert rag.ask("Who built the lights?", include_sources=True).startswith("In 1868.\n\n📚 Sources:\n• ")
    assert rag.retrieve("Lights page", 9)[0][0].metadata == {"title": "Lights", "page": 3}


def test_wordings_and_reranking_work_on_postgres_too(store: PostgresStore) -> None:
    config = RAGConfig(enable_reranking=True, rerank_mode="hybrid", top_k=1)
    model = Model(rephrased="the lamp", mark=lambda prompt: "10" if "lamp" in prompt else "0")
    rag = system(store, model, config, enable_query_expansion=True)
    asyncio.run(rag.aadd_documents({"a": "The tower is old.", "b": "The lamp is bright.", "c": "The sea is deep."}))
    assert texts_of(asyncio.run(rag.aretrieve("the tower"))) == texts_of(rag.retrieve("the tower"))
    assert len(rag.retrieve("the tower")) == 1


def test_a_document_takes_the_place_of_its_earlier_form_and_is_removed_whole(
    store: PostgresStore, database: Engine
) -> None:
    rag = system(store)
    rag.add_documents({"a": LIGHTS, "b": ARABIC})
    rag.add_documents({"a": "The lighthouse is gone."})
    assert texts_of(rag.retrieve("lighthouse", 9))[0] == "The lighthouse is gone."
    assert (store.size, rag.stats["total_documents"]) == (2, 2)
    assert_counts_are_exact(database)
    assert [rag.remove_document(each) for each in ("a", "a", "unknown")] == [1, 0, 0]
    assert texts_of(rag.retrieve("lighthouse", 9)) == [ARABIC]
    assert_counts_are_exact(database)
    assert PostgresStore(database, WordEmbedder(), "none").remove_by_doc_id("a") == 0


def test_only_what_is_new_is_embedded(store: PostgresStore, embedder: WordEmbedder, database: Engine) -> None:
    rag = system(store, config=RAGConfig(chunk_size=120, overlap=0))
    sections = "\n\n".join(
        f"Section {n}. The clause of section {n} says what holds in case number {n}." for n in range(6)
    )
    first = rag.add_or_update(sections, "a")
    before = rows(database, "SELECT text, embedding::text FROM chunks ORDER BY position")
    asked = len(embedder.asked)
    second = rag.add_or_update(sections.replace("number 3", "number one thousand"), "a")

    assert (first.embedded, second.embedded, second.kept) == (first.added, 1, first.added - 1)
    assert len(embedder.asked) == asked + 1
    after = rows(database, "SELECT text, embedding::text FROM chunks ORDER BY position")
    assert len(set(before) & set(after)) == len(before) - 1
    assert all(vector for _, vector in after)
    assert rag.add_or_update(sections.replace("number 3", "number one thousand"), "a").status == "unchanged"
    assert rag.versions.rollback("a", 1).embedded == 1
    assert_counts_are_exact(database)


def test_a_document_that_is_no_news_is_not_written(store: PostgresStore, database: Engine) -> None:
    system(store).add_text(LIGHTS, "a")
    [(before,)] = rows(database, "SELECT updated_at FROM documents")
    assert system(store).add_text(LIGHTS, "a") == 1
    assert rows(database, "SELECT updated_at FROM documents") == [(before,)]


def test_another_title_is_embedded_anew(store: PostgresStore, embedder: WordEmbedder) -> None:
    rag = system(store)
    rag.add_text(LIGHTS, "a", {"title": "Old"})
    rag.add_text(LIGHTS, "a", {"title": "New"})
    assert [asked for asked, role in embedder.asked if role == "passage"] == [f"Old\n{LIGHTS}", f"New\n{LIGHTS}"]


def test_a_language_that_the_model_does_not_know_is_found_by_its_words(database: Engine) -> None:
    english = WordEmbedder(languages=frozenset({"en"}))
    rag = system(PostgresStore(database, english, "lights"))
    rag.add_documents({"a": LIGHTS, "b": ARABIC})
    assert [asked for asked, _ in english.asked] == [LIGHTS]
    assert texts_of(rag.retrieve("المنارة", 1)) == [ARABIC]


@pytest.mark.parametrize(
    ("whole", "chunks"),
    [
        ("one two three four", ("one two", "two three", "three four")),
        ("a a a a", ("a", "a", "a")),
        ("ONE two", ("one two", "reworded")),
        ("", ("from nowhere", "and more")),
        ("carriage\r\nreturn \x00here", ("carriage\r\nreturn", "\x00here")),
    ],
)
def test_chunks_of_any_chunker_stand_verbatim_in_what_is_stored(
    store: PostgresStore, database: Engine, whole: str, chunks: tuple[str, ...]
) -> None:
    store.put([ChunkedDocument("a", whole, chunks)])
    assert_every_chunk_stands_in_its_document(database)
    assert_counts_are_exact(database)
    assert store.size == len(chunks)


def test_a_users_chunker_and_bare_chunks_will_do(store: PostgresStore, database: Engine) -> None:
    rag = RAGSystem(store, Model(), Words(), ContextBuilder(), enable_query_expansion=False)
    assert rag.add_text("the old lighthouse stands alone", "a", {"page": 1}) == 2
    store.add([Piece("a later remark", "a"), Piece("another", "b", {"page": 2})])
    store.add([Piece("a later remark", "a")])
    assert store.size == 4
    assert_every_chunk_stands_in_its_document(database)
    found = {chunk.text: chunk.metadata for chunk, _ in store.search("later remark another lighthouse", 9)}
    assert found["a later remark"] == {"page": 1}
    assert found["another"] == {"page": 2}


@pytest.mark.parametrize("doc_id", ["nul\x00", "x" * 501, " "])
def test_an_id_that_cannot_be_stored_keeps_no_other_out(
    store: PostgresStore, doc_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert system(store).add_documents({"a": LIGHTS, doc_id: "text", "b": ARABIC}) == {"a": 1, doc_id: 0, "b": 1}
    assert "cannot be stored: a document's id must be a text of 1 to 500" in caplog.text


def test_metadata_that_nest_too_deeply_keep_no_other_out(store: PostgresStore) -> None:
    deep: Any = {}
    for _ in range(50):
        deep = {"deeper": deep}
    assert system(store).add_texts({"a": LIGHTS, "b": "text"}, {"b": deep}) == {"a": 1, "b": 0}


def test_what_the_service_ingested_is_found_and_the_other_way_round(
    store: PostgresStore, database: Engine, embedder: WordEmbedder
) -> None:
    ingest(database, embedder, "lights", [document("d", LIGHTS, title="Lights")])
    rag = system(store)
    assert texts_of(rag.retrieve("lighthouse")) == [LIGHTS]
    rag.add_text("The lighthouse is gone.", "d")
    assert texts_of(rag.retrieve("lighthouse")) == ["The lighthouse is gone."]


def test_it_comes_back_where_it_is_the_same_collection(store: PostgresStore, database: Engine, tmp_path: Path) -> None:
    rag = system(store)
    rag.add_or_update(LIGHTS, "a")
    rag.save(str(tmp_path))
    parts = (Model(), SentenceChunker(), ContextBuilder())
    loaded = RAGSystem.load(str(tmp_path), PostgresStore(database, WordEmbedder(), "lights"), *parts)
    assert texts_of(loaded.retrieve("lighthouse")) == [LIGHTS]
    assert loaded.add_or_update(LIGHTS, "a").status == "unchanged"
    with pytest.raises(InvalidInput, match="is the collection 'lights', not 'other'"):
        PostgresStore(database, WordEmbedder(), "other").load(tmp_path / "vector_db")
    with pytest.raises(InvalidInput, match="names no collection"):
        store.load(tmp_path)
    unknown = PostgresStore(database, WordEmbedder(), "unknown")
    unknown.save(tmp_path / "unknown")
    with pytest.raises(InvalidInput, match="holds no collection 'unknown'"):
        unknown.load(tmp_path / "unknown")


def test_another_models_collection_is_left_alone(store: PostgresStore, database: Engine) -> None:
    system(store).add_text(LIGHTS, "a")
    other = system(PostgresStore(database, WordEmbedder(32), "lights"))
    with pytest.raises(DimensionMismatch):
        other.add_text("text")
    with pytest.raises(InvalidInput):
        other.retrieve("lighthouse")


def test_a_server_that_is_down_is_a_search_error(embedder: WordEmbedder) -> None:
    down = make_engine("postgresql+psycopg://nobody@127.0.0.1:1/none")
    rag = system(PostgresStore(down, embedder))
    with pytest.raises(RAGRetrievalError):
        rag.retrieve("lighthouse")
    assert rag.generate("lighthouse") == "❌ Search error occurred."
    assert rag.remove_document("a") == 0


def test_filters_are_refused_and_names_are_checked(store: PostgresStore, database: Engine) -> None:
    system(store).add_text(LIGHTS, "a")
    with pytest.raises(InvalidInput, match="takes no filters"):
        system(store).retrieve("lighthouse", filters={"page": 1})
    for name in ("", " ", "nul\x00"):
        with pytest.raises(InvalidInput, match="collection's name"):
            PostgresStore(database, WordEmbedder(), name)
    with pytest.raises(InvalidInput, match="top_k"):
        store.search("lighthouse", 0)


def test_many_threads_write_and_every_document_is_there_once(store: PostgresStore, database: Engine) -> None:
    rag = system(store)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(rag.add_text, [f"text number {n}" for n in range(20)], [f"d{n % 5}" for n in range(20)]))
    assert rows(database, "SELECT count(*), count(DISTINCT external_id) FROM documents") == [(5, 5)]
    assert (store.size, rag.stats["total_chunks"]) == (5, 5)
    assert_counts_are_exact(database)

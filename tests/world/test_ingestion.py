"""Ingesting into a real Postgres: what is stored, what is passed over, and that the counts stay exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, text

from burnish.errors import DimensionMismatch, InvalidInput, LanguageModelUnavailable, NotFound
from burnish.world.documents import Document, UnreadableFile
from burnish.world.embeddings import Role, Vectors
from burnish.world.ingestion import GROUP_DOCUMENTS, IngestReport, delete_documents, ingest
from burnish.world.ingestion_intake import Cutting
from tests.world.word_embedder import WordEmbedder, document

ENGLISH = "The lighthouse was built in 1868. Its lamp is seen from thirty miles away."
ARABIC = "بُنِيَتِ المنارةُ سنةَ ١٨٦٨. ويُرى ضوؤها من بعيد."

_STORED = "SELECT search_config || ' ' || lexeme, chunk_count FROM lexemes"
_RECOUNTED = """
    SELECT search_config::text || ' ' || entry.lexeme, count(*)
    FROM chunks CROSS JOIN LATERAL unnest(search) AS entry GROUP BY 1
"""


def rows(database: Engine, statement: str) -> list[Any]:
    with database.begin() as connection:
        return list(connection.execute(text(statement)).all())


def assert_counts_are_exact(database: Engine) -> None:
    """For a database with one collection."""
    assert sorted(rows(database, _STORED)) == sorted(rows(database, _RECOUNTED))
    counts = rows(database, "SELECT chunk_count, word_count FROM collections")
    assert counts == rows(database, "SELECT count(*), coalesce(sum(word_count), 0) FROM chunks")


def test_what_is_stored_can_be_found_again_in_the_document(database: Engine, embedder: WordEmbedder) -> None:
    long = "\n\n".join(f"Section {n}. {ENGLISH} {ARABIC}" for n in range(30))

    report = ingest(database, embedder, "lights", [document("d", long, title="Lighthouses")])

    stored = rows(database, "SELECT d.text, c.text, c.start_offset, c.end_offset FROM chunks c, documents d")
    assert report == IngestReport(added=1, chunks=len(stored))
    assert len(stored) > 5
    assert all(whole[start:end] == part for whole, part, start, end in stored)
    assert_counts_are_exact(database)


def test_the_title_is_searched_with_each_chunk_and_not_quoted(database: Engine, embedder: WordEmbedder) -> None:
    documents = [document("a", ENGLISH, title="Cape Bougaroun"), document("b", "Lamps. " + ENGLISH, title="Lamps")]

    ingest(database, embedder, "lights", documents)

    assert embedder.asked == [(f"Cape Bougaroun\n{ENGLISH}", "passage"), (f"Lamps. {ENGLISH}", "passage")]
    assert rows(database, "SELECT text FROM chunks WHERE search @@ to_tsquery('english', 'bougaroun')") == [(ENGLISH,)]


def test_the_same_content_again_is_nothing_to_do(database: Engine, embedder: WordEmbedder) -> None:
    documents = [document("a", ENGLISH), document("b", ARABIC)]
    ingest(database, embedder, "lights", documents)
    asked = len(embedder.asked)

    report = ingest(database, embedder, "lights", [replace(each, source="elsewhere") for each in documents])

    assert report == IngestReport(unchanged=2)
    assert len(embedder.asked) == asked


@pytest.mark.parametrize(
    "changed",
    [{"text": "The lighthouse is gone."}, {"title": "Another"}, {"metadata": {"year": 1868}}, {"language": "fr"}],
)
def test_a_changed_document_takes_the_place_of_the_old_one(
    database: Engine, embedder: WordEmbedder, changed: dict[str, Any]
) -> None:
    ingest(database, embedder, "lights", [document("a", ENGLISH), document("b", ARABIC)])
    [(before,)] = rows(database, "SELECT id FROM documents WHERE external_id = 'a'")

    report = ingest(database, embedder, "lights", [replace(document("a", ENGLISH), **changed)])

    assert report == IngestReport(updated=1, chunks=1)
    assert rows(database, "SELECT id FROM documents WHERE external_id = 'a'") == [(before,)]
    new_text = changed.get("text", ENGLISH)
    assert rows(
        database, "SELECT c.text FROM chunks c, documents d WHERE d.id = document_id AND external_id = 'a'"
    ) == [(new_text,)]
    assert_counts_are_exact(database)


def test_another_cutting_cuts_anew(database: Engine, embedder: WordEmbedder) -> None:
    ingest(database, embedder, "lights", [document("a", ENGLISH)])

    report = ingest(database, embedder, "lights", [document("a", ENGLISH)], cutting=Cutting(max_words=8))

    assert report.updated == 1
    assert report.chunks > 1
    assert_counts_are_exact(database)


def test_a_document_given_twice_is_stored_as_it_was_last(database: Engine, embedder: WordEmbedder) -> None:
    report = ingest(database, embedder, "lights", [document("a", ARABIC), document("a", ENGLISH)])

    assert (report.added, report.updated) == (1, 1)
    assert rows(database, "SELECT text FROM chunks") == [(ENGLISH,)]
    assert_counts_are_exact(database)


HOSTILE = {
    "sql": "'); DROP TABLE chunks; -- \\' $$ \\. \t %s :name {x}",
    "tsquery": "a & b | !c <-> (d) :* 'e''f' \\",
    "copy": "\\N\n\\.\n\tcolumn\\tbreak\r\nend",
    "nul": "before\0after \x01 \ud800 lone",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 é\u0301\u0301\u0301",
    "token": "a" * 1_000_000,
    "marks": "ا" + "\u064b" * 5_000,
    "mixed": "Ünïcödé ﷺ ١٢٣ עברית 日本語 ไทย \u202eevil\u202c",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_stored_and_counted(database: Engine, embedder: WordEmbedder, kind: str) -> None:
    report = ingest(database, embedder, "lights", [document(kind, HOSTILE[kind], title=HOSTILE[kind][:50])])

    assert (report.added, report.failed) == (1, ())
    stored = rows(database, "SELECT d.text, c.text, c.start_offset, c.end_offset FROM chunks c, documents d")
    assert all(whole[start:end] == part for whole, part, start, end in stored)
    assert_counts_are_exact(database)
    assert delete_documents(database, "lights", [kind]) == 1
    assert_counts_are_exact(database)


def test_metadata_that_json_cannot_hold_are_stored_as_well_as_can_be(database: Engine, embedder: WordEmbedder) -> None:
    metadata = {"nul\0": "a\0b", "nan": float("nan"), "deep": [1, {"x": (True, None)}], "object": 1j}

    ingest(database, embedder, "lights", [replace(document("a", ENGLISH), metadata=metadata)])

    assert rows(database, "SELECT details FROM documents") == [
        ({"nul": "ab", "nan": "nan", "deep": [1, {"x": [True, None]}], "object": "1j"},)
    ]


def test_what_cannot_be_used_is_reported_and_the_rest_goes_in(database: Engine, embedder: WordEmbedder) -> None:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"in": nested}
    documents = [
        UnreadableFile("locked.pdf", "it is encrypted"),
        document("empty", " \0\n"),
        document("", ENGLISH),
        document("i" * 1_000, ENGLISH),
        replace(document("deep", ENGLISH), metadata=nested),
        document("good", ENGLISH),
    ]

    report = ingest(database, embedder, "lights", documents)

    assert report.added == 1
    assert [source[:9] for source, _ in report.failed] == ["locked.pd", "empty.txt", ".txt", "iiiiiiiii", "deep.txt"]
    assert all(reason for _, reason in report.failed)
    assert rows(database, "SELECT external_id FROM documents") == [("good",)]


def test_no_documents_make_an_empty_collection(database: Engine, embedder: WordEmbedder) -> None:
    assert ingest(database, embedder, "lights", []) == IngestReport()
    assert rows(database, "SELECT name, embedding_model, dimension, chunk_count FROM collections") == [
        ("lights", "test/words", 64, 0)
    ]


@pytest.mark.parametrize("name", ["", "  ", "x\0y", "n" * 501])
def test_a_collection_needs_a_name_that_can_be_read(database: Engine, embedder: WordEmbedder, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        ingest(database, embedder, name, [])


@pytest.mark.parametrize("other", [WordEmbedder(32), WordEmbedder(64, model="test/other")])
def test_a_collection_keeps_to_the_model_it_was_embedded_by(
    database: Engine, embedder: WordEmbedder, other: WordEmbedder
) -> None:
    ingest(database, embedder, "lights", [document("a", ENGLISH)])

    with pytest.raises(DimensionMismatch, match=r"'lights'.*'test/words'.*set BURNISH_EMBEDDING_MODEL"):
        ingest(database, other, "lights", [document("b", ENGLISH)])
    assert rows(database, "SELECT external_id FROM documents") == [("a",)]


def test_collections_may_differ_in_their_models(database: Engine) -> None:
    for dimension in (32, 64, 2001):
        ingest(database, WordEmbedder(dimension), f"of {dimension}", [document("a", ENGLISH)])

    assert sorted(rows(database, "SELECT vector_dims(embedding) FROM chunks")) == [(32,), (64,), (2001,)]


class _Shorter(WordEmbedder):
    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return super().embed(texts, role)[:, :-1]


def test_a_model_that_breaks_its_promise_writes_nothing(database: Engine) -> None:
    with pytest.raises(DimensionMismatch, match="BURNISH_EMBEDDING_DIMENSION"):
        ingest(database, _Shorter(), "lights", [document("a", ENGLISH)])
    assert (
        rows(database, "SELECT 1 FROM documents UNION ALL SELECT 1 FROM chunks UNION ALL SELECT 1 FROM lexemes") == []
    )


class _Failing(WordEmbedder):
    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if any("poison" in text for text in texts):
            raise LanguageModelUnavailable("the embedding model timed out")
        return super().embed(texts, role)


def test_an_ingest_that_broke_off_goes_on_where_it_stopped(database: Engine, embedder: WordEmbedder) -> None:
    documents = [document(str(n), f"Number {n}. {ENGLISH}") for n in range(3 * GROUP_DOCUMENTS)]
    poisoned = [*documents[: 2 * GROUP_DOCUMENTS], document("p", "poison"), *documents[2 * GROUP_DOCUMENTS :]]

    with pytest.raises(LanguageModelUnavailable):
        ingest(database, _Failing(), "lights", poisoned)
    assert_counts_are_exact(database)

    report = ingest(database, embedder, "lights", documents)
    assert (report.added, report.unchanged) == (GROUP_DOCUMENTS, 2 * GROUP_DOCUMENTS)
    assert_counts_are_exact(database)


def test_progress_is_told_after_each_group_and_documents_are_read_as_needed(
    database: Engine, embedder: WordEmbedder
) -> None:
    read = 0

    def documents() -> Iterator[Document]:
        nonlocal read
        for read in range(1, 2 * GROUP_DOCUMENTS + 1):
            yield document(str(read), ENGLISH)

    seen: list[tuple[int, bool]] = []
    total = 2 * GROUP_DOCUMENTS
    ingest(database, embedder, "lights", documents(), on_progress=lambda r: seen.append((r.added, read < total)))

    assert seen == [(GROUP_DOCUMENTS, True), (total, False)]


def test_several_ingests_at_once_keep_the_counts_exact(database: Engine) -> None:
    def work(worker: int) -> IngestReport:
        documents = [document(str(n), f"Worker {worker} wrote {n}. {ENGLISH}") for n in range(40)]
        reports = [ingest(database, WordEmbedder(), "lights", documents[i : i + 10]) for i in range(0, 40, 10)]
        delete_documents(database, "lights", [str(n) for n in range(0, 40, 7)])
        return reports[0]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert_counts_are_exact(database)
    assert len(rows(database, "SELECT DISTINCT external_id FROM documents")) <= 40


def test_the_same_new_document_from_two_at_once_is_stored_once(database: Engine) -> None:
    def work(_worker: int) -> IngestReport:
        return ingest(database, WordEmbedder(), "lights", [document("a", ENGLISH)])

    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(work, range(4)))

    assert sorted((report.added, report.unchanged) for report in reports) == [(0, 1), (0, 1), (0, 1), (1, 0)]
    assert_counts_are_exact(database)


def test_deleting_takes_chunks_and_counts_along(database: Engine, embedder: WordEmbedder) -> None:
    ingest(database, embedder, "lights", [document("a", ENGLISH), document("b", ARABIC), document("c", "'; --")])

    assert delete_documents(database, "lights", ["a", "c", "nowhere"]) == 2

    assert rows(database, "SELECT external_id FROM documents") == [("b",)]
    assert_counts_are_exact(database)
    assert delete_documents(database, "lights", []) == 0


def test_deleting_from_nowhere_is_an_error(database: Engine) -> None:
    with pytest.raises(NotFound, match="'nowhere'"):
        delete_documents(database, "nowhere", ["a"])


def test_a_model_is_not_asked_about_languages_it_does_not_know(database: Engine) -> None:
    english_only = WordEmbedder(languages=frozenset({"en"}))

    ingest(database, english_only, "lights", [document("a", ENGLISH), document("b", ARABIC)])

    assert english_only.asked == [(ENGLISH, "passage")]
    assert sorted(rows(database, "SELECT language, search_config::text, embedding IS NULL FROM chunks")) == [
        ("ar", "arabic", True),
        ("en", "english", False),
    ]


def test_vectors_are_stored_as_they_were_given(database: Engine, embedder: WordEmbedder) -> None:
    ingest(database, embedder, "lights", [document("a", ENGLISH)])

    [(stored,)] = rows(database, "SELECT embedding::text FROM chunks")
    assert np.array_equal(np.array(stored.strip("[]").split(","), np.float32), embedder.embed([ENGLISH], "passage")[0])

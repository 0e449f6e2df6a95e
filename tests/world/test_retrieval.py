"""Searching a real Postgres: what is found, in which order, and who has a vote."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from burnish.effects import Retrieve, SearchQuery
from burnish.errors import DimensionMismatch, NotFound, RetrievalFailed
from burnish.results import Passage
from burnish.store import search as statements
from burnish.store.database import make_engine
from burnish.store.search_index import find_collection
from burnish.world.documents import Document
from burnish.world.embeddings import Embedder, Role, Vectors, vector_literal
from burnish.world.ingestion import delete_documents, ingest
from burnish.world.retrieval import ALL_VOICES, SEATS, Voices, find, prepare, search
from tests.world.word_embedder import WordEmbedder, document

WORDS_ONLY = Voices(vectors=False)


class PlannedEmbedder(WordEmbedder):
    """Gives the vectors it was told to give, for texts it was told about."""

    def __init__(self, planned: Mapping[str, Sequence[float]], dimension: int = 2) -> None:
        super().__init__(dimension, model="test/planned")
        self._planned = planned

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.asked.extend((each, role) for each in texts)
        vectors = np.array([self._planned[each] for each in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fill(database: Engine, embedder: Embedder, documents: Sequence[Document], name: str = "all") -> UUID:
    ingest(database, embedder, name, documents)
    with database.begin() as connection:
        collection = find_collection(connection, name)
        assert collection is not None
        return collection.id


def ask(
    database: Engine, embedder: Embedder, collection: UUID, question: str, n: int = 10, voices: Voices = ALL_VOICES
) -> tuple[Passage, ...]:
    return search(database, embedder, collection, Retrieve((SearchQuery(question),), n, n), voices=voices)


def ids(passages: Sequence[Passage]) -> list[str]:
    return [passage.document_id for passage in passages]


def circle(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


LIGHTS = [
    document("cape", "The lighthouse at the cape was built in 1868 and is painted red.", title="Cape"),
    document("harbour", "Ships are piloted into the harbour by night.", title="Harbour"),
    document("bread", "Bread is baked from flour, water and salt.", title="Kitchen"),
    document("manara", "بُنِيَتِ المَنارةُ على الرَّأسِ سنةَ ١٨٦٨ وطُلِيَت بالأحمر.", title="المنارة"),
]


def test_a_question_finds_what_answers_it(database: Engine, embedder: WordEmbedder) -> None:
    collection = fill(database, embedder, LIGHTS)

    [best, *_] = found = ask(database, embedder, collection, "When was the lighthouse at the cape built?")

    assert (best.document_id, best.title, best.language) == ("cape", "Cape", "en")
    assert best.text == LIGHTS[0].text[best.start : best.end]
    assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [("building lighthouses", "cape"), ("المناره", "manara"), ("المَنَارَة", "manara"), ("منارة 1868", "manara")],
)
def test_words_are_found_in_other_forms(database: Engine, embedder: WordEmbedder, question: str, wanted: str) -> None:
    collection = fill(database, embedder, LIGHTS)

    assert ids(ask(database, embedder, collection, question, voices=WORDS_ONLY)) == [wanted]


def test_a_question_is_not_matched_against_another_languages_stems(database: Engine, embedder: WordEmbedder) -> None:
    collection = fill(database, embedder, LIGHTS)

    assert ids(ask(database, embedder, collection, "متى بنيت المنارة 1868 lighthouse", voices=WORDS_ONLY)) == ["manara"]
    assert ids(ask(database, embedder, collection, "lighthouse of 1868", voices=WORDS_ONLY)) == ["cape"]
    assert sorted(ids(ask(database, embedder, collection, "1868?", voices=WORDS_ONLY))) == ["cape", "manara"]


def test_text_of_undetermined_language_is_found_by_its_words(database: Engine, embedder: WordEmbedder) -> None:
    french = document("phare", "Le phare est une tour que les marins voient avec joie. Bougaroun.")
    collection = fill(database, embedder, [*LIGHTS, french])

    for question in ("What is the Bougaroun?", "Où est le phare dans la ville?"):
        assert ids(ask(database, embedder, collection, question, voices=WORDS_ONLY)) == ["phare"]


HOSTILE = [
    "lighthouse & !cape | (built <-> 1868):*",
    "'; DROP TABLE chunks; -- lighthouse",
    "lighthouse \\ ' \" $1 %s :name",
    "lighthouse\0 \ud800 👩‍👩‍👧‍👦",
    "lighthouse " * 3_000,
    "lighthouse " + "a" * 100_000,
]


@pytest.mark.parametrize("question", HOSTILE)
def test_a_hostile_question_is_only_words(database: Engine, embedder: WordEmbedder, question: str) -> None:
    collection = fill(database, embedder, LIGHTS)

    assert ids(ask(database, embedder, collection, question, voices=WORDS_ONLY)) == ["cape"]
    assert ids(ask(database, embedder, collection, question))[0] == "cape"


@pytest.mark.parametrize("question", ["👩‍👩‍👧‍👦", "؟!", "the of and", "nowhere stands thisword", "'\\"])
def test_a_question_without_a_word_of_ours_finds_nothing_by_words(
    database: Engine, embedder: WordEmbedder, question: str
) -> None:
    collection = fill(database, embedder, LIGHTS)

    assert ask(database, embedder, collection, question, voices=WORDS_ONLY) == ()


def test_a_blank_query_is_passed_over(database: Engine, embedder: WordEmbedder) -> None:
    collection = fill(database, embedder, LIGHTS)

    assert ask(database, embedder, collection, " \n") == ()
    request = Retrieve((SearchQuery(" ", "passage"), SearchQuery("harbour"), SearchQuery("\0")), 1, 1)
    assert ids(search(database, embedder, collection, request)) == ["harbour"]
    assert embedder.asked[-1] == ("harbour", "question")


def _bm25(texts: Mapping[str, list[str]], query: set[str]) -> dict[str, float]:
    """As the textbook has it, written out."""
    average = sum(map(len, texts.values())) / len(texts)
    frequency = Counter(word for words in texts.values() for word in set(words))
    scores: dict[str, float] = {}
    for name, words in texts.items():
        for word in query.intersection(words):
            idf = math.log(1 + (len(texts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            tf = words.count(word)
            length = 1 - 0.75 + 0.75 * len(words) / average
            scores[name] = scores.get(name, 0.0) + idf * tf * 2.2 / (tf + 1.2 * length)
    return scores


def test_words_are_ranked_by_bm25(database: Engine, embedder: WordEmbedder) -> None:
    chance = random.Random(7)
    vocabulary = [f"zq{chance.randrange(16**6):06x}k" for _ in range(40)]
    texts = {str(n): chance.choices(vocabulary, range(40, 0, -1), k=chance.randint(3, 60)) for n in range(60)}
    collection = fill(database, embedder, [document(name, " ".join(words)) for name, words in texts.items()])

    for _ in range(10):
        query = set(chance.sample(vocabulary, 4))
        expected = _bm25(texts, query)
        found = ids(ask(database, embedder, collection, " ".join(sorted(query)), n=60, voices=WORDS_ONLY))

        assert set(found) <= set(expected)
        assert len(found) == min(60, len(expected))
        assert [expected[name] for name in found] == pytest.approx(sorted(expected.values(), reverse=True)[:60])


def test_common_words_count_and_open_no_doors(
    database: Engine, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "MAX_CANDIDATES", 2)
    common = [document(f"common {n}", f"company company number {n}") for n in range(10)]
    rare = [document("plain", "a turbine of some sort"), document("both", "a turbine of the company")]
    collection = fill(database, embedder, [*common, *rare])

    assert ids(ask(database, embedder, collection, "turbine company", voices=WORDS_ONLY)) == ["both", "plain"]
    assert len(ask(database, embedder, collection, "company", n=20, voices=WORDS_ONLY)) == 11


def test_a_word_in_much_of_a_large_collection_opens_no_door_beside_a_rarer_one(
    database: Engine, embedder: WordEmbedder
) -> None:
    common = [document(f"common {n}", f"company number {n}") for n in range(70)]
    collection = fill(database, embedder, [*common, document("rare", "a turbine of the company")])

    assert ids(ask(database, embedder, collection, "turbine company", n=20, voices=WORDS_ONLY)) == ["rare"]
    assert len(ask(database, embedder, collection, "turbine company", n=80, voices=WORDS_ONLY)) == 71


def test_an_embedding_that_does_not_know_the_language_has_no_vote(database: Engine) -> None:
    english_only = WordEmbedder(languages=frozenset({"en"}))
    collection = fill(database, english_only, LIGHTS)
    english_only.asked.clear()

    found = ask(database, english_only, collection, "متى بنيت المنارة؟")

    assert english_only.asked == []
    assert ids(found) == ["manara"]
    assert len(ask(database, english_only, collection, "When was the lighthouse built?")) == 3


def test_the_same_text_in_two_documents_is_shown_once(database: Engine, embedder: WordEmbedder) -> None:
    copies = [document(f"copy {n}", "The Lighthouse  was built in 1868!", title=f"Title {n}") for n in range(20)]
    spelled = document("spelled", "the lighthouse was built in 1868!")
    collection = fill(database, embedder, [*copies, spelled, *LIGHTS])

    found = ask(database, embedder, collection, "When was the lighthouse built in 1868?", n=4)

    assert len({passage.text.casefold().replace("  ", " ") for passage in found}) == len(found) == 4


def test_long_texts_with_one_beginning_are_two_texts(database: Engine, embedder: WordEmbedder) -> None:
    header = "Company confidential. Annual report on the state of all lighthouses and harbours along the coast. " * 2
    collection = fill(database, embedder, [document("a", header + "Red."), document("b", header + "Blue.")])

    assert sorted(ids(ask(database, embedder, collection, "annual report lighthouses"))) == ["a", "b"]


def test_an_empty_collection_has_nothing(database: Engine, embedder: WordEmbedder) -> None:
    collection = fill(database, embedder, [])
    assert ask(database, embedder, collection, "anything") == ()

    fill(database, embedder, LIGHTS)
    delete_documents(database, "all", [each.document_id for each in LIGHTS])
    assert ask(database, embedder, collection, "lighthouse") == ()


def test_an_unknown_collection_is_an_error(database: Engine, embedder: WordEmbedder) -> None:
    with pytest.raises(NotFound):
        ask(database, embedder, uuid4(), "anything")


@pytest.mark.parametrize("other", [WordEmbedder(32), WordEmbedder(64, model="test/other")])
def test_vectors_of_another_model_are_not_compared(
    database: Engine, embedder: WordEmbedder, other: WordEmbedder
) -> None:
    collection = fill(database, embedder, LIGHTS)

    with pytest.raises(DimensionMismatch, match="BURNISH_EMBEDDING_MODEL"):
        ask(database, other, collection, "lighthouse")


def test_a_database_that_is_down_may_be_asked_again(embedder: WordEmbedder) -> None:
    nowhere = make_engine("postgresql+psycopg://nobody:secret@127.0.0.1:1/none")

    with pytest.raises(RetrievalFailed) as failure:
        ask(nowhere, embedder, uuid4(), "anything")
    assert failure.value.retryable
    assert "secret" not in str(failure.value)


def _many_vectors(connection: Connection, collection: UUID, count: int, axis: int) -> None:
    """Chunks of one document, of eight numbers, scattered around an axis; written by the server, for speed."""
    connection.execute(text("SELECT setseed(0.5)"))
    connection.execute(
        text(
            """
            WITH document AS (
                INSERT INTO documents (id, collection_id, external_id, title, text, media_type, source, language,
                                       content_hash)
                VALUES (gen_random_uuid(), :collection, 'many', '', '', '', '', 'en', '') RETURNING id
            )
            INSERT INTO chunks (id, collection_id, document_id, position, start_offset, end_offset, text, folded,
                                language, search_config, word_count, embedding)
            SELECT gen_random_uuid(), :collection, document.id, n, 0, 0, 'text ' || n, 'zqmark' || n % 100 || ' common',
                   'en', 'english', 2,
                   (SELECT array_agg((i = :axis)::int + random_normal() * 0.3 + n * 0) FROM generate_series(1, 8) AS i)
                   ::vector
            FROM document, generate_series(1, :count) AS n
            """
        ),
        {"collection": collection, "count": count, "axis": axis},
    )
    connection.execute(
        text("UPDATE collections SET chunk_count = :count, word_count = 2 * :count WHERE id = :collection"),
        {"collection": collection, "count": count},
    )


def test_large_collections_are_searched_through_the_index_and_do_not_starve_each_other(database: Engine) -> None:
    first_axis = [1.0] + [0.0] * 7
    planned = PlannedEmbedder({"near": first_axis}, dimension=8)
    near, far = (fill(database, planned, [], name) for name in ("near", "far"))
    with database.begin() as connection:
        _many_vectors(connection, near, 3_000, axis=1)
        _many_vectors(connection, far, 3_000, axis=2)
    with database.begin() as connection:
        connection.execute(text("ANALYZE chunks"))
        connection.execute(text("SET LOCAL hnsw.ef_search = 100"))
        statement = statements.nearest_statement(8, 50, exact=False)
        asked = {"collection_id": far, "vectors": [vector_literal(np.array(first_axis, np.float32))]}
        plan = "\n".join(connection.scalars(text("EXPLAIN " + statement.text), asked))
        without_iterating = connection.execute(statement, asked).all()

    assert "chunks_embedding_8_idx" in plan
    assert len(without_iterating) < 50
    assert len(ask(database, planned, far, "near", n=50)) == 50


def test_a_search_never_reads_a_large_table_whole(database: Engine) -> None:
    planned = PlannedEmbedder({"common zqmark7": [1.0] + [0.0] * 7}, dimension=8)
    collection = fill(database, planned, [])
    with database.begin() as connection:
        _many_vectors(connection, collection, 5_000, axis=1)
        connection.execute(
            text(
                "INSERT INTO lexemes SELECT collection_id, 'english', entry.lexeme, count(*)"
                " FROM chunks CROSS JOIN LATERAL unnest(search) AS entry GROUP BY 1, 3"
            )
        )
    with database.begin() as connection:
        connection.execute(text("ANALYZE chunks, lexemes"))

    with database.begin() as connection:
        prepared = prepare(planned, Retrieve((SearchQuery("common zqmark7"),), 5, 5))
        found = find(connection, planned, collection, prepared)
        scans = {
            name: connection.scalar(text("SELECT pg_stat_get_xact_numscans(CAST(:name AS regclass))"), {"name": name})
            for name in ("chunks", "chunks_search_idx", "chunks_embedding_8_idx")
        }

    assert len(found) == 5
    assert scans == {"chunks": 0, "chunks_search_idx": 1, "chunks_embedding_8_idx": 1}


def test_a_search_looks_up_its_own_words_and_reads_no_others(database: Engine, embedder: WordEmbedder) -> None:
    words = [f"word{number}" for number in range(300)]
    collection = fill(database, embedder, [document(each, each) for each in words])  # of which no statistics are known

    with database.begin() as connection:
        find(connection, embedder, collection, prepare(embedder, Retrieve((SearchQuery("word7 word8"),), 5, 5)))
        read = "SELECT pg_stat_get_xact_tuples_returned(CAST('lexemes_pkey' AS regclass))"
        assert connection.scalar(text(read)) == 2


def test_a_small_collection_is_searched_exactly_however_near_its_neighbours_are(
    database: Engine, embedder: WordEmbedder
) -> None:
    small = fill(database, embedder, LIGHTS, "small")
    fill(database, embedder, [document(str(n), f"lighthouse {n}") for n in range(300)], "neighbours")

    with database.begin() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        connection.execute(text("SET LOCAL enable_bitmapscan = off"))
        prepared = prepare(embedder, Retrieve((SearchQuery("lighthouse"),), 9, 9))
        found = find(connection, embedder, small, prepared)

    assert sorted(ids(found)) == sorted(each.document_id for each in LIGHTS)


def _several(database: Engine, embedder: Embedder, collection: UUID, request: Retrieve) -> list[str]:
    return ids(search(database, embedder, collection, request))


def test_the_mean_of_several_queries_is_one_search(database: Engine) -> None:
    planned = PlannedEmbedder(
        {"Alpha.": circle(0), "Beta.": circle(45), "Gamma.": circle(90), "one": circle(0), "another": circle(90)}
    )
    collection = fill(database, planned, [document(each, each) for each in ("Alpha.", "Beta.", "Gamma.")])
    queries = (SearchQuery("one", "passage"), SearchQuery("another", "passage"))

    assert _several(database, planned, collection, Retrieve(queries, 1, 3, "mean")) == ["Beta."]
    assert _several(database, planned, collection, Retrieve(queries, 1, 3, "rrf")) == ["Alpha.", "Gamma."]
    assert planned.asked[-2:] == [("one", "passage"), ("another", "passage")]


@pytest.mark.parametrize("combine", ["mean", "rrf"])
def test_an_imagined_passage_has_no_vote_by_its_words(database: Engine, combine: Any) -> None:
    far = circle(180)
    planned = PlannedEmbedder({"xylophone": circle(0), "A violin.": circle(1), "A xylophone.": far})
    documents = [document("violin", "A violin."), document("xylophone", "A xylophone.")]
    collection = fill(database, planned, documents)

    def first(role: Role) -> list[str]:
        return _several(database, planned, collection, Retrieve((SearchQuery("xylophone", role),), 1, 1, combine))

    assert first("passage") == ["violin"]
    assert first("question") == ["xylophone"]


def test_the_questions_own_hits_keep_their_seats(database: Engine) -> None:
    imagined = [f"imagined {n}" for n in range(4)]
    right = [f"right{n}" for n in range(3)]
    wrong = [f"wrong{n}" for n in range(6)]
    planned = PlannedEmbedder(
        {each: circle(n) for n, each in enumerate(["question", *right])}
        | {each: circle(150 + n) for n, each in enumerate([*imagined, *wrong])}
    )
    collection = fill(database, planned, [document(each, each) for each in [*right, *wrong]])
    queries = (*(SearchQuery(each, "passage") for each in imagined), SearchQuery("question"))

    found = _several(database, planned, collection, Retrieve(queries, 3, 4))

    assert [each for each in found if each in right] == right[:SEATS]
    assert len(found) == 4


def test_a_search_gives_no_more_than_was_asked_for(database: Engine, embedder: WordEmbedder) -> None:
    collection = fill(database, embedder, [document(str(n), f"lighthouse number {n}") for n in range(80)])
    one = SearchQuery("lighthouse number")

    assert len(_several(database, embedder, collection, Retrieve((one,), 3, 10))) == 3
    assert len(_several(database, embedder, collection, Retrieve((one,), 10, 3))) == 3
    assert len(_several(database, embedder, collection, Retrieve((one,), 70, 70))) == 70
    assert len(_several(database, embedder, collection, Retrieve((one, SearchQuery("7 8")), 3, 10))) <= 6
    assert _several(database, embedder, collection, Retrieve((), 3, 3)) == []


def test_all_queries_of_one_role_are_embedded_together(database: Engine) -> None:
    class Counting(WordEmbedder):
        calls = 0

        def embed(self, texts: Sequence[str], role: Role) -> Vectors:
            self.calls += 1
            return super().embed(texts, role)

    counting = Counting()
    collection = fill(database, counting, LIGHTS)
    counting.calls = 0

    queries = (*(SearchQuery(f"lighthouse {n}", "passage") for n in range(5)), SearchQuery("lighthouse"))
    _several(database, counting, collection, Retrieve(queries, 3, 3))

    assert counting.calls == 2

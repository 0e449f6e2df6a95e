"""How the effect `Retrieve` is performed: nearest vectors and BM25 over one collection, fused by rank.

A query of role "question" is searched for both by its vector and by its words; one of role "passage", a passage that a
model imagined, by its vector alone: its words are guesses, and a guessed name found word for word would win. Imagined
passages are embedded as passages (Gao et al. 2022): with recorded expansions of the SciFact claims, nDCG@10 is .723 so
in mode "mean" and .715 with them embedded as questions (.695 without them).

    combine="rrf"    each query is searched for, its two rankings fused and cut to `top_k`; then the queries' rankings
                     are fused
    combine="mean"   the vectors of all queries are averaged into one; its ranking is fused with those of the words of
                     the questions, and cut to `top_k`

All fusing is by reciprocal rank, k = 60, since scores of different searches do not compare. The question's own best
hits keep a seat among the passages returned: imagined passages may all be wrong in the same way.

Languages: the words of a query are looked for among chunks of its own language and of undetermined language, stemmed
as those are. A query whose language cannot be told is looked for everywhere. An embedding model has no vote on a query
in a language that it does not know: fused in, its chance hits push the right ones out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from burnish.effects import Retrieve, SearchQuery
from burnish.errors import NotFound, RetrievalFailed
from burnish.results import Passage
from burnish.store.search import (
    CollectionFacts,
    FoundChunk,
    WordQuery,
    chunks_with_words,
    nearest_chunks,
    prepare_search,
    show_chunks,
)
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion
from burnish.text.language import detect_language, search_config
from burnish.text.normalise import clean, content_words, text_hash, words
from burnish.world.embeddings import Embedder, Vectors, check_collection, check_dimension, vector_literal

DEPTH = 50
SEATS = 2


@dataclass(frozen=True)
class Voices:
    """Which searches have a vote; all do, except where they are compared with each other."""

    vectors: bool = True
    words: bool = True


ALL_VOICES = Voices()


@dataclass(frozen=True)
class _Query:
    text: str
    is_question: bool
    language: str


@dataclass(frozen=True)
class Prepared:
    """A request whose queries are cleaned and embedded. vectors: by the query's position."""

    request: Retrieve
    queries: Sequence[_Query]
    vectors: Mapping[int, Vectors]
    voices: Voices


def search(
    database: Engine, embedder: Embedder, collection_id: UUID, request: Retrieve, *, voices: Voices = ALL_VOICES
) -> tuple[Passage, ...]:
    """The passages that the request asks for, best first; none where nothing is found. A text is shown once.

    Raises NotFound for an unknown collection, DimensionMismatch where it was embedded by another model, RetrievalFailed
    where the database does not answer, and what the embedder raises.
    """
    prepared = prepare(embedder, request, voices=voices)  # first: no connection is held while a model is waited for
    try:
        with database.begin() as connection:
            return find(connection, embedder, collection_id, prepared)
    except SQLAlchemyError as error:
        raise RetrievalFailed(f"the search in Postgres failed ({type(error).__name__})") from error


def prepare(embedder: Embedder, request: Retrieve, *, voices: Voices = ALL_VOICES) -> Prepared:
    """All of a search that needs no database."""
    understood = [_understood(query) for query in request.queries]
    queries = [query for query in understood if query.text]
    return Prepared(request, queries, _embedded(embedder, queries) if voices.vectors else {}, voices)


def find(connection: Connection, embedder: Embedder, collection_id: UUID, prepared: Prepared) -> tuple[Passage, ...]:
    """All of a search that needs the database, in the caller's transaction."""
    facts = prepare_search(connection, collection_id)
    if facts is None:
        raise NotFound(f"there is no collection {collection_id}")
    check_collection(facts.name, facts.embedding_model, facts.dimension, embedder)
    ranked = _ranked(connection, facts, prepared)
    request = prepared.request
    is_single = request.combine == "mean" or len(prepared.queries) == 1
    return _passages(connection, ranked, min(request.limit, request.top_k) if is_single else request.limit)


def _understood(query: SearchQuery) -> _Query:
    text = clean(query.text).strip()
    return _Query(text, query.role == "question", detect_language(text))


def _embedded(embedder: Embedder, queries: Sequence[_Query]) -> dict[int, Vectors]:
    """The vector of each query in a language that the embedder knows, by the query's position."""
    vectors: dict[int, Vectors] = {}
    for is_question in (True, False):
        known = [
            position
            for position, query in enumerate(queries)
            if query.is_question == is_question and (embedder.languages is None or query.language in embedder.languages)
        ]
        if known:
            role = "question" if is_question else "passage"
            found = embedder.embed([queries[position].text for position in known], role)
            vectors.update(zip(known, check_dimension(found, len(known), embedder), strict=True))
    return vectors


def _ranked(connection: Connection, collection: CollectionFacts, prepared: Prepared) -> list[tuple[UUID, float]]:
    request, queries, vectors = prepared.request, prepared.queries, prepared.vectors
    depth = max(DEPTH, request.top_k)
    asked = _word_queries(queries) if prepared.voices.words else []
    by_words = chunks_with_words(connection, collection.id, asked, len(queries), depth)
    if request.combine == "mean":
        mean = [vector_literal(np.mean(list(vectors.values()), axis=0))] if vectors else []
        return reciprocal_rank_fusion([*nearest_chunks(connection, collection, mean, depth), *by_words])
    literals = [vector_literal(vector) for vector in vectors.values()]
    nearest = dict(zip(vectors, nearest_chunks(connection, collection, literals, depth), strict=True))
    singles = [reciprocal_rank_fusion([nearest.get(n, []), by_words[n]]) for n in range(len(queries))]
    return singles[0] if len(singles) == 1 else _merged(queries, singles, request)


def _word_queries(queries: Sequence[_Query]) -> list[WordQuery]:
    return [
        WordQuery(position, config, " ".join(found))
        for position, query in enumerate(queries)
        if query.is_question
        for config, found in _words_by_config(query.text, query.language).items()
        if found
    ]


def _words_by_config(text: str, language: str) -> dict[str, tuple[str, ...]]:
    """What to look for under each text search configuration. `simple` knows no stop words, so they go here."""
    if language == "und":
        return dict.fromkeys(("english", "arabic", "simple"), words(text))
    return {search_config(language): words(text), "simple": content_words(text, language)}


def _merged(
    queries: Sequence[_Query], singles: Sequence[list[tuple[UUID, float]]], request: Retrieve
) -> list[tuple[UUID, float]]:
    """The rankings of several queries as one; behind the first `limit` stand the others, in case texts repeat."""
    rankings = [[chunk_id for chunk_id, _ in single[: request.top_k]] for single in singles]
    fused = reciprocal_rank_fusion(rankings)
    own = next((ranking for query, ranking in zip(queries, rankings, strict=True) if query.is_question), ())
    first = keep_seat(fused, own, SEATS, request.limit)
    placed = {chunk_id for chunk_id, _ in first}
    return [*first, *(scored for scored in fused if scored[0] not in placed)]


def _passages(connection: Connection, ranked: Sequence[tuple[UUID, float]], wanted: int) -> tuple[Passage, ...]:
    """The first `wanted` that say different things, best first."""
    passages: dict[str, Passage] = {}
    for start in range(0, len(ranked), 2 * wanted):
        block = ranked[start : start + 2 * wanted]
        chunks = show_chunks(connection, [chunk_id for chunk_id, _ in block])
        for chunk_id, score in block:
            if len(passages) < wanted and chunk_id in chunks:
                passages.setdefault(text_hash(chunks[chunk_id].text), _passage(chunks[chunk_id], score))
        if len(passages) == wanted:
            break
    return tuple(sorted(passages.values(), key=lambda passage: -passage.score))


def _passage(chunk: FoundChunk, score: float) -> Passage:
    return Passage(
        chunk_id=str(chunk.id),
        document_id=chunk.document_id,
        title=chunk.title,
        text=chunk.text,
        start=chunk.start,
        end=chunk.end,
        language=chunk.language,
        score=score,
    )

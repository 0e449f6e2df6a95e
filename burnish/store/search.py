"""The two searches that retrieval fuses, each for all queries of a request in one round trip.

Nearest vectors: cosine distance, through the HNSW index of the vectors' length in a large collection. There
`hnsw.iterative_scan` makes the scan go on past the chunks of other collections until it has found enough of this one.
In a small one all vectors are compared: it costs as little, misses nothing, and no neighbour in the index can hide it.

Words: BM25 (Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75, the idf of Lucene). For a lexeme t of the query in a
chunk with `tf` of it, of `word_count` words:

    sum over t of  ln(1 + (N - df + .5) / (df + .5)) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * word_count / average))

`df` stands in `lexemes`, N and the average follow from `collections`; both are exact. The candidates come from the GIN
index, by the query's rarest lexemes: lexemes are taken in, the rarest always, as long as all together stand in at most
MAX_CANDIDATES chunks, and each in no more than MAX_SHARE of all chunks (or than are wanted). Commoner lexemes add to
the score and open no doors, so that "the" or "company" cannot make a search read the whole collection. On SciFact this
moves nDCG@10 from .665 to .666 and takes a quarter of the time.

To count a lexeme without unpacking all others, its positions are given weight A and all the rest filtered out.
A chunk is compared under its own text search configuration, with lexemes made by the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, TextClause, text

from burnish.store.vector_index import vector_condition, vector_expression

K1 = 1.2
B = 0.75
MAX_CANDIDATES = 1_000
MAX_SHARE = 0.2
EF_SEARCH = 100
EXACT_UP_TO = 500


@dataclass(frozen=True)
class CollectionFacts:
    """What a search must know of its collection."""

    id: UUID
    name: str
    embedding_model: str
    dimension: int
    chunk_count: int


@dataclass(frozen=True)
class WordQuery:
    """Words to look for among the chunks of one text search configuration, on behalf of the query at `position`."""

    position: int
    search_config: str
    words: str


@dataclass(frozen=True)
class FoundChunk:
    """A chunk as it is shown."""

    id: UUID
    document_id: str
    title: str
    text: str
    start: int
    end: int
    language: str


_PREPARE = text(
    """
    SELECT id, name, embedding_model, dimension, chunk_count, set_config('hnsw.iterative_scan', 'relaxed_order', true),
           set_config('hnsw.ef_search', :ef_search, true), set_config('jit', 'off', true)
    FROM collections WHERE id = :collection_id
    """
)

_WORDS = text(
    r"""
    WITH word AS MATERIALIZED (
        SELECT given.position, given.config, entry.lexeme
        FROM unnest(CAST(:positions AS int[]), CAST(:configs AS text[]), CAST(:words AS text[]))
             AS given(position, config, words)
        CROSS JOIN LATERAL unnest(to_tsvector(given.config::regconfig, given.words)) AS entry
    ),
    lexeme AS MATERIALIZED (
        SELECT word.position, word.config, word.lexeme,
               ln(1 + (facts.chunk_count - counted.chunk_count + 0.5) / (counted.chunk_count + 0.5))::float8 AS idf,
               sum(counted.chunk_count) OVER rarest_first AS gathered,
               row_number() OVER rarest_first AS nth,
               counted.chunk_count <= greatest(:max_share * facts.chunk_count, :depth) AS tells_apart
        FROM word
        CROSS JOIN (SELECT chunk_count FROM collections WHERE id = :collection_id) AS facts
        CROSS JOIN LATERAL (
            SELECT lexemes.chunk_count
            FROM lexemes
            WHERE (lexemes.collection_id, lexemes.search_config, lexemes.lexeme)
                = (:collection_id, word.config, word.lexeme)
            OFFSET 0  -- or the planner may read all lexemes of the collection and look for the few among them
        ) AS counted
        WINDOW rarest_first AS (
            PARTITION BY word.position, word.config ORDER BY counted.chunk_count, word.lexeme
            ROWS UNBOUNDED PRECEDING
        )
    ),
    asked AS MATERIALIZED (
        SELECT position, config, array_agg(lexeme) AS lexemes,
               string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')
                   FILTER (WHERE nth = 1 OR (tells_apart AND gathered <= :max_candidates))::tsquery AS doors
        FROM lexeme GROUP BY position, config
    ),
    average AS MATERIALIZED (
        SELECT greatest(word_count, 1)::float8 / greatest(chunk_count, 1) AS words
        FROM collections WHERE id = :collection_id
    ),
    candidate AS MATERIALIZED (
        SELECT asked.position, asked.config, chunk.id, entry.lexeme, cardinality(entry.positions)::float8 AS tf,
               :k1 * (1 - :b + :b * chunk.word_count / average.words) AS damping
        FROM asked
        CROSS JOIN average
        CROSS JOIN LATERAL (
            SELECT chunks.id, chunks.search, chunks.word_count
            FROM chunks
            WHERE chunks.search @@ asked.doors AND chunks.collection_id = :collection_id
              AND chunks.search_config = asked.config::regconfig
            OFFSET 0  -- or the planner may read the whole table once and join it by its configuration
        ) AS chunk
        CROSS JOIN LATERAL unnest(ts_filter(setweight(chunk.search, 'A', asked.lexemes), '{a}')) AS entry
    ),
    scored AS (
        SELECT position, candidate.id, sum(lexeme.idf * tf * (:k1 + 1) / (tf + damping)) AS score
        FROM candidate JOIN lexeme USING (position, config, lexeme)
        GROUP BY position, candidate.id
    ),
    ranked AS (
        SELECT position, id, row_number() OVER (PARTITION BY position ORDER BY score DESC, id) AS rank FROM scored
    )
    SELECT position, id FROM ranked WHERE rank <= :depth ORDER BY position, rank
    """
)

_SHOW = text(
    """
    SELECT chunks.id, documents.external_id, documents.title, chunks.text, chunks.start_offset, chunks.end_offset,
           chunks.language
    FROM chunks JOIN documents ON documents.id = chunks.document_id
    WHERE chunks.id = ANY(:ids)
    """
)


def prepare_search(connection: Connection, collection_id: UUID) -> CollectionFacts | None:
    """Set the transaction up for searching; None where there is no such collection."""
    row = connection.execute(_PREPARE, {"collection_id": collection_id, "ef_search": str(EF_SEARCH)}).one_or_none()
    return CollectionFacts(*row[:5]) if row else None


def nearest_chunks(
    connection: Connection, collection: CollectionFacts, vectors: Sequence[str], depth: int
) -> list[list[UUID]]:
    """For each vector (a pgvector literal), the ids of the `depth` nearest chunks, nearest first."""
    if not vectors:
        return []
    statement = nearest_statement(collection.dimension, depth, exact=collection.chunk_count <= EXACT_UP_TO)
    found = connection.execute(statement, {"collection_id": collection.id, "vectors": list(vectors)})
    return _by_position(found, len(vectors))


@cache
def nearest_statement(dimension: int, depth: int, *, exact: bool) -> TextClause:
    # The cast and the condition must stand here word for word as in the index, and the limit as a number, or the
    # planner cannot see that the index serves. OFFSET 0 keeps it from seeing that.
    return text(
        f"""
        SELECT asked.position - 1 AS position, found.id
        FROM unnest(CAST(:vectors AS vector[])) WITH ORDINALITY AS asked(vector, position)
        CROSS JOIN LATERAL (
            SELECT compared.id, compared.distance
            FROM (
                SELECT chunks.id, {vector_expression(dimension)} <=> asked.vector AS distance
                FROM chunks
                WHERE chunks.collection_id = :collection_id AND {vector_condition(dimension)}
                {"OFFSET 0" if exact else ""}
            ) AS compared
            ORDER BY compared.distance
            LIMIT {int(depth)}
        ) AS found
        ORDER BY asked.position, found.distance, found.id
        """  # noqa: S608 whole numbers only
    )


def chunks_with_words(
    connection: Connection, collection_id: UUID, queries: Sequence[WordQuery], positions: int, depth: int
) -> list[list[UUID]]:
    """For each position below `positions`, the ids of the `depth` best chunks by BM25, best first."""
    if not queries:
        return [[] for _ in range(positions)]
    found = connection.execute(
        _WORDS,
        {
            "collection_id": collection_id,
            "positions": [query.position for query in queries],
            "configs": [query.search_config for query in queries],
            "words": [query.words for query in queries],
            "depth": depth,
            "max_candidates": MAX_CANDIDATES,
            "max_share": MAX_SHARE,
            "k1": K1,
            "b": B,
        },
    )
    return _by_position(found, positions)


def show_chunks(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, FoundChunk]:
    """The chunks with these ids; one that was deleted meanwhile is missing."""
    return {row.id: FoundChunk(*row) for row in connection.execute(_SHOW, {"ids": list(ids)})}


def _by_position(rows: Iterable[Any], positions: int) -> list[list[UUID]]:
    rankings = [list[UUID]() for _ in range(positions)]
    for row in rows:
        rankings[int(row.position)].append(row.id)
    return rankings

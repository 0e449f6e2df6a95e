"""One HNSW index for each length of vector in use.

pgvector indexes only columns of a fixed length, while collections may differ. So `chunks.embedding` has no fixed length
and each length gets an index over a cast; a search must repeat the cast and the condition word for word to use it.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

MAX_INDEXED_DIMENSION = 2000
INDEX_PREFIX = "chunks_embedding_"


def vector_expression(dimension: int) -> str:
    return f"(chunks.embedding::vector({int(dimension)}))"


def vector_condition(dimension: int) -> str:
    return f"vector_dims(chunks.embedding) = {int(dimension)}"


def ensure_vector_index(connection: Connection, dimension: int) -> None:
    """Make the index where it is missing. Vectors too long for HNSW are searched exactly, without one."""
    if dimension > MAX_INDEXED_DIMENSION:
        return
    connection.execute(
        text(
            f"CREATE INDEX IF NOT EXISTS {INDEX_PREFIX}{int(dimension)}_idx ON chunks"
            f" USING hnsw ({vector_expression(dimension)} vector_cosine_ops) WHERE {vector_condition(dimension)}"
        )
    )

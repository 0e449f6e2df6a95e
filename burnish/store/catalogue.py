"""Which collections there are, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from burnish.store.models import Collection, Document


@dataclass(frozen=True)
class Holding:
    """A collection with the number of its documents and chunks, and the model that embedded them."""

    name: str
    documents: int
    chunks: int
    embedding_model: str
    dimension: int
    created_at: datetime


def collection_ids(connection: Connection) -> Mapping[str, UUID]:
    """The id of each collection by its name."""
    return {row.name: row.id for row in connection.execute(select(Collection.name, Collection.id))}


def list_collections(connection: Connection) -> Sequence[Holding]:
    """Every collection, in the order of their names."""
    documents = (
        select(func.count()).where(Document.collection_id == Collection.id).correlate(Collection).scalar_subquery()
    )
    columns = select(Collection.name, documents, Collection.chunk_count, Collection.embedding_model)
    statement = columns.add_columns(Collection.dimension, Collection.created_at).order_by(Collection.name)
    return [Holding(*row) for row in connection.execute(statement)]

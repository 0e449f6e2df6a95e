"""Effects become replies: a search for Retrieve, a call of the model for Ask."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from burnish.effects import Ask, Retrieve
from burnish.errors import BurnishError, EffectFailed, RetrievalFailed
from burnish.results import Call
from burnish.store.journal import Scope
from burnish.world.embeddings import Embedder
from burnish.world.language_model import LanguageModel
from burnish.world.retrieval import search


class World:
    """What a process needs to perform effects: the database, an embedding model and a language model."""

    def __init__(self, database: Engine, embedder: Embedder, model: LanguageModel) -> None:
        self.database = database
        self.embedder = embedder
        self.model = model

    def perform(self, effect: Retrieve | Ask, scope: Scope) -> tuple[Any, Call | None]:
        """The reply, and the call that it took if it took one. Raises EffectFailed."""
        if isinstance(effect, Ask):
            return self.model.complete(effect, scope.lane)
        try:
            return search(self.database, self.embedder, scope.collection_id, effect), None
        except EffectFailed:
            raise
        except BurnishError as error:
            raise RetrievalFailed(f"the search could not be done: {error}") from error

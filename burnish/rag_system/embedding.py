"""Anybody's embedding model as burnish's stores use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from burnish.adapters.signatures import method_of
from burnish.errors import DimensionMismatch, InvalidInput
from burnish.rag_system.options import names
from burnish.world.embeddings import EmbeddedE5, Role, Vectors

_PASSAGE_NAMES = ("embed", "embed_documents", "encode", "embed_texts")
_QUESTION_NAMES = ("embed_query", "encode_query")


class TextEmbedder:
    """An embedding model by its function, in the form of `burnish.world.embeddings.Embedder`.

    embedder: an object with `embed(texts)`, `embed_documents` and perhaps `embed_query`, or `encode`, or a function of
    texts; where it takes a second argument named `role` it is told "question" or "passage". None is the embedded
    multilingual-e5-small. Vectors are made unit length. Raises InvalidInput for an object that embeds nothing.
    """

    languages: frozenset[str] | None = None

    def __init__(self, embedder: Any = None) -> None:
        self._owner: Any = EmbeddedE5() if embedder is None else embedder
        self._passages = method_of(self._owner, _PASSAGE_NAMES) or (self._owner if callable(self._owner) else None)
        self._question = method_of(self._owner, _QUESTION_NAMES)
        if self._passages is None:
            raise InvalidInput(f"{type(embedder).__name__} has no method embed, embed_documents or encode")
        self._takes_role = names(self._passages, "role")
        self._dimension: int | None = getattr(self._owner, "dimension", None)
        self.languages = getattr(self._owner, "languages", None)

    @property
    def model(self) -> str:
        """Its name, which a store keeps with the vectors: those of two models do not compare."""
        named = next(
            (name for each in ("model", "model_name", "__name__") if (name := getattr(self._owner, each, 0))), 0
        )
        return named if isinstance(named, str) else type(self._owner).__name__

    @property
    def dimension(self) -> int:
        """The length of its vectors; a model that does not say is asked for one."""
        known = self._dimension
        if known is None:
            known = self._dimension = self.embed(["dimension"], "passage").shape[1]
        return known

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """An array of shape (texts, dimension). Raises DimensionMismatch where the model gives anything else."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        if role == "question" and self._question is not None:
            given: Any = [self._question(text) for text in texts]
        else:
            function = cast("Callable[..., Any]", self._passages)
            given = function(list(texts), role) if self._takes_role else function(list(texts))
        return self._unit(given, len(texts))

    def _unit(self, given: Any, count: int) -> Vectors:
        try:
            vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise DimensionMismatch(f"{self.model!r} gave vectors that are no table of numbers") from error
        if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
            raise DimensionMismatch(
                f"{self.model!r} gave an array of shape {vectors.shape} for {count} texts: one vector of finite "
                "numbers for each is expected"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)

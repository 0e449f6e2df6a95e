"""A small embedding model, deterministic and quick: a text is the sum of its words, each in a direction of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from burnish.text.normalise import words
from burnish.world.documents import Document
from burnish.world.embeddings import Role, Vectors


class WordEmbedder:
    """Texts that share words are near each other. `asked` keeps every text and role it was given."""

    def __init__(
        self, dimension: int = 64, *, model: str = "test/words", languages: frozenset[str] | None = None
    ) -> None:
        self.model = model
        self.dimension = dimension
        self.languages = languages
        self.asked: list[tuple[str, Role]] = []

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.asked.extend((text, role) for text in texts)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        total = np.full(self.dimension, 1e-3, np.float32)
        for word in words(text):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return (total / np.linalg.norm(total)).astype(np.float32)


def document(document_id: str, text: str, title: str = "") -> Document:
    return Document(document_id=document_id, title=title, text=text, source=f"{document_id}.txt")

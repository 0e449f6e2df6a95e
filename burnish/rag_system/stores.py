"""Vector databases: what burnish's own are, and how anybody's is searched.

Anybody's has `add(chunks)` and `search(query, top_k=, score_threshold=)`, perhaps `remove_by_doc_id(doc_id)`, `save`,
`load`, `size`, `cleanup`, and `aadd` and `asearch` to be awaited. A search of fewer or other arguments is called with
those that it takes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from burnish.adapters.passages import FoundPassage, read_passages
from burnish.adapters.signatures import method_of, required, search_arguments
from burnish.errors import InvalidInput
from burnish.rag_system.chunks import Scored, document_id_of, metadata_of
from burnish.rag_system.config import is_number
from burnish.rag_system.flow import Work
from burnish.rag_system.options import accepted
from burnish.results import Passage


@dataclass(frozen=True)
class ChunkedDocument:
    """A document with the chunks that a chunker made of it."""

    doc_id: str
    text: str
    chunks: tuple[Any, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class DocumentStore(ABC):
    """A vector database that is handed whole documents, and need not embed again what it holds already.

    Subclass it for a store of your own. Any other object is given chunks through its `add`.
    """

    @abstractmethod
    def put(self, documents: Sequence[ChunkedDocument]) -> int:
        """Store each document in place of the one with its id, all or none; how many chunks had to be embedded."""

    @abstractmethod
    def add(self, chunks: Sequence[Any]) -> None:
        """Store chunks beside what their documents have already."""

    @abstractmethod
    def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
        """At most `top_k` (chunk, score) of at least this score, best first."""

    @abstractmethod
    def remove_by_doc_id(self, doc_id: str) -> int:
        """How many chunks were removed."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write what is needed to be loaded again into a folder of this name."""

    @abstractmethod
    def load(self, path: str | Path) -> Self:
        """Take on what was saved there, and return the store itself."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Chunks held."""


def grouped(chunks: Iterable[Any]) -> dict[str, list[Any]]:
    """The chunks by their document, in their order. Raises InvalidInput for one that names none."""
    groups: dict[str, list[Any]] = {}
    for chunk in chunks:
        doc_id = document_id_of(chunk)
        if not doc_id:
            raise InvalidInput(f"a chunk needs a doc_id to be stored, and a {type(chunk).__name__} came without one")
        groups.setdefault(doc_id, []).append(chunk)
    return groups


def searching(
    vector_db: Any, query: str, top_k: int, min_score: float, filters: Mapping[str, Any] | None = None
) -> Work:
    """A search that gives (chunk, score) pairs. Raises InvalidInput where filters are wanted and not taken."""
    plain, native = method_of(vector_db, ("search",)), method_of(vector_db, ("asearch",))
    blocking = _search(required(plain or native, vector_db, "search"), query, top_k, min_score, filters)
    awaited = None if native is None else partial(_asearch, _search(native, query, top_k, min_score, filters))
    return Work(blocking, awaited)


def read_pairs(found: Any, least: float | None = None) -> list[Scored]:
    """(chunk, score) pairs of what a search gave, those below `least` left out; the chunk is the caller's own object.

    What is no list of such pairs, either way round, is read as any retriever's reply: UnknownShape where that fails. A
    chunk that came without a score is given one by its rank.
    """
    is_listed = isinstance(found, Iterable) and not isinstance(found, str | Mapping)
    items: list[Any] = list(cast("Iterable[Any]", found)) if is_listed else []
    pairs = [pair for item in items if (pair := _pair(item)) is not None]
    if found is not None and (not is_listed or len(pairs) < len(items)):
        passages = read_passages(items if is_listed else found)
        pairs = [(passage, _score(passage, rank)) for rank, passage in enumerate(passages, start=1)]
    return [(chunk, score) for chunk, score in pairs if least is None or score >= least]


def matches(chunk: Any, filters: Mapping[str, Any] | None) -> bool:
    """Whether the chunk's metadata hold all these values; of a list, one of them."""
    held = metadata_of(chunk)
    return all(
        held.get(name) in wanted if isinstance(wanted, list | tuple | set | frozenset) else held.get(name) == wanted
        for name, wanted in (filters or {}).items()
    )


def _search(
    function: Callable[..., Any], query: str, top_k: int, min_score: float, filters: Mapping[str, Any] | None
) -> Callable[[], Any]:
    wanted = {"score_threshold": min_score} | ({"filters": dict(filters)} if filters else {})
    taken = accepted(function, wanted)
    if filters and "filters" not in taken:
        raise InvalidInput("this vector database's search takes no filters: leave them out, or use one that does")
    positional, named = search_arguments(function, query, top_k)
    least = min_score if "score_threshold" not in taken and min_score > 0 else None

    def searched() -> Any:
        found = function(*positional, **named, **taken)
        return _after(found, least) if inspect.isawaitable(found) else read_pairs(found, least)

    return searched


async def _asearch(search: Callable[[], Any]) -> Any:
    found = search()
    return await found if inspect.isawaitable(found) else found


async def _after(found: Any, least: float | None) -> list[Scored]:
    return read_pairs(await found, least)


def _score(passage: Passage, rank: int) -> float:
    return passage.score or (1 / rank if isinstance(passage, FoundPassage) else 0.0)


def _pair(item: Any) -> Scored | None:
    if not isinstance(item, tuple | list) or len(cast("Sequence[Any]", item)) != 2:
        return None
    first, second = cast("Sequence[Any]", item)
    # A number goes before what can be made one: an array's scalar may be a score, and a chunk may do anything.
    for is_score in (is_number, _is_scalar):
        if is_score(second) and not is_score(first):
            return first, float(second)
        if is_score(first) and not is_score(second):
            return second, float(first)
    return None


def _is_scalar(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, int | float | str)

"""Somebody's retriever: any object with `retrieve` or `aretrieve`, or what other libraries call it, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from burnish.adapters.calling import Caller
from burnish.adapters.passages import read_passages
from burnish.adapters.signatures import Arguments, method_of, required, search_arguments
from burnish.errors import EffectFailed, InvalidInput, RetrievalFailed
from burnish.results import Passage

BLOCKING_NAMES = ("retrieve", "similarity_search", "search", "invoke")
AWAITED_NAMES = ("aretrieve", "asimilarity_search", "asearch", "ainvoke")


class Backend:
    """A retriever that is searched with one text at a time. Raises InvalidInput for an object that has no search."""

    def __init__(self, retriever: Any) -> None:
        blocking, awaited = method_of(retriever, BLOCKING_NAMES), method_of(retriever, AWAITED_NAMES)
        plain = retriever if callable(retriever) else None
        self._owner = retriever
        self._blocking = required(blocking or awaited or plain, retriever, "retrieve")
        self._awaited = awaited or self._blocking

    async def search(self, query: str, top_k: int, context: Any, caller: Caller) -> list[Passage]:
        """At most `top_k` passages, best first. Raises RetrievalFailed; UnknownShape for what cannot be read."""
        function = self._blocking if caller.blocking else self._awaited
        try:
            found = await caller(function, search_arguments(function, query, top_k, context))
            return read_passages(found, top_k)
        except EffectFailed:
            raise
        except Exception as error:
            # The message goes into records: what the caller's code wrote may hold a key, its type does not.
            raise RetrievalFailed(f"retrieve raised {type(error).__name__}") from error

    async def add_document(self, text: str, metadata: Mapping[str, Any], caller: Caller) -> Any:
        """What the retriever's own method returns; what it raises is not caught."""
        awaited = None if caller.blocking else method_of(self._owner, ("aadd_document",))
        add = awaited or method_of(self._owner, ("add_document", "add_text", "aadd_document"))
        if add is None:
            raise InvalidInput(f"{type(self._owner).__name__} has no method 'add_document'")
        return await caller(add, _document_arguments(add, text, dict(metadata)))


def _document_arguments(add: Any, text: str, metadata: dict[str, Any]) -> Arguments:
    """(text, metadata) by position, but by its name where something else stands second."""
    try:
        second = list(inspect.signature(add).parameters.values())[1:2]
    except (TypeError, ValueError):
        second = []
    takes_it_second = not second or second[0].name == "metadata" or second[0].default is inspect.Parameter.empty
    return ((text, metadata), {}) if takes_it_second else ((text,), {"metadata": metadata})

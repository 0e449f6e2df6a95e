"""Functions that older code imports, by their old names and with their old contracts.

`_doc_key` and `_deduplicate` take texts with the same beginning for one, as they always did. Nothing in burnish uses
them: the strategies compare whole texts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from burnish.adapters.backends import Backend
from burnish.adapters.calling import Caller, threads
from burnish.adapters.models import Model
from burnish.adapters.passages import FoundPassage
from burnish.adapters.reading import read_number
from burnish.adapters.retries import Retries
from burnish.classic.running import error_of
from burnish.engine import run_to_end
from burnish.errors import EffectFailed, InvalidInput
from burnish.results import Passage

KEY_CHARACTERS = 120


def _call_llm(  # pyright: ignore[reportUnusedFunction] for those who import it
    llm: Any,
    prompt: str,
    retries: int = 2,
    backoff: float = 0.5,
    *,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
) -> str:
    """What the model says to a text, stripped; a failure that may pass is tried again. Raises LLMCallError."""
    if not isinstance(prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance] it comes from outside
        raise InvalidInput("the prompt must be a text")
    model, persistent = Model(llm), Retries(retries, backoff, sleep)
    with threads(1) as pool:
        caller = Caller(pool, blocking=True)

        async def ask() -> str:
            reply, _ = await persistent.persist(lambda: model.reply_to_text(prompt, caller))
            return reply.text.strip()

        try:
            return run_to_end(ask())
        except EffectFailed as failure:
            raise error_of(failure) from failure.__cause__


def _retrieve_safe(  # pyright: ignore[reportUnusedFunction] for those who import it
    rag_system: Any, query: str, top_k: int = 5
) -> list[dict[str, Any]]:
    """What the retriever finds, of whatever shape, each as {"text", "score", "source", "metadata"}, best first.

    Mappings that have a `text` stay as they are. Raises RetrievalError where the search breaks, and where what it gave
    cannot be read.
    """
    backend = Backend(rag_system)
    with threads(1) as pool:
        try:
            found = run_to_end(backend.search(query, top_k, None, Caller(pool, blocking=True)))
        except EffectFailed as failure:
            raise error_of(failure) from failure.__cause__
    return [_as_dict(passage) for passage in found]


def _as_dict(passage: Passage) -> dict[str, Any]:
    origin = passage.origin if isinstance(passage, FoundPassage) else None
    if isinstance(origin, Mapping) and "text" in origin:
        return dict(cast("Mapping[str, Any]", origin))
    metadata = dict(passage.metadata) if isinstance(passage, FoundPassage) else {}
    return {"text": passage.text, "score": passage.score, "source": passage.chunk_id, "metadata": metadata}


def _doc_key(doc: Mapping[str, Any]) -> str:
    """The MD5 of the first 120 characters of its text."""
    text = str(doc.get("text") or "")
    return hashlib.md5(text[:KEY_CHARACTERS].encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _deduplicate(  # pyright: ignore[reportUnusedFunction] for those who import it
    docs: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Of the documents that share a key, the one with the highest score, in the place of the first."""
    best: dict[str, dict[str, Any]] = {}
    for doc in docs:
        key = _doc_key(doc)
        if key not in best or _score(doc) > _score(best[key]):
            best[key] = doc
    return list(best.values())


def _score(doc: Mapping[str, Any]) -> float:
    return read_number(doc.get("score")) or 0.0

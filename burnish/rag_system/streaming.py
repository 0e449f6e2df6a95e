"""An answer as it is written, from whatever a model's `astream` returns.

* an asynchronous generator: its pieces as they come;
* a coroutine: what it comes to, and that is again one of these; a text word by word, its spaces and lines as they are;
* any other iterable: its pieces, each fetched in a thread so that the event loop stays free;
* a text, or anything else: one piece.

A model without `astream` gives its whole answer as one piece.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Final, cast

from burnish.adapters.passages import first_of
from burnish.adapters.replies import read_reply
from burnish.adapters.signatures import method_of
from burnish.errors import LanguageModelFailed
from burnish.rag_system.chunks import TEXT_NAMES
from burnish.rag_system.flow import arun, in_thread
from burnish.rag_system.generation import Ending, Question, Told, told_of
from burnish.rag_system.speaking import asking, speak

_WORD: Final = re.compile(r"\s*\S+\s*|\s+")
_END: Final = object()


async def told_pieces(question: Question, llm: Any, prompt: str, options: Mapping[str, Any]) -> AsyncGenerator[Told]:
    """The pieces of the answer; where the model fails or says nothing, the message for that comes last."""
    blank, begun = "", False
    try:
        async with aclosing(_pieces(llm, prompt, options)) as found:
            async for piece in found:
                if not begun and not piece.strip():
                    blank += piece  # as long as there is nothing else, there may be no answer
                    continue
                yield Told(blank + piece, Ending.ANSWERED)
                blank, begun = "", True
        if not begun:
            raise LanguageModelFailed("the language model gave an empty text")
    except Exception as error:
        yield told_of(question, error)


async def _pieces(llm: Any, prompt: str, options: Mapping[str, Any]) -> AsyncGenerator[str]:
    """The pieces of the answer. Raises whatever the model raises, and ErrorReply for an error in place of a piece."""
    stream = method_of(llm, ("astream",))
    if stream is None:
        yield await arun(speak(llm, prompt, options))
        return
    said = asking(stream, prompt, options)()
    if inspect.isawaitable(said):
        said = await said
        said = _WORD.findall(read_reply(said).text) if isinstance(said, str) else said
    async with aclosing(_each(said)) as found:
        async for piece in found:
            if text := _text_of(piece):
                yield text


async def _each(said: Any) -> AsyncGenerator[Any]:
    if isinstance(said, AsyncIterable):
        async for piece in cast("AsyncIterable[Any]", said):
            yield piece
    elif isinstance(said, Iterable) and not isinstance(said, str | bytes | Mapping):
        iterator = iter(cast("Iterable[Any]", said))
        while (piece := await in_thread(next, iterator, _END)) is not _END:
            yield piece
    else:
        yield read_reply(said).text if isinstance(said, str | Mapping) else said


def _text_of(piece: Any) -> str:
    if isinstance(piece, str) or piece is None:
        return piece or ""
    if isinstance(piece, Mapping) and "error" in piece:
        return read_reply(piece).text
    held: str | None = first_of(piece, TEXT_NAMES, str)
    return str(cast("object", piece)) if held is None else held

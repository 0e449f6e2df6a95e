"""The prompt for an answer: the caller's own, the router's, or a plain one."""

from __future__ import annotations

import logging
import re
import string
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from burnish.prompts.wording import PromptLanguage, language_of
from burnish.rag_system.routing import PromptRouter
from burnish.rag_system.templates import answer_prompt

logger = logging.getLogger(__name__)

PromptInput: TypeAlias = Any | Callable[[str, str], str] | str

_NAMES = frozenset({"context", "question", "query"})
_PLACE: Final = re.compile(r"\{(context|question|query)\}")


def resolve(
    custom: PromptInput | None,
    router: PromptRouter | None,
    plain: Callable[[str, str, str | None], str],
    query: str,
    context: str,
    language: str | None,
) -> str:
    """The prompt, by the first of these that there is.

    1. The caller's: an object with `format(context=, question=)`, or `query=` where it has no question; a function of
       (context, query); a text with {context} and {question} or {query} in it.
    2. The router's. 3. The plain one.
    """
    if custom is not None:
        made = custom_prompt(custom, query, context)
        if made is not None:
            return made
        logger.warning("a prompt of type %s can be neither formatted nor called: left out", type(custom).__name__)
    if router is not None:
        return router.build(query=query, context=context, language=language)
    return plain(query, context, language)


def plain_prompt(query: str, context: str, language: str | None) -> str:
    """The prompt of last resort, in the wanted language or the question's."""
    spoken: PromptLanguage = "ar" if (language or language_of(query)) == "ar" else "en"
    return answer_prompt(query, context, spoken, forced=language == spoken)


def custom_prompt(custom: PromptInput, query: str, context: str) -> str | None:
    """The caller's own prompt; None where it is none."""
    if isinstance(custom, str):
        return filled(custom, query, context)
    form: Any = getattr(custom, "format", None)
    if form is not None:
        try:
            return str(form(context=context, question=query))
        except (KeyError, TypeError):
            return str(form(context=context, query=query))
    return str(custom(context, query)) if callable(custom) else None


def filled(template: str, query: str, context: str) -> str:
    """The text with its places filled in.

    One that is written for `str.format`, with {{ for a brace, is read so. In any other, such as one that shows JSON,
    all other braces stay as they are. What is filled in is not searched for places again.
    """
    if _is_for_format(template):
        return template.format(context=context, question=query, query=query)
    values = {"context": context, "question": query, "query": query}
    return _PLACE.sub(lambda place: values[place[1]], template)


def _is_for_format(template: str) -> bool:
    try:
        places = [place[1:] for place in string.Formatter().parse(template) if place[1] is not None]
    except ValueError:
        return False
    return all(name in _NAMES and not spec and not conversion for name, spec, conversion in places)

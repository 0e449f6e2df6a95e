"""The caller's language model: a text in, a text out, whatever its methods are called and its replies look like."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from burnish.adapters.models import AWAITED_NAMES, BLOCKING_NAMES
from burnish.adapters.replies import read_reply
from burnish.adapters.signatures import first_name, method_of, prompt_arguments, required, takes_messages
from burnish.rag_system.flow import Flow, Work, do
from burnish.rag_system.options import accepted

logger = logging.getLogger(__name__)

NO_OPTIONS: Mapping[str, Any] = {}


def say(llm: Any, prompt: str, options: Mapping[str, Any] = NO_OPTIONS, hints: Mapping[str, Any] = NO_OPTIONS) -> Work:
    """A call that gives what the model says as a text.

    options: what the caller wants passed on; one that the model does not take is left out, and the log says so.
    hints: what would be good to pass on, where the model takes it.
    Raises ErrorReply for an error that came as a reply, and whatever the model raises.
    """
    blocking = _suitable(llm, BLOCKING_NAMES) or (llm if callable(llm) else None)
    awaited = _suitable(llm, AWAITED_NAMES)
    call = _call(required(blocking or awaited, llm, "generate"), prompt, options, hints)
    native = None if awaited is None else partial(_native_text, _call(awaited, prompt, options, hints))
    return Work(lambda: _text(call()), native)


def speak(
    llm: Any, prompt: str, options: Mapping[str, Any] = NO_OPTIONS, hints: Mapping[str, Any] = NO_OPTIONS
) -> Flow[str]:
    """As `say`, done at once."""
    return (yield from do(say(llm, prompt, options, hints)))


def asking(function: Callable[..., Any], prompt: str, options: Mapping[str, Any]) -> Callable[[], Any]:
    """The call of a model's function with a prompt, options that it does not take left out."""
    taken = accepted(function, options)
    if len(taken) < len(options):
        logger.warning("the language model takes no %s: left out", ", ".join(sorted(options.keys() - taken.keys())))
    positional, named = prompt_arguments(function, prompt, [{"role": "user", "content": prompt}])
    return partial(function, *positional, **{**named, **taken})


def _suitable(llm: Any, names: Sequence[str]) -> Callable[..., Any] | None:
    """The first of these methods; but `invoke`, named last, where the first takes messages or many prompts."""
    own, invoke = method_of(llm, names[:-1]), method_of(llm, names[-1:])
    is_other = own is not None and (takes_messages(own) or first_name(own) == "prompts")
    return invoke if invoke is not None and is_other else own or invoke


def _call(
    function: Callable[..., Any], prompt: str, options: Mapping[str, Any], hints: Mapping[str, Any]
) -> Callable[[], Any]:
    return asking(function, prompt, {**accepted(function, hints), **options})


def _text(said: Any) -> Any:
    """The text of a reply, or a coroutine that will give it."""
    return _awaited_text(said) if inspect.isawaitable(said) else read_reply(said).text


async def _awaited_text(said: Any) -> str:
    return read_reply(await said).text


async def _native_text(call: Callable[[], Any]) -> str:
    said = _text(call())
    return await said if inspect.isawaitable(said) else said

"""Which arguments somebody's function takes, told from its signature.

A function without a readable signature (some are written in C) is called in the plainest way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter
from types import FunctionType, MethodType
from typing import Any, TypeAlias

from burnish.errors import InvalidInput

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]

COUNT_NAMES = ("top_k", "k", "limit", "n", "n_results", "num_results", "max_results")
QUERY_NAMES = ("query", "question", "text")
MESSAGES_NAMES = ("messages", "chat_messages")
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_VARYING = Parameter("given", Parameter.VAR_POSITIONAL)
_BY_NAME = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def method_of(owner: Any, names: Sequence[str]) -> Callable[..., Any] | None:
    """The first of these methods that the object has; None if it has none of them."""
    return next((method for name in names if callable(method := getattr(owner, name, None))), None)


def required(method: Callable[..., Any] | None, owner: Any, name: str) -> Callable[..., Any]:
    """The method itself. Raises InvalidInput where there is none."""
    if method is None:
        raise InvalidInput(f"{type(owner).__name__} has no method {name!r}")
    return method


def parameters_of(function: Callable[..., Any]) -> Mapping[str, Parameter] | None:
    """None where they cannot be told."""
    return _of_function(function) if isinstance(function, FunctionType) else _of_method(function)


def _of_method(function: Callable[..., Any]) -> Mapping[str, Parameter] | None:
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        own = _of_function(function.__func__) or {}
        return dict(list(own.items())[1:]) if next(iter(own.values()), _VARYING).kind in _POSITIONAL else own
    return _read(function)


@lru_cache(maxsize=256)  # reading a signature takes as long as all the rest of a call; functions hold no one's objects
def _of_function(function: Callable[..., Any]) -> Mapping[str, Parameter] | None:
    return _read(function)


def _read(function: Callable[..., Any]) -> Mapping[str, Parameter] | None:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def first_name(function: Callable[..., Any]) -> str:
    """The name of the first parameter; "" where there is none or it cannot be told."""
    return next(iter(parameters_of(function) or ()), "")


def search_arguments(function: Callable[..., Any], query: str, top_k: int, context: Any = None) -> Arguments:
    """For (query, top_k), (query, k), (query), by position or name; `context` only where it is asked for."""
    parameters = parameters_of(function)
    if parameters is None:
        return (query, top_k), {}
    by_position = [each for each in parameters.values() if each.kind in _POSITIONAL]
    positional: tuple[Any, ...] = (query,) if by_position or _takes_more(parameters) else ()
    named: dict[str, Any] = {} if positional else {_keyword(parameters, QUERY_NAMES): query}
    count = next((name for name in COUNT_NAMES if _by_name(parameters, name)), None)
    if count is not None:
        named[count] = top_k
    elif len(by_position) > 1 and (by_position[1].name in COUNT_NAMES or by_position[1].default is Parameter.empty):
        positional = (query, top_k)
    elif any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values()):
        named["top_k"] = top_k
    if context is not None and _by_name(parameters, "context"):
        named["context"] = context
    return positional, named


def takes_messages(function: Callable[..., Any]) -> bool:
    """Whether its first parameter is for messages."""
    return first_name(function) in MESSAGES_NAMES


def prompt_arguments(function: Callable[..., Any], text: str, messages: Sequence[Mapping[str, str]]) -> Arguments:
    """One text, or the messages where the first parameter is named so; by name where it can be had in no other way."""
    parameters = parameters_of(function)
    if not parameters:
        return (text,), {}
    first = next(iter(parameters.values()))
    given: Any = list(messages) if first.name in MESSAGES_NAMES else text
    if first.kind in (*_POSITIONAL, Parameter.VAR_POSITIONAL):
        return (given,), {}
    name = _keyword(parameters, ("prompt", *MESSAGES_NAMES))
    return (), {name: list(messages) if name in MESSAGES_NAMES else text}


def _keyword(parameters: Mapping[str, Parameter], usual: Sequence[str]) -> str:
    """The name to pass something by: a usual one if there is one, else the first; the most usual for **anything."""
    named = [each.name for each in parameters.values() if each.kind in _BY_NAME]
    return next((name for name in usual if name in named), next(iter(named), usual[0]))


def _takes_more(parameters: Mapping[str, Parameter]) -> bool:
    return any(each.kind is Parameter.VAR_POSITIONAL for each in parameters.values())


def _by_name(parameters: Mapping[str, Parameter], name: str) -> bool:
    return name in parameters and parameters[name].kind in _BY_NAME

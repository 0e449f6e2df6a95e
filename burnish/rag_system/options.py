"""Which of the options that one would pass on somebody's function takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from burnish.adapters.signatures import parameters_of

_BY_NAME = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def accepted(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that the function takes by name; all, where it takes any or what it takes cannot be told."""
    parameters = parameters_of(function)
    if parameters is None or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values()):
        return dict(options)
    return {name: value for name, value in options.items() if name in parameters and parameters[name].kind in _BY_NAME}


def names(function: Callable[..., Any], name: str) -> bool:
    """Whether the function has a parameter of this very name."""
    return name in (parameters_of(function) or ())

"""Looking into values of which only the usual names are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

_MAPPINGS = (dict, Mapping)  # what most items are comes first: whether it is any other mapping takes longer to tell


def first_of(item: Any, names: Sequence[str], kind: Any = object) -> Any:
    """The first of these that a mapping holds or an object has, of the wanted kind; None where there is none."""
    held = cast("Mapping[str, Any]", item).get if isinstance(item, _MAPPINGS) else partial(_attribute, item)
    for name in names:
        value = held(name)
        if value is not None and isinstance(value, kind) and not callable(value):
            return value
    return None


def _attribute(item: Any, name: str) -> Any:
    return getattr(item, name, None)


def is_number(value: Any) -> bool:
    """Whether it is a number of any library's, NaN included; a boolean is none."""
    return hasattr(value, "__float__") and not isinstance(value, bool)


def read_number(value: Any) -> float | None:
    """A finite number from a number or a numeral; None for anything else."""
    if not is_number(value) and not isinstance(value, str):
        return None
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return number if math.isfinite(number) else None

"""JSON values as Postgres can keep them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from burnish.errors import InvalidInput
from burnish.text.normalise import clean

MAX_DEPTH = 32


def storable(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value with its texts cleaned: no NUL, no lone surrogate, no NaN, and nothing that JSON does not know.

    Raises InvalidInput where it nests deeper than `depth` levels.
    """
    if depth < 0:
        raise InvalidInput(f"objects and lists must not be nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return clean(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case None | bool() | int():
            return value
        case Mapping():
            items = cast("Mapping[Any, Any]", value).items()
            return {clean(str(key)): storable(inner, depth - 1) for key, inner in items}
        case list() | tuple():
            return [storable(inner, depth - 1) for inner in cast("Sequence[Any]", value)]
        case _:
            return clean(str(value))

"""Values as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def plain(value: Any) -> Any:
    """The value as JSON has it: None for a number that is none, and its text for what JSON has no form for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(held) for name, held in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(held) for held in cast("list[Any]", value)]
    return str(value)

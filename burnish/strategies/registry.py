"""The strategies by name."""

from __future__ import annotations

from burnish.effects import Strategy, Subquestion
from burnish.errors import InvalidInput
from burnish.strategies.auto import auto
from burnish.strategies.recursive import LEAVES, recursive

STRATEGY_NAMES = ("direct", "self_irag", "hyde", "recursive", "self_rag", "multi_hop", "auto")


def begin(asked: Subquestion) -> Strategy:
    """The strategy that was asked for, ready to run. Raises InvalidInput for a name that is not known."""
    match check_strategy(asked.strategy):
        case "recursive":
            return recursive(asked.question, asked.config, asked.depth, asked.ancestors)
        case "auto":
            return auto(asked.question, asked.config, asked.depth, asked.ancestors)
        case leaf:
            return LEAVES[leaf](asked.question, asked.config)


def check_strategy(name: str) -> str:
    """The name itself, if there is such a strategy."""
    if name not in STRATEGY_NAMES:
        raise InvalidInput(f"unknown strategy {name!r}; choose one of {', '.join(STRATEGY_NAMES)}")
    return name

"""The strategies by name."""

from __future__ import annotations

from burnish.effects import Strategy, Subquestion
from burnish.errors import InvalidInput
from burnish.strategies.direct import direct
from burnish.strategies.hyde import hyde
from burnish.strategies.recursive import recursive
from burnish.strategies.self_irag import self_irag

STRATEGY_NAMES = ("direct", "self_irag", "hyde", "recursive")


def begin(asked: Subquestion) -> Strategy:
    """The strategy that was asked for, ready to run. Raises InvalidInput for a name that is not known."""
    match check_strategy(asked.strategy):
        case "direct":
            return direct(asked.question, asked.config)
        case "self_irag":
            return self_irag(asked.question, asked.config)
        case "hyde":
            return hyde(asked.question, asked.config)
        case _:
            return recursive(asked.question, asked.config, asked.depth, asked.ancestors)


def check_strategy(name: str) -> str:
    """The name itself, if there is such a strategy."""
    if name not in STRATEGY_NAMES:
        raise InvalidInput(f"unknown strategy {name!r}; choose one of {', '.join(STRATEGY_NAMES)}")
    return name

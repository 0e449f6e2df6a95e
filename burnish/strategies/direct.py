"""Retrieve once, answer once."""

from __future__ import annotations

from burnish.config import StrategyConfig
from burnish.effects import Strategy
from burnish.strategies.evidence import answer_from, find


def direct(question: str, config: StrategyConfig) -> Strategy:
    """Answer from the passages that the question itself finds.

    Takes no call where nothing is found and one for an answer, two if the first cannot be read; one retrieval.
    """
    passages = yield from find(question, config)
    return (yield from answer_from(question, passages, config))

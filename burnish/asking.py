"""Ask one question in memory, with a retriever and a language model of your own: no database, no queue.

A retriever is any object with `retrieve(query, top_k)`, and gives what it found, best first, in any of the usual shapes
(`burnish.adapters.passages` lists them). A language model is any object with `generate(prompt)` that gives a text, or a
plain function. Where they also have `aretrieve` or `agenerate`, coroutines of the same form, `aquery` awaits those;
otherwise it calls the plain ones in threads. A model whose first parameter is named `messages` is given messages. Any
other is given one text: what a chat model would get as its system message, the JSON schema of the wanted reply where
there is one, and the user's message.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from burnish.adapters.backends import Backend
from burnish.adapters.calling import Caller, threads
from burnish.adapters.models import Model
from burnish.adapters.performing import Limits, Performer
from burnish.adapters.retries import Retries
from burnish.config import StrategyConfig
from burnish.effects import Subquestion
from burnish.engine import arun, run_to_end
from burnish.errors import BudgetExceeded, EffectFailed, InvalidInput
from burnish.prompts import wording
from burnish.results import Answer, Outcome, Passage
from burnish.strategies.registry import begin, check_strategy

logger = logging.getLogger(__name__)

THREADS = 16


class Retriever(Protocol):
    """The plainest retriever."""

    def retrieve(self, query: str, top_k: int) -> Sequence[Passage]: ...


class LanguageModel(Protocol):
    """The plainest language model."""

    def generate(self, prompt: str) -> str: ...


def query(
    question: str,
    *,
    strategy: str = "self_irag",
    retriever: Retriever | Any,
    language_model: LanguageModel | Any,
    config: StrategyConfig | None = None,
    journal: dict[str, Any] | None = None,
) -> Answer:
    """The answer to a question by one of the strategies in `burnish.strategies.registry`.

    It does not raise for what goes wrong on the way: where the retriever or the model fails and the strategy cannot
    go on without it, the answer's outcome is `failed`, and the log has the reason. `max_calls` of the config caps
    the calls of the model. A `journal`, a dict kept by the caller, holds every reply: given again with the same
    question after a failure, nothing that succeeded is done again.

    Raises InvalidInput for an empty question, an unknown strategy, or objects that lack their method.
    """
    asked = asked_for(question, strategy, config or StrategyConfig())
    objects = Backend(retriever), Model(language_model)
    with threads(THREADS) as pool:
        return run_to_end(_answer(asked, *objects, Caller(pool, blocking=True), journal))


async def aquery(
    question: str,
    *,
    strategy: str = "self_irag",
    retriever: Retriever | Any,
    language_model: LanguageModel | Any,
    config: StrategyConfig | None = None,
    journal: dict[str, Any] | None = None,
) -> Answer:
    """As `query`, on the caller's event loop: calls that do not need each other are in flight together."""
    asked = asked_for(question, strategy, config or StrategyConfig())
    objects = Backend(retriever), Model(language_model)
    with threads(THREADS) as pool:
        return await _answer(asked, *objects, Caller(pool, blocking=False), journal)


def asked_for(question: Any, strategy: str, config: StrategyConfig, depth: int = 0) -> Subquestion:
    """The question as a run to be begun. Raises InvalidInput for an empty one and for an unknown strategy."""
    if not isinstance(question, str) or not question.strip():
        raise InvalidInput("the question must be a text that is not empty")
    return Subquestion(question, check_strategy(strategy), config, depth)


def without_answer(question: str, failure: EffectFailed | BudgetExceeded | TimeoutError) -> Answer:
    """What a question comes to that broke off: why, in its own language and without anybody's error text."""
    logger.warning("no answer: %s", type(failure).__name__, exc_info=failure)
    text = wording.FAILED[wording.language_of(question)]
    outcome = Outcome.FAILED
    if isinstance(failure, BudgetExceeded | TimeoutError):
        outcome = Outcome.BUDGET_EXCEEDED if isinstance(failure, BudgetExceeded) else Outcome.EXPIRED
    return Answer(text, outcome, trace={"stopped_by": type(failure).__name__})


async def _answer(
    asked: Subquestion, backend: Backend, model: Model, caller: Caller, journal: dict[str, Any] | None
) -> Answer:
    limits = Limits(asked.config.max_calls, asked.config.max_cost_usd)
    performer = Performer(backend, model, caller, limits, Retries())
    try:
        return await arun(asked, begin, performer.perform, journal=journal)
    except (EffectFailed, BudgetExceeded) as failure:
        return without_answer(asked.question, failure)

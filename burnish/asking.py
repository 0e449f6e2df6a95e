"""Ask one question in memory, with a retriever and a language model of your own: no database, no queue.

A retriever is any object with `retrieve(query, top_k)` that gives Passages, best first. A language model is any object
with `generate(prompt)` that gives a text. Where they also have `aretrieve` or `agenerate`, coroutines of the same form,
`aquery` awaits those; otherwise it calls the plain ones in threads. Models are given one text: what a chat model would
get as its system message, the user's message, and the JSON schema of the wanted reply where there is one.

Several queries (HyDE's) are searched one by one and merged by reciprocal rank fusion, the question's own best hits
keeping a seat. HyDE's mode "mean" averages vectors, which a retriever of this form does not show: it is merged so too.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from burnish.config import StrategyConfig
from burnish.effects import Ask, Prompt, Reply, Retrieve, Subquestion
from burnish.engine import arun, run
from burnish.errors import BudgetExceeded, EffectFailed, InvalidInput, LanguageModelFailed, RetrievalFailed
from burnish.prompts import wording
from burnish.results import Answer, Outcome, Passage
from burnish.strategies.registry import begin, check_strategy
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion
from burnish.text.normalise import text_hash

logger = logging.getLogger(__name__)

OWN_SEATS = 2


class Retriever(Protocol):
    def retrieve(self, query: str, top_k: int) -> Sequence[Passage]: ...


class LanguageModel(Protocol):
    def generate(self, prompt: str) -> str: ...


def query(
    question: str,
    *,
    strategy: str = "self_irag",
    retriever: Retriever,
    language_model: LanguageModel,
    config: StrategyConfig | None = None,
    journal: dict[str, Any] | None = None,
) -> Answer:
    """The answer to a question by "direct", "self_irag", "hyde" or "recursive".

    It does not raise for what goes wrong on the way: where the retriever or the model fails and the strategy cannot
    go on without it, the answer's outcome is `failed`, and the log has the reason. `max_calls` of the config caps
    the calls of the model. A `journal`, a dict kept by the caller, holds every reply: given again with the same
    question after a failure, nothing that succeeded is done again.

    Raises InvalidInput for an empty question, an unknown strategy, or objects that lack their method.
    """
    asked = _asked(question, strategy, config)
    world = _World(retriever, language_model, asked.config.max_calls)
    try:
        return run(asked, begin, world.perform, journal=journal)
    except (EffectFailed, BudgetExceeded) as failure:
        return _without_answer(question, failure)


async def aquery(
    question: str,
    *,
    strategy: str = "self_irag",
    retriever: Retriever,
    language_model: LanguageModel,
    config: StrategyConfig | None = None,
    journal: dict[str, Any] | None = None,
) -> Answer:
    """As `query`, on the caller's event loop: calls that do not need each other are in flight together."""
    asked = _asked(question, strategy, config)
    world = _World(retriever, language_model, asked.config.max_calls)
    try:
        return await arun(asked, begin, world.aperform, journal=journal)
    except (EffectFailed, BudgetExceeded) as failure:
        return _without_answer(question, failure)


def _asked(question: Any, strategy: str, config: StrategyConfig | None) -> Subquestion:
    if not isinstance(question, str) or not question.strip():
        raise InvalidInput("the question must be a text that is not empty")
    return Subquestion(question, check_strategy(strategy), config or StrategyConfig(), depth=0)


def _without_answer(question: str, failure: EffectFailed | BudgetExceeded) -> Answer:
    logger.warning("no answer: %s", type(failure).__name__, exc_info=failure)
    text = wording.FAILED[wording.language_of(question)]
    outcome = Outcome.BUDGET_EXCEEDED if isinstance(failure, BudgetExceeded) else Outcome.FAILED
    return Answer(text, outcome, trace={"stopped_by": type(failure).__name__})


class _World:
    """Performs effects with the caller's objects, and counts the calls."""

    def __init__(self, retriever: Retriever, language_model: LanguageModel, max_calls: int) -> None:
        self._retrieve = _method(retriever, "retrieve")
        self._generate = _method(language_model, "generate")
        self._aretrieve = getattr(retriever, "aretrieve", None) or _in_thread(self._retrieve)
        self._agenerate = getattr(language_model, "agenerate", None) or _in_thread(self._generate)
        self._max_calls = max_calls
        self._calls = 0

    def perform(self, effect: Retrieve | Ask) -> Any:
        if isinstance(effect, Retrieve):
            return _merged(effect, [self._search(query.text, effect.top_k) for query in effect.queries])
        self._count_call()
        try:
            return _reply(self._generate(as_text(effect.prompt)))
        except Exception as error:
            raise _failed("generate", error, LanguageModelFailed) from error

    async def aperform(self, effect: Retrieve | Ask) -> Any:
        if isinstance(effect, Retrieve):
            searches = (self._asearch(query.text, effect.top_k) for query in effect.queries)
            return _merged(effect, await asyncio.gather(*searches))
        self._count_call()
        try:
            return _reply(await self._agenerate(as_text(effect.prompt)))
        except Exception as error:
            raise _failed("generate", error, LanguageModelFailed) from error

    def _search(self, text: str, top_k: int) -> list[Passage]:
        try:
            return _passages(self._retrieve(text, top_k))
        except Exception as error:
            raise _failed("retrieve", error, RetrievalFailed) from error

    async def _asearch(self, text: str, top_k: int) -> list[Passage]:
        try:
            return _passages(await self._aretrieve(text, top_k))
        except Exception as error:
            raise _failed("retrieve", error, RetrievalFailed) from error

    def _count_call(self) -> None:
        if self._calls >= self._max_calls:
            raise BudgetExceeded(f"the question reached its cap of {self._max_calls} calls")
        self._calls += 1


def as_text(prompt: Prompt) -> str:
    """A prompt for a model that takes one text."""
    schema = f"Reply with one JSON object of this schema: {json.dumps(prompt.schema)}" if prompt.schema else ""
    return "\n\n".join(filter(None, (prompt.system, schema, prompt.user)))


def _method(owner: Any, name: str) -> Callable[..., Any]:
    method = getattr(owner, name, None)
    if not callable(method):
        raise InvalidInput(f"{type(owner).__name__} has no method {name!r}")
    return cast("Callable[..., Any]", method)


def _in_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: asyncio.to_thread(method, *arguments)


def _failed(what: str, error: Exception, kind: type[EffectFailed]) -> EffectFailed:
    # The message goes into records: what the caller's code wrote may hold a key, its type does not.
    return error if isinstance(error, EffectFailed) else kind(f"{what} raised {type(error).__name__}")


def _reply(text: Any) -> Reply:
    if not isinstance(text, str):
        raise LanguageModelFailed(f"generate must give a text, not {type(text).__name__}")
    return Reply(text)


def _passages(found: Any) -> list[Passage]:
    passages = list(found)
    for item in passages:
        if not isinstance(item, Passage):
            raise RetrievalFailed(f"retrieve must give Passages, not {type(item).__name__}")
    return passages


def _merged(request: Retrieve, found: Sequence[Sequence[Passage]]) -> tuple[Passage, ...]:
    """The rankings of all queries as one, texts that repeat once."""
    by_text = {text_hash(passage.text): passage for ranking in reversed(found) for passage in reversed(ranking)}
    rankings = [[text_hash(passage.text) for passage in ranking[: request.top_k]] for ranking in found]
    paired = zip(request.queries, rankings, strict=True)
    own: Sequence[str] = next((ranking for query, ranking in paired if query.role == "question"), ())
    fused = keep_seat(reciprocal_rank_fusion(rankings), own, OWN_SEATS, request.limit)
    return tuple(by_text[key] for key, _ in fused)

"""Performing what a strategy asks for with somebody's objects, in memory.

Several queries (HyDE's) are searched one by one and merged by reciprocal rank fusion, the question's own best hits
keeping a seat; one that fails is left out, as long as another does not. HyDE's mode "mean" averages vectors, which a
retriever of this form does not show: it is merged so too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from burnish.adapters.backends import Backend
from burnish.adapters.calling import Caller
from burnish.adapters.gates import Gate
from burnish.adapters.models import Model
from burnish.adapters.replies import MeteredReply
from burnish.adapters.retries import Retries
from burnish.effects import Ask, Prompt, Retrieve, SearchQuery
from burnish.errors import BudgetExceeded, RetrievalFailed
from burnish.results import Passage
from burnish.text.fusion import keep_seat, reciprocal_rank_fusion
from burnish.text.normalise import text_hash

logger = logging.getLogger(__name__)

OWN_SEATS = 2


@dataclass(frozen=True)
class Limits:
    """max_calls, max_cost_usd: of the whole question. gates: each lets so many calls of the model through at once."""

    max_calls: int
    max_cost_usd: float | None = None
    gates: tuple[Gate, ...] = ()


class Performer:
    """Performs the effects of one question, within its limits. `found` counts the distinct texts that it has seen."""

    def __init__(
        self, backend: Backend, model: Model, caller: Caller, limits: Limits, retries: Retries, context: Any = None
    ) -> None:
        self._backend = backend
        self._model = model
        self._caller = caller
        self._limits = limits
        self._retries = retries
        self._context = context
        self._calls = 0
        self._cost_usd = 0.0
        self._seen: set[str] = set()

    @property
    def found(self) -> int:
        return len(self._seen)

    async def perform(self, effect: Retrieve | Ask) -> Any:
        """The reply. Raises EffectFailed, and BudgetExceeded in place of a call that the limits do not allow."""
        return await (self._search(effect) if isinstance(effect, Retrieve) else self._ask(effect.prompt))

    async def _search(self, effect: Retrieve) -> tuple[Passage, ...]:
        if len(effect.queries) == 1:
            found = [await self._search_with(effect.queries[0], effect.top_k)]
        else:
            searches = (self._search_with(query, effect.top_k) for query in effect.queries)
            found = _without_failures(await asyncio.gather(*searches, return_exceptions=True))
        self._seen.update(*found)
        return merged(effect, found)

    async def _search_with(self, query: SearchQuery, top_k: int) -> dict[str, Passage]:
        return by_text(await self._backend.search(query.text, top_k, self._context, self._caller))

    async def _ask(self, prompt: Prompt) -> MeteredReply:
        self._spend_a_call()
        reply, tries = await self._retries.persist(lambda: self._attempt(prompt))
        self._cost_usd += reply.cost_usd or 0.0
        return replace(reply, tries=tries)

    async def _attempt(self, prompt: Prompt) -> MeteredReply:
        async with AsyncExitStack() as gates:
            for gate in self._limits.gates:
                await gates.enter_async_context(gate)
            return await self._model.reply(prompt, self._caller)

    def _spend_a_call(self) -> None:
        limits = self._limits
        if self._calls >= limits.max_calls:
            raise BudgetExceeded(f"the question reached its cap of {limits.max_calls} calls")
        if limits.max_cost_usd is not None and self._cost_usd >= limits.max_cost_usd:
            raise BudgetExceeded(f"the question reached its cap of {limits.max_cost_usd} US dollars")
        self._calls += 1


def _without_failures(found: Sequence[dict[str, Passage] | BaseException]) -> list[dict[str, Passage]]:
    """Nothing in the place of a search that failed. Raises the failure where there is nothing else."""
    kept = [{} if isinstance(ranking, RetrievalFailed) else ranking for ranking in found]
    for failure in (failure for failure in found if isinstance(failure, BaseException)):
        if failure in kept or all(isinstance(ranking, BaseException) for ranking in found):
            raise failure
        logger.warning("one of %d searches is left out: %s", len(found), failure)
    return [ranking for ranking in kept if isinstance(ranking, dict)]


def by_text(ranking: Sequence[Passage]) -> dict[str, Passage]:
    """The passages by their texts' hashes, in their order; of equal texts the first."""
    found: dict[str, Passage] = {}
    for passage in ranking:
        found.setdefault(text_hash(passage.text), passage)
    return found


def merged(request: Retrieve, found: Sequence[Mapping[str, Passage]]) -> tuple[Passage, ...]:
    """The rankings of all queries, each `by_text`, as one."""
    if len(found) == 1:
        return tuple(found[0].values())[: request.limit]
    passages = {key: passage for ranking in reversed(found) for key, passage in ranking.items()}
    paired = zip(request.queries, found, strict=True)
    own: Sequence[str] = next((list(ranking) for query, ranking in paired if query.role == "question"), ())
    fused = keep_seat(reciprocal_rank_fusion([list(ranking) for ranking in found]), own, OWN_SEATS, request.limit)
    return tuple(passages[key] for key, _ in fused)

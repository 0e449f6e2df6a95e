"""Language models through LiteLLM: any provider, any OpenAI-compatible server."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from burnish.effects import Ask, Reply
from burnish.results import Call
from burnish.text.normalise import clean
from burnish.world.gate import Gate
from burnish.world.loop import LoopThread
from burnish.world.providers import ModelOptions, OptionRefused, completion, known_cost, persist, request_to, warm_up

logger = logging.getLogger(__name__)

TOP_CHOICES = 10
SLOT_GRACE_SECONDS = 10.0


class LanguageModel:
    """Answers `Ask`s, no more at a time than the gate lets through."""

    def __init__(self, options: ModelOptions, gate: Gate, loop: LoopThread) -> None:
        self.options = options
        self._gate = gate
        self._loop = loop
        self._structured = options.structured

    def warm_up(self) -> None:
        warm_up()

    def complete(self, ask: Ask, lane: str) -> tuple[Reply, Call]:
        """The model's reply and what it took. Raises LanguageModelFailed once trying again is of no use."""
        return self._loop.run(self.acomplete(ask, lane))

    async def acomplete(self, ask: Ask, lane: str) -> tuple[Reply, Call]:
        try:
            request, response, seconds, tries = await self._send(self._request(ask, self._structured), lane)
        except OptionRefused:
            request, response, seconds, tries = await self._send(self._request(ask, structured=False), lane)
            logger.info("%s takes no JSON schema; asking without from now on", self.options.model)
            self._structured = False
        return self._reply(ask, response), self._call(request, response, seconds, tries)

    async def _send(self, request: dict[str, Any], lane: str) -> tuple[dict[str, Any], Any, float, int]:
        """The request, its response, the seconds the last try took, and how many tries there were."""

        async def call() -> tuple[Any, float]:
            async with self._gate.slot(lane, self.options.timeout + SLOT_GRACE_SECONDS):
                started = time.monotonic()
                response = await completion(request)
                return response, time.monotonic() - started

        (response, seconds), tries = await persist(call, self.options, has_option="response_format" in request)
        return request, response, seconds, tries

    def _request(self, ask: Ask, structured: bool) -> dict[str, Any]:
        prompt = ask.prompt
        request = request_to(self.options) | {
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.max_tokens,
            "temperature": ask.temperature,
            "drop_params": True,
        }
        if ask.seed is not None:
            request |= {"seed": ask.seed}
        if prompt.choices and self.options.probabilities:
            request |= {"logprobs": True, "top_logprobs": TOP_CHOICES}
        if prompt.schema is not None and structured:
            json_schema = {"name": prompt.kind, "schema": dict(prompt.schema), "strict": True}
            request |= {"response_format": {"type": "json_schema", "json_schema": json_schema}}
        return request

    def _reply(self, ask: Ask, response: Any) -> Reply:
        choice = response.choices[0]
        text = clean(choice.message.content or "")
        return Reply(text, _probabilities(choice, ask.prompt.choices), choice.finish_reason == "length")

    def _call(self, request: Mapping[str, Any], response: Any, seconds: float, tries: int) -> Call:
        choice, usage = response.choices[0], response.usage
        sent = ("max_tokens", "temperature", "seed", "logprobs")
        return Call(
            model=self.options.model,
            request={name: request[name] for name in sent if name in request}
            | {"structured": "response_format" in request},
            reply={"text": clean(choice.message.content or ""), "finish_reason": choice.finish_reason},
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost_usd=self._cost(response),
            latency_ms=round(seconds * 1000),
            tries=tries,
        )

    def _cost(self, response: Any) -> float | None:
        options, usage = self.options, response.usage
        if options.price_in is not None and options.price_out is not None:
            return (usage.prompt_tokens * options.price_in + usage.completion_tokens * options.price_out) / 1e6
        return known_cost(options.model, usage.prompt_tokens, usage.completion_tokens)


def _probabilities(choice: Any, choices: Sequence[str]) -> dict[str, float]:
    """The probability of each choice at the first token, its spellings ("Yes", " yes") added up."""
    logprobs = getattr(choice, "logprobs", None)
    content = getattr(logprobs, "content", None) if choices else None
    if not content:
        return {}
    found = dict.fromkeys(choices, 0.0)
    for candidate in content[0].top_logprobs or ():
        word = candidate.token.strip().lower()
        if word in found:
            found[word] += math.exp(candidate.logprob)
    return found if any(found.values()) else {}

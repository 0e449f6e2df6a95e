"""Language and embedding models through LiteLLM. The only file that imports it.

Importing LiteLLM takes seconds and 200 MB, so it is done at the first call. Its own retries multiply and hide the
error, so they are off and ours are used (`retries`). All calls of a process run on one event loop.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import os
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from burnish.effects import Ask, Reply
from burnish.results import Call
from burnish.text.normalise import clean
from burnish.world.embeddings import Role, Vectors, check_dimension
from burnish.world.gate import Gate
from burnish.world.grouped import Grouped
from burnish.world.loop import LoopThread
from burnish.world.retries import failure_of, pause_before

T = TypeVar("T")

logger = logging.getLogger(__name__)

TOP_CHOICES = 10
QUESTIONS_REMEMBERED = 4_096
QUESTIONS_TOGETHER = 64
SLOT_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class ModelOptions:
    """Which model, where, and how it may be called.

    model: as LiteLLM names it ("openai/gpt-4.1-mini", "anthropic/...", "ollama/..."; "openai/<any>" with `url`).
    timeout: seconds for one try. price_in, price_out: US dollars per million tokens, where LiteLLM's are not wanted.
    structured: send JSON schemas. probabilities: ask for log-probabilities of one-token replies.
    """

    model: str
    url: str | None = None
    key: str | None = None
    timeout: float = 120.0
    retries: int = 4
    structured: bool = True
    probabilities: bool = True
    price_in: float | None = None
    price_out: float | None = None


@lru_cache(maxsize=1)
def _litellm() -> Any:
    # Without it the import fetches a price list from the network and waits for it.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    module = cast("Any", litellm)
    module.suppress_debug_info = True
    module.telemetry = False
    # It declares every vector a list of numbers, and would warn of each that came packed.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    return module


class _OptionRefused(Exception):
    """The server may take the request without the option that not all servers know."""


class LanguageModel:
    """Answers `Ask`s, no more at a time than the gate lets through."""

    def __init__(self, options: ModelOptions, gate: Gate, loop: LoopThread) -> None:
        self.options = options
        self._gate = gate
        self._loop = loop
        self._structured = options.structured

    def warm_up(self) -> None:
        _litellm()

    def complete(self, ask: Ask, lane: str) -> tuple[Reply, Call]:
        """The model's reply and what it took. Raises LanguageModelFailed once trying again is of no use."""
        return self._loop.run(self.acomplete(ask, lane))

    async def acomplete(self, ask: Ask, lane: str) -> tuple[Reply, Call]:
        try:
            request, response, seconds, tries = await self._send(self._request(ask, self._structured), lane)
        except _OptionRefused:
            request, response, seconds, tries = await self._send(self._request(ask, structured=False), lane)
            logger.info("%s takes no JSON schema; asking without from now on", self.options.model)
            self._structured = False
        return self._reply(ask, response), self._call(request, response, seconds, tries)

    async def _send(self, request: dict[str, Any], lane: str) -> tuple[dict[str, Any], Any, float, int]:
        """The request, its response, the seconds the last try took, and how many tries there were."""

        async def call() -> tuple[Any, float]:
            async with self._gate.slot(lane, self.options.timeout + SLOT_GRACE_SECONDS):
                _make_known(self.options.model, "chat")
                started = time.monotonic()
                response = await _litellm().acompletion(**request)
                return response, time.monotonic() - started

        (response, seconds), tries = await _persist(call, self.options, has_option="response_format" in request)
        return request, response, seconds, tries

    def _request(self, ask: Ask, structured: bool) -> dict[str, Any]:
        prompt = ask.prompt
        request: dict[str, Any] = {
            "model": self.options.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.max_tokens,
            "temperature": ask.temperature,
            "timeout": self.options.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
        }
        if self.options.url:
            request |= {"api_base": self.options.url}
        if self.options.key:
            request |= {"api_key": self.options.key}
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
        return _known_cost(options.model, usage.prompt_tokens, usage.completion_tokens)


async def _persist(call: Callable[[], Awaitable[T]], options: ModelOptions, *, has_option: bool) -> tuple[T, int]:
    """What the call returns, and at which try.

    has_option: the request holds something that not all servers take; a 400 raises _OptionRefused then.
    """
    tries = 1
    while True:
        try:
            return await call(), tries
        except Exception as error:
            if has_option and type(error).__name__ == "BadRequestError":
                raise _OptionRefused from None
            await _wait_or_raise(error, options, tries)
        tries += 1


async def _wait_or_raise(error: Exception, options: ModelOptions, tries: int) -> None:
    """Wait until the call may be sent again, or raise what it failed with."""
    failure = failure_of(error)
    pause = pause_before(tries, failure, options.retries)
    if pause is None:
        final = failure.as_error(options.model)
        logger.warning("call failed after %d tries: %s", tries, final)
        raise final from None
    await asyncio.sleep(pause)


def _known_cost(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    price = _price_of(model)
    return None if price is None else prompt_tokens * price[0] + completion_tokens * price[1]


@lru_cache(maxsize=256)
def _price_of(model: str) -> tuple[float, float] | None:
    """US dollars for one prompt token and one completion token; None where LiteLLM does not know the model."""
    try:
        million = 1_000_000
        cost = _litellm().cost_per_token(model=model, prompt_tokens=million, completion_tokens=million)
    except Exception:  # litellm raises a bare Exception for a model that it has no price of
        return None
    return cost[0] / million, cost[1] / million


@lru_cache(maxsize=256)
def _make_known(model: str, mode: str) -> None:
    """Enter a model that LiteLLM has no price of in its list, or it searches the list anew at every call."""
    if _price_of(model) is None:
        entry = {"mode": mode, "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        try:
            entry["litellm_provider"] = _litellm().get_llm_provider(model)[1]
        except Exception:  # an unknown provider: the call itself will say so
            return
        _litellm().register_model({model: entry})


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


class RemoteEmbedder:
    """An embedding model through LiteLLM, for any provider or any OpenAI-compatible server."""

    def __init__(
        self, options: ModelOptions, dimension: int, languages: frozenset[str] | None, loop: LoopThread
    ) -> None:
        self.model = options.model
        self.dimension = dimension
        self.languages = languages
        self._options = options
        self._loop = loop
        # Sub-questions and refined queries come back; a vector costs a call.
        self._question = lru_cache(maxsize=QUESTIONS_REMEMBERED)(self._embed_question)
        self._grouped: Grouped[str, Vectors] = Grouped(self._embed_each, most=QUESTIONS_TOGETHER)
        # As numbers, the client reads a vector ten times as slowly. Only OpenAI's own protocol has the other form.
        self._packed = options.model.startswith("openai/")

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """See Embedder. These models have one kind of input; of questions, a process remembers the latest."""
        import numpy as np

        if role == "question" and texts:
            return np.stack([self._question(text) for text in texts])
        return self._loop.run(self._embed(list(texts)))

    def _embed_question(self, text: str) -> Vectors:
        return self._loop.run(self._grouped.ask(text))

    async def _embed_each(self, texts: list[str]) -> list[Vectors]:
        return list(await self._embed(texts))

    async def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        try:
            response = await self._send(texts, packed=self._packed)
        except _OptionRefused:
            response = await self._send(texts, packed=False)
            self._packed = False
        vectors = np.asarray([_numbers(item["embedding"]) for item in response.data], dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return check_dimension(unit, len(texts), self)

    async def _send(self, texts: list[str], *, packed: bool) -> Any:
        _make_known(self.model, "embedding")
        request = self._request(texts, packed=packed)
        response, _ = await _persist(lambda: _litellm().aembedding(**request), self._options, has_option=packed)
        return response

    def _request(self, texts: list[str], *, packed: bool) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "input": texts, "timeout": self._options.timeout}
        request |= {"max_retries": 0, "num_retries": 0, "encoding_format": "base64" if packed else "float"}
        if self._options.url:
            request |= {"api_base": self._options.url}
        if self._options.key:
            request |= {"api_key": self._options.key}
        return request


def _numbers(embedding: str | Sequence[float]) -> Any:
    """One vector as it was received: numbers, or little-endian 32-bit floats in base 64."""
    import numpy as np

    return np.frombuffer(base64.b64decode(embedding), dtype="<f4") if isinstance(embedding, str) else embedding

"""What completions and vectors share of LiteLLM. The only file that imports it.

Importing LiteLLM takes seconds and 200 MB, so it is done at the first call. Its own retries multiply and hide the
error, so they are off and ours are used (`retries`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from burnish.world.retries import failure_of, pause_before

T = TypeVar("T")

logger = logging.getLogger(__name__)


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
    import litellm as library

    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    module = cast("Any", library)
    module.suppress_debug_info = True
    module.telemetry = False
    # After each call it works out a price and headers that nobody here reads, for a fifth of what the call costs.
    module.utils.update_response_metadata = _nothing
    # It declares every vector a list of numbers, and would warn of each that came packed.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    return module


def _nothing(**_: object) -> None:
    pass


def warm_up() -> None:
    """Import what the first call would wait for."""
    _litellm()


def request_to(options: ModelOptions) -> dict[str, Any]:
    """What every request to this model says."""
    request: dict[str, Any] = {"model": options.model, "timeout": options.timeout, "num_retries": 0, "max_retries": 0}
    if options.url:
        request |= {"api_base": options.url}
    if key := options.key or _no_key(options):
        request |= {"api_key": key}
    return request


def _no_key(options: ModelOptions) -> str | None:
    """OpenAI's client refuses to go without a key, and else takes the one for OpenAI, not meant for other servers."""
    return "none" if options.url and options.model.startswith("openai/") else None


async def completion(request: dict[str, Any]) -> Any:
    _make_known(request["model"], "chat")
    with _unlogged()():
        return await _litellm().acompletion(**request)


async def embedding(request: dict[str, Any]) -> Any:
    _make_known(request["model"], "embedding")
    with _unlogged()():
        return await _litellm().aembedding(**request)


@lru_cache(maxsize=1)
def _unlogged() -> Callable[[], AbstractContextManager[None]]:
    """A block in which LiteLLM keeps no log: the journal has every call, and its log takes a fifth of one's time."""
    try:
        from litellm._internal_context import internal_sub_call
    except ImportError:  # not in every version
        return nullcontext
    return internal_sub_call


class OptionRefused(Exception):
    """The server may take the request without the option that not all servers know."""


async def persist(call: Callable[[], Awaitable[T]], options: ModelOptions, *, has_option: bool) -> tuple[T, int]:
    """What the call returns, and at which try.

    has_option: the request holds something that not all servers take; a 400 raises OptionRefused then.
    """
    tries = 1
    while True:
        try:
            return await call(), tries
        except Exception as error:
            if has_option and type(error).__name__ == "BadRequestError":
                raise OptionRefused from None
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


def known_cost(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """US dollars for these tokens; None where LiteLLM does not know the model's price."""
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

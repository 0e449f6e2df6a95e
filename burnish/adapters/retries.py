"""When to call somebody's language model again, and after how long.

Only what may pass is tried again. A status tells: 408, 409, 425, 429 and 500 upwards may pass, other errors of the
caller's do not. Without one the kind of exception tells: a fault in code (TypeError, ValueError, ...), a missing file
or permission, and whatever calls itself a matter of authentication or of a bad request will fail again in the same way.
All the rest, timeouts and broken connections above all, may pass.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from burnish.adapters.reading import read_number
from burnish.errors import (
    EffectFailed,
    InvalidInput,
    LanguageModelFailed,
    LanguageModelRefused,
    LanguageModelUnavailable,
)

T = TypeVar("T")

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
LONGEST_PAUSE_SECONDS = 30.0
LONGEST_RETRY_AFTER_SECONDS = 120.0
MOST_RETRIES = 20
_FAULTS = (
    *(TypeError, ValueError, LookupError, AttributeError, NameError, ArithmeticError, AssertionError, ImportError),
    *(NotImplementedError, PermissionError, FileNotFoundError),
)
_PERMANENT_NAME = re.compile(
    "auth|permission|forbidden|denied|badrequest|invalid|notfound|contextwindow|contentpolicy|unprocessable",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Retries:
    """retries: tries after the first. backoff: seconds before the first of them, doubled for each one that follows."""

    retries: int = 0
    backoff: float = 0.5
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep

    def __post_init__(self) -> None:
        is_count = isinstance(self.retries, int) and not isinstance(self.retries, bool)  # pyright: ignore[reportUnnecessaryIsInstance] it comes from outside
        if not is_count or not 0 <= self.retries <= MOST_RETRIES:
            raise InvalidInput(f"llm_retries must be a whole number between 0 and {MOST_RETRIES}")
        if not self.backoff >= 0:
            raise InvalidInput("backoff must be a number of seconds, 0 or more")

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> tuple[T, int]:
        """What the attempt returns, and how many it took. Raises LanguageModelFailed once trying is of no more use."""
        tries = 1
        while True:
            try:
                return await attempt(), tries
            except Exception as error:
                pause = self._pause_after(error, tries)
                if pause is None:
                    raise _final(error, tries) from _cause(error)
            await self.sleep(pause)
            tries += 1

    def _pause_after(self, error: Exception, tries: int) -> float | None:
        """Seconds to wait before the next try; None where there should be none.

        Exponential, with jitter, so that many callers do not return at once. A `Retry-After` is honoured.
        """
        after = retry_after_of(error)
        if tries > self.retries or not is_transient(error) or (after or 0) > LONGEST_RETRY_AFTER_SECONDS:
            return None
        ceiling = min(LONGEST_PAUSE_SECONDS, self.backoff * 2 ** (tries - 1))
        return (after or 0) + random.uniform(ceiling / 2, ceiling)


def is_transient(error: Exception) -> bool:
    if isinstance(error, EffectFailed):
        return error.retryable
    status = status_of(error)
    if status is not None:
        return may_pass_by_status(status)
    names = " ".join(kind.__name__ for kind in type(error).__mro__ if kind.__module__ != "builtins")
    return not isinstance(error, _FAULTS) and not _PERMANENT_NAME.search(names)


def may_pass_by_status(status: int) -> bool:
    return status in RETRYABLE_STATUS or status >= 500


def status_of(error: Exception) -> int | None:
    """The HTTP status that the error carries, under any of the usual names."""
    response = getattr(error, "response", None)
    held = [getattr(error, name, None) for name in ("status_code", "status", "code", "http_status")]
    found = (*held, getattr(response, "status_code", None))
    return next((value for value in found if isinstance(value, int) and 100 <= value <= 599), None)


def retry_after_of(error: Exception) -> float | None:
    """Seconds that the server asked to wait."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    names = cast("Mapping[str, Any]", headers)
    return seconds_until(names.get("retry-after", names.get("Retry-After")))


def seconds_until(retry_after: Any) -> float | None:
    """What a `Retry-After` asks to wait, told in seconds or as a date (RFC 9110, section 10.2.3); None if neither."""
    seconds = read_number(retry_after)
    if seconds is None and isinstance(retry_after, str):
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except ValueError:
            return None
    return None if seconds is None else max(seconds, 0.0)


def _final(error: Exception, tries: int) -> LanguageModelFailed:
    # The message goes into records: what the caller's code wrote may hold a key, its type does not.
    failure = error
    if not isinstance(failure, LanguageModelFailed):
        kind = LanguageModelUnavailable if is_transient(error) else LanguageModelRefused
        status = status_of(error)
        failure = kind(f"generate raised {type(error).__name__}{f' (HTTP {status})' if status else ''}")
    failure.tries = tries
    return failure


def _cause(error: Exception) -> BaseException | None:
    return error.__cause__ if isinstance(error, LanguageModelFailed) else error

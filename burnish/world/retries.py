"""When to send a failed call again, and after how long: a decision, apart from the acting on it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.adapters.retries import (
    LONGEST_PAUSE_SECONDS,
    LONGEST_RETRY_AFTER_SECONDS,
    may_pass_by_status,
    seconds_until,
)
from burnish.errors import LanguageModelFailed, LanguageModelRefused, LanguageModelUnavailable

FIRST_PAUSE_SECONDS = 0.5


@dataclass(frozen=True)
class Failure:
    """What is known of a failed call. status: the HTTP status, or None where no reply came."""

    status: int | None
    kind: str
    retry_after: float | None = None

    @property
    def is_transient(self) -> bool:
        return self.status is None or may_pass_by_status(self.status)

    def as_error(self, model: str) -> LanguageModelFailed:
        """The failure for the audit trail: its kind and status, never the provider's text, which may hold secrets."""
        status = f" (HTTP {self.status})" if self.status else ""
        if self.is_transient:
            return LanguageModelUnavailable(f"{model} did not answer: {self.kind}{status}")
        return LanguageModelRefused(f"{model} refused the call: {self.kind}{status}")


def failure_of(error: Exception) -> Failure:
    """What litellm's and httpx's exceptions tell, read from the attributes that they share."""
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", {})
    after = headers.get("retry-after") if headers else None
    return Failure(status if isinstance(status, int) else None, type(error).__name__, seconds_until(after))


def pause_before(attempt: int, failure: Failure, retries: int) -> float | None:
    """Seconds to wait before try number `attempt` (the first retry is 1); None where it should not be sent again.

    Exponential back-off with full jitter, so that many workers do not return at once; `Retry-After` is honoured.
    """
    if attempt > retries or not failure.is_transient:
        return None
    ceiling = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt)
    jittered = random.uniform(ceiling / 2, ceiling)
    if failure.retry_after is None:
        return jittered
    return None if failure.retry_after > LONGEST_RETRY_AFTER_SECONDS else failure.retry_after + jittered / 10

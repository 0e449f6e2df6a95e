"""Whether a failed call is sent again, and after how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.errors import LanguageModelRefused, LanguageModelUnavailable
from burnish.world.retries import LONGEST_PAUSE_SECONDS, Failure, failure_of, pause_before

TRIES = 50


def failed(status: int | None = 503, retry_after: Any = None) -> Exception:
    """An error of the form that LiteLLM raises."""
    error = RuntimeError("sk-secret stands in what the provider wrote")
    headers = {} if retry_after is None else {"retry-after": retry_after}
    error.status_code = status  # type: ignore[attr-defined]
    error.response = SimpleNamespace(headers=headers)  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize("status", [None, 408, 409, 425, 429, 500, 502, 503, 529])
def test_what_may_pass_is_sent_again(status: int | None) -> None:
    failure = failure_of(failed(status))
    assert failure.is_transient
    assert pause_before(1, failure, retries=1) is not None
    assert isinstance(failure.as_error("openai/m"), LanguageModelUnavailable)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_will_be_refused_again_is_not(status: int) -> None:
    failure = failure_of(failed(status))
    assert pause_before(1, failure, retries=5) is None
    assert isinstance(failure.as_error("openai/m"), LanguageModelRefused)


def test_after_the_last_retry_there_is_none() -> None:
    failure = failure_of(failed())
    assert [pause_before(attempt, failure, retries=2) is None for attempt in (1, 2, 3)] == [False, False, True]
    assert pause_before(1, failure, retries=0) is None


@pytest.mark.parametrize("attempt", [1, 2, 3, 6, 40])
def test_pauses_double_up_to_a_cap_and_differ(attempt: int) -> None:
    pauses = [pause_before(attempt, Failure(503, "Busy"), retries=99) for _ in range(TRIES)]
    longest = min(LONGEST_PAUSE_SECONDS, 0.5 * 2**attempt)
    assert all(pause is not None and longest / 2 <= pause <= longest for pause in pauses)
    assert len(set(pauses)) > 1


@pytest.mark.parametrize(("retry_after", "seconds"), [("7", 7), ("0", 0), ("2.5", 2.5), (3, 3), ("-5", 0)])
def test_retry_after_is_waited_for_and_a_little_longer(retry_after: Any, seconds: float) -> None:
    pause = pause_before(1, failure_of(failed(429, retry_after)), retries=1)
    assert pause is not None
    assert seconds < pause <= seconds + 1


def test_retry_after_may_be_a_date() -> None:
    soon, past = (format_datetime(datetime.now(UTC) + timedelta(seconds=after), usegmt=True) for after in (60, -60))
    assert 50 < (failure_of(failed(503, soon)).retry_after or 0) <= 60
    assert failure_of(failed(503, past)).retry_after == 0


@pytest.mark.parametrize("retry_after", ["nan", "inf", "-inf", "soon", "", "1e999", "99999999999 GMT", b"5", None])
def test_a_retry_after_that_says_nothing_is_as_good_as_none(retry_after: Any) -> None:
    assert failure_of(failed(503, retry_after)).retry_after is None


@pytest.mark.parametrize("retry_after", ["121", "86400", 1e12])
def test_nobody_waits_longer_than_two_minutes(retry_after: Any) -> None:
    assert pause_before(1, failure_of(failed(429, retry_after)), retries=5) is None


def test_what_the_provider_wrote_is_in_no_message() -> None:
    message = str(failure_of(failed(500)).as_error("openai/m"))
    assert message == "openai/m did not answer: RuntimeError (HTTP 500)"

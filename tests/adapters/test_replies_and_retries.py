"""A reply is read from any usual shape, an error is never an answer, and only what may pass is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.adapters.replies import ErrorReply, read_reply
from burnish.adapters.retries import Retries, is_transient
from burnish.errors import InvalidInput, LanguageModelFailed, LanguageModelRefused, LanguageModelUnavailable

TOLD = {
    "a text": "A text.",
    "a mapping with text": {"text": "A text."},
    "a mapping with content": {"content": "A text."},
    "a mapping with response": {"response": "A text."},
    "no error beside it": {"error": None, "content": "A text."},
    "an object with content": SimpleNamespace(content="A text."),
    "blocks of content": SimpleNamespace(content=[SimpleNamespace(text="A "), {"text": "text."}]),
    "choices of mappings": {"choices": [{"message": {"content": "A text."}}]},
    "choices of objects": SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="A text."))]),
    "choices of plain texts": {"choices": [{"text": "A text."}]},
    "an output beside a format": SimpleNamespace(text=SimpleNamespace(format="plain"), output_text="A text."),
}


@pytest.mark.parametrize("said", TOLD.values(), ids=TOLD.keys())
def test_the_text_is_found_in_every_usual_shape(said: Any) -> None:
    assert read_reply(said).text == "A text."


@pytest.mark.parametrize(
    "said", [None, 5, b"bytes", {}, {"other": 1}, [], object(), {"choices": []}, {"content": None}]
)
def test_what_holds_no_text_is_a_failure(said: Any) -> None:
    with pytest.raises(LanguageModelFailed, match=f"must give a text, not {type(said).__name__}"):
        read_reply(said)


def test_an_empty_text_is_a_text() -> None:
    assert read_reply("").text == ""


@pytest.mark.parametrize(
    "said",
    [
        {"usage": {"prompt_tokens": 5, "completion_tokens": 7}},
        {"usage": {"input_tokens": 5, "output_tokens": 7}},
        {"usage_metadata": {"input_tokens": 5, "output_tokens": 7}},
        {"usage": SimpleNamespace(prompt_tokens=5, completion_tokens=7)},
    ],
)
def test_tokens_are_told_where_the_model_tells_them(said: dict[str, Any]) -> None:
    reply = read_reply({"text": "A text.", **said})
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (5, 7, None)


@pytest.mark.parametrize("said", [{"cost": 0.5}, {"cost_usd": 0.5}, {"usage": {"cost": 0.5}}])
def test_a_cost_is_told_where_the_model_tells_it(said: dict[str, Any]) -> None:
    assert read_reply({"text": "A text.", **said}).cost_usd == 0.5


def test_a_reply_that_was_cut_says_so() -> None:
    assert read_reply({"choices": [{"message": {"content": "A te"}, "finish_reason": "length"}]}).truncated
    assert not read_reply({"choices": [{"message": {"content": "A text."}, "finish_reason": "stop"}]}).truncated


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"error": "quota used up"}, LanguageModelRefused),
        ({"error": "Request timed out"}, LanguageModelUnavailable),
        ({"error": {"message": "slow down", "code": 429}}, LanguageModelUnavailable),
        ({"error": {"message": "bad key", "status_code": 401}}, LanguageModelRefused),
        ({"error": "overloaded", "status": 529}, LanguageModelUnavailable),
        ({"error": "Error code: 401 - connection refused"}, LanguageModelRefused),
        ("Error: Connection refused", LanguageModelUnavailable),
        ("error: model not found", LanguageModelRefused),
        ("❌ Error: All attempts failed with Gemini", LanguageModelUnavailable),
        ("❌ Error: Cannot connect to Ollama server. Make sure it's running.", LanguageModelUnavailable),
        ("⏱️ Error: Request timeout. Try increasing timeout value.", LanguageModelUnavailable),
        ("⚠️ Ollama async error: gone", LanguageModelRefused),
        ("[Error: no such model]", LanguageModelRefused),
        ("خطأ: تعذّر الاتصال", LanguageModelRefused),
    ],
)
def test_an_error_in_place_of_a_text_is_raised_by_its_kind_and_without_its_words(
    said: Any, kind: type[LanguageModelFailed]
) -> None:
    with pytest.raises(LanguageModelFailed, match=r"^generate gave an error in place of a text$") as raised:
        read_reply(said)
    assert type(raised.value) is kind
    assert isinstance(raised.value.__cause__, ErrorReply)


@pytest.mark.parametrize(
    "said",
    [
        "Errors are common in measurement: they have many causes.",
        "The Error: a novel of 1932.",
        '{"answer": "Error: 404 means that a page was not found"}',
        "Exceptional results: none.",
    ],
)
def test_an_answer_about_errors_is_an_answer(said: str) -> None:
    assert read_reply(said).text == said


class WithStatus(Exception):
    def __init__(self, status: int, after: str | None = None) -> None:
        super().__init__("in the provider's words")
        self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers={} if after is None else {"Retry-After": after})


class AuthenticationError(Exception):
    pass


class RateLimitError(Exception):
    pass


MAY_PASS = [
    *(
        TimeoutError(),
        ConnectionError(),
        ConnectionResetError(),
        OSError("no route"),
        RuntimeError("flaky"),
        Exception(),
    ),
    *(WithStatus(408), WithStatus(429), WithStatus(500), WithStatus(503), WithStatus(529), RateLimitError()),
    LanguageModelUnavailable("down"),
]
WILL_NOT = [
    *(TypeError(), ValueError(), KeyError(), AttributeError(), NotImplementedError(), ZeroDivisionError()),
    *(PermissionError(), FileNotFoundError(), InvalidInput("no"), AuthenticationError()),
    *(WithStatus(400), WithStatus(401), WithStatus(403), WithStatus(404), WithStatus(422)),
    *(LanguageModelRefused("no"), LanguageModelFailed("no text")),
]


@pytest.mark.parametrize("error", MAY_PASS, ids=repr)
def test_what_may_pass_is_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize("error", WILL_NOT, ids=repr)
def test_what_will_fail_again_is_not(error: Exception) -> None:
    assert not is_transient(error)


class Attempts:
    """Fails as told, then says "done"; and a sleep that does not wait."""

    def __init__(self, *failures: Exception) -> None:
        self.made = 0
        self.paused: list[float] = []
        self._failures = failures

    async def attempt(self) -> str:
        self.made += 1
        if self.made <= len(self._failures):
            raise self._failures[self.made - 1]
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.paused.append(seconds)

    def persist(self, retries: int = 2, backoff: float = 0.5) -> tuple[str, int]:
        attempt: Callable[[], Awaitable[str]] = self.attempt
        return asyncio.run(Retries(retries, backoff, self.sleep).persist(attempt))


def test_what_may_pass_is_tried_again_and_the_tries_are_counted() -> None:
    assert Attempts(TimeoutError(), ConnectionError()).persist() == ("done", 3)


def test_the_pauses_grow_and_each_has_its_jitter() -> None:
    attempts = Attempts(*[TimeoutError()] * 3)
    attempts.persist(retries=3)
    first, second, third = attempts.paused
    assert 0.25 <= first <= 0.5 <= second <= 1.0 <= third <= 2.0


def test_no_pause_is_longer_than_half_a_minute() -> None:
    attempts = Attempts(*[TimeoutError()] * 20)
    attempts.persist(retries=20)
    assert max(attempts.paused) <= 30


def test_a_server_that_asks_to_wait_is_waited_for_but_not_for_ever() -> None:
    attempts = Attempts(WithStatus(429, "7"))
    attempts.persist()
    assert 7 <= attempts.paused[0] <= 8
    with pytest.raises(LanguageModelUnavailable):
        Attempts(WithStatus(429, "3600")).persist()


def test_a_wait_that_cannot_be_read_is_none() -> None:
    attempts = Attempts(WithStatus(429, "Wed, 21 Oct 2015 07:28:00 GMT"))
    assert attempts.persist() == ("done", 2)


def test_once_the_tries_are_used_up_the_failure_is_raised_by_its_kind() -> None:
    attempts = Attempts(*[WithStatus(503)] * 3)
    with pytest.raises(LanguageModelUnavailable, match=r"^generate raised WithStatus \(HTTP 503\)$") as raised:
        attempts.persist()
    assert (attempts.made, raised.value.tries) == (3, 3)
    assert isinstance(raised.value.__cause__, WithStatus)


@pytest.mark.parametrize("error", [TypeError("bad"), ValueError("bad"), WithStatus(401), AuthenticationError("bad")])
def test_what_will_fail_again_is_tried_once_and_costs_no_time(error: Exception) -> None:
    attempts = Attempts(error)
    with pytest.raises(LanguageModelRefused) as raised:
        attempts.persist(retries=5)
    assert (attempts.made, attempts.paused, raised.value.__cause__) == (1, [], error)


@pytest.mark.parametrize("retries", [-1, 21, 1.5, "2", None, True])
def test_retries_out_of_range_are_refused(retries: Any) -> None:
    with pytest.raises(ValueError, match="llm_retries must be a whole number between 0 and 20"):
        Retries(retries)


@pytest.mark.parametrize("backoff", [-0.1, float("nan")])
def test_a_backoff_that_is_none_is_refused(backoff: float) -> None:
    with pytest.raises(ValueError, match="backoff"):
        Retries(2, backoff)

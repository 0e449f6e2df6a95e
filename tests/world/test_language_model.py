"""Completions through LiteLLM, from a server that does what its script says."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from burnish.effects import Ask, Prompt
from burnish.errors import LanguageModelRefused, LanguageModelUnavailable
from burnish.prompts.wording import object_schema, text_schema
from burnish.testing import SimulatedModel, simulated_model
from burnish.world.gate import LocalGate, Slots
from burnish.world.language_model import LanguageModel
from burnish.world.loop import LoopThread
from burnish.world.providers import ModelOptions
from tests.processes import free_port

SCHEMA = object_schema(answer=text_schema(50))
PROMPT = Prompt("answer", "Be brief.", "The user's own secret words", 32, SCHEMA)
GRADE = Prompt("relevance", "Does it help? yes or no", "A passage", 1, choices=("yes", "no"))


def model_at(url: str, key: str | None = "unused", **options: Any) -> LanguageModel:
    chosen: dict[str, Any] = {"timeout": 20.0, "retries": 2, **options}
    settings = ModelOptions("openai/simulated", url, key, **chosen)
    return LanguageModel(settings, LocalGate(Slots(4, 1)), LoopThread())


def model_of(simulated: SimulatedModel, **options: Any) -> LanguageModel:
    return model_at(simulated.url, simulated.key, **options)


@pytest.mark.parametrize("fault", [{"status": 429, "retry_after": 0}, {"status": 500}, {"status": 503}, {"drop": True}])
def test_what_passes_is_tried_again_and_the_tries_are_counted(fault: Mapping[str, Any]) -> None:
    with simulated_model({"rules": [{**fault, "times": 1}, {"reply": {"answer": "yes"}}]}) as simulated:
        reply, call = model_of(simulated).complete(Ask(PROMPT), "batch")
    assert json.loads(reply.text) == {"answer": "yes"}
    assert call.tries == 2


def test_a_model_that_stays_down_is_given_up_after_its_retries() -> None:
    with simulated_model({"rules": [{"status": 503}]}) as simulated:
        with pytest.raises(LanguageModelUnavailable, match="HTTP 503"):
            model_of(simulated).complete(Ask(PROMPT), "batch")
        assert simulated.calls().count == 3
    with pytest.raises(LanguageModelUnavailable):
        model_at(f"http://127.0.0.1:{free_port()}/v1", retries=0).complete(Ask(PROMPT), "batch")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_final_and_tells_neither_key_nor_prompt(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "burnish")
    with simulated_model({"rules": [{"status": status}]}) as simulated:
        with pytest.raises(LanguageModelRefused, match=str(status)) as refused:
            model_of(simulated).complete(Ask(PROMPT), "batch")
        assert simulated.calls().count == 1
        told = f"{refused.value} {refused.value.__cause__} {caplog.text}"
    assert simulated.key not in told
    assert "secret words" not in told


def test_a_server_that_takes_no_schema_is_asked_without_from_then_on() -> None:
    with simulated_model({"rules": [{"kind": "answer", "status": 400}, {"reply": "in plain words"}]}) as simulated:
        model = model_of(simulated)
        replies = [model.complete(Ask(PROMPT), "batch") for _ in range(3)]
        assert simulated.calls().by_kind == {"answer": 1, "text": 3}
    assert [reply.text for reply, _ in replies] == ["in plain words"] * 3
    assert replies[0][1].request["structured"] is False


def test_a_bad_request_without_a_schema_is_a_refusal() -> None:
    with simulated_model({"rules": [{"status": 400}]}) as simulated, pytest.raises(LanguageModelRefused, match="400"):
        model_of(simulated).complete(Ask(PROMPT), "batch")


def test_a_grade_comes_with_its_probabilities() -> None:
    rules = [{"logprobs": {"Yes": -0.5, " yes": -2.0, "no": -1.5, "maybe": -3.0}}]
    with simulated_model({"rules": rules}) as simulated:
        graded, _ = model_of(simulated).complete(Ask(GRADE), "batch")
        unasked, _ = model_of(simulated, probabilities=False).complete(Ask(GRADE), "batch")
    assert graded.probabilities == {
        "yes": pytest.approx(0.6065 + 0.1353, abs=1e-3),
        "no": pytest.approx(0.2231, abs=1e-3),
    }
    assert unasked.probabilities == {}


def test_a_reply_that_was_cut_says_so_and_holds_nothing_that_cannot_be_stored() -> None:
    with simulated_model({"rules": [{"reply": "half a \x00 rep", "finish_reason": "length"}]}) as simulated:
        reply, call = model_of(simulated).complete(Ask(PROMPT), "batch")
    assert reply.truncated
    assert "\x00" not in reply.text + call.reply["text"]
    assert call.reply["finish_reason"] == "length"


def test_a_call_is_priced_by_ones_own_prices_or_its_price_is_unknown() -> None:
    with simulated_model() as simulated:
        _, priced = model_of(simulated, price_in=2.0, price_out=8.0).complete(Ask(PROMPT), "batch")
        _, unknown = model_of(simulated).complete(Ask(PROMPT), "batch")
    assert priced.cost_usd == pytest.approx((2.0 * priced.prompt_tokens + 8.0 * priced.completion_tokens) / 1e6)
    assert priced.prompt_tokens > 0
    assert unknown.cost_usd is None


def test_the_key_for_openai_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-alone")
    with listener() as (url, heard):
        for key in (None, "of-this-server"):
            with pytest.raises(LanguageModelRefused):
                model_at(url, key).complete(Ask(PROMPT), "batch")
    assert [request["authorization"] for request in heard] == ["Bearer none", "Bearer of-this-server"]


def test_a_request_holds_the_prompt_its_schema_and_its_settings() -> None:
    with listener() as (url, heard), pytest.raises(LanguageModelRefused):
        model_at(url).complete(Ask(PROMPT, temperature=0.7, seed=3), "batch")
    sent = heard[0]["body"]
    assert [message["content"] for message in sent["messages"]] == [PROMPT.system, PROMPT.user]
    assert sent["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (32, 0.7, 3)
    assert "logprobs" not in sent


def test_no_more_calls_are_in_flight_than_there_are_slots() -> None:
    with simulated_model({"latency": 0.2}) as simulated:
        model = model_of(simulated)

        async def many() -> None:
            await asyncio.gather(*(model.acomplete(Ask(PROMPT, seed=nth), "interactive") for nth in range(12)))

        asyncio.run(many())
        assert simulated.calls().most_in_flight == 4


@contextmanager
def listener() -> Generator[tuple[str, list[dict[str, Any]]]]:
    """A server that refuses everything, and what it was sent."""
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            heard.append({"authorization": self.headers["authorization"], "body": body})
            self.send_response(403)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name that it has there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)

"""The simulated model as its callers see it: a real process, spoken to over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from burnish.errors import InvalidInput
from burnish.testing import Rule, Script, SimulatedModel


def _chat(prompt: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "simulated", "messages": [{"role": "user", "content": prompt}]} | more
    if kind:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": kind, "schema": {"type": "object"}}}
    return body


def _post(model: SimulatedModel, path: str, body: Any, key: str | None = None) -> httpx.Response:
    headers = {"authorization": f"Bearer {key or model.key}"}
    return httpx.post(model.url + path, json=body, headers=headers, trust_env=False)


def _complete(model: SimulatedModel, prompt: str, kind: str | None = None, **more: Any) -> httpx.Response:
    return _post(model, "/chat/completions", _chat(prompt, kind, **more))


def _said(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


def test_the_first_rule_that_fits_answers_by_prompt_kind_and_model(model: SimulatedModel) -> None:
    model.set_script(
        Script(
            rules=(
                Rule(match="Oslo", kind="judge", reply="Oslo judged"),
                Rule(kind="judge|grade", reply="judged"),
                Rule(model="simulated-large", reply="large"),
                Rule(match="Oslo", reply="Oslo"),
            ),
            default=Rule(reply="nothing fits"),
        )
    )
    assert _said(_complete(model, "about Oslo", "judge")) == "Oslo judged"
    assert _said(_complete(model, "about Rome", "grade")) == "judged"
    assert _said(_complete(model, "about Oslo", "judgement")) == "Oslo"
    assert _said(_post(model, "/chat/completions", _chat("about Oslo", model="simulated-large"))) == "large"
    assert _said(_complete(model, "about Rome")) == "nothing fits"


def test_the_text_matched_is_that_of_all_messages_and_their_parts(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"match": "be brief\nwhat\nis it", "reply": "seen"}]})
    parts: list[Any] = [
        {"type": "text", "text": "what"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "is it"},
    ]
    messages: list[Any] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": parts}]
    assert _said(_post(model, "/chat/completions", {"model": "m", "messages": messages})) == "seen"


def test_replies_of_a_list_take_turns_and_begin_again(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"reply": ["one", {"n": 2}]}]})
    assert [_said(_complete(model, "x")) for _ in range(3)] == ["one", '{"n": 2}', "one"]


def test_captures_are_filled_in_and_cannot_break_a_json_reply(model: SimulatedModel) -> None:
    model.set_script(
        {
            "rules": [
                {"match": "Q: (?P<question>.+)", "kind": "echo", "reply": {"asked": ["{question}"], "{question}": 1}},
                {"match": r"Q: (?P<question>.+?) in (\w+)", "reply": "{question}|{2}|{3}|{unknown}|{"},
            ]
        }
    )
    awkward = 'who said "no {question}"? \\ بغداد'
    assert json.loads(_said(_complete(model, f"Q: {awkward}", "echo"))) == {"asked": [awkward], "{question}": 1}
    assert _said(_complete(model, "Q: where is it in Iraq")) == "where is it|Iraq|{3}|{unknown}|{"


def test_a_fault_with_times_passes_and_then_the_next_rule_answers(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"match": "A", "status": 429, "retry_after": 0.5, "times": 2}, {"reply": "well"}]})
    faults = [_complete(model, "A") for _ in range(2)]
    assert [fault.status_code for fault in faults] == [429, 429]
    assert faults[0].headers["retry-after"] == "0.5"
    assert faults[0].json()["error"]["type"] == "rate_limit_error"
    assert _said(_complete(model, "A")) == "well"
    assert model.calls().by_status == {"429": 2, "200": 1}


def test_a_dropped_connection_reaches_the_caller_as_one(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"drop": True, "times": 1}, {"reply": "well"}]})
    with pytest.raises(httpx.RemoteProtocolError):
        _complete(model, "x")
    assert _said(_complete(model, "x")) == "well"
    assert model.calls().by_status == {"dropped": 1, "200": 1}


def test_reset_plays_the_script_from_its_start_and_counts_from_nought(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"status": 500, "times": 1}, {"reply": "well"}]})
    assert [_complete(model, "x").status_code for _ in range(2)] == [500, 200]
    model.reset()
    assert model.calls().count == 0
    assert [_complete(model, "x").status_code for _ in range(2)] == [500, 200]


def test_log_probabilities_are_given_as_many_as_were_asked_for(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"logprobs": {"no": -2.5, "yes": -0.1, "نعم": -4.0}}]})
    choice = _complete(model, "x", logprobs=True, top_logprobs=2).json()["choices"][0]
    first = choice["logprobs"]["content"][0]
    assert (choice["message"]["content"], first["token"], first["logprob"]) == ("yes", "yes", -0.1)
    assert [(top["token"], top["logprob"]) for top in first["top_logprobs"]] == [("yes", -0.1), ("no", -2.5)]
    assert _complete(model, "x").json()["choices"][0]["logprobs"] is None


def test_the_finish_reason_and_the_usage_in_words_are_told(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"reply": "cut off in the", "finish_reason": "length"}]})
    reply = _complete(model, "two words").json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"] == {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6}


def test_a_stream_holds_the_text_the_end_and_the_usage(model: SimulatedModel) -> None:
    response = _complete(model, "one two", stream=True, stream_options={"include_usage": True})
    events = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert chunks[0]["choices"][0]["delta"]["content"] == Script().default_text
    assert chunks[1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[2]["usage"]["prompt_tokens"] == 2


def test_sixty_four_calls_at_once_are_counted_as_sixty_four(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"reply": "well", "latency": 2.0, "times": 64}]})

    async def ask_all() -> list[httpx.Response]:
        headers = {"authorization": f"Bearer {model.key}"}
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(headers=headers, limits=limits, timeout=30, trust_env=False) as client:
            url = model.url + "/chat/completions"
            first = await asyncio.gather(*(client.post(url, json=_chat(f"call {nth}")) for nth in range(64)))
            again = await asyncio.gather(*(client.post(url, json=_chat(f"call {nth}")) for nth in range(8)))
            return [*first, *again]

    assert {response.status_code for response in asyncio.run(ask_all())} == {200}
    calls = model.calls()
    assert (calls.count, calls.distinct, calls.most_in_flight, calls.in_flight) == (72, 64, 64, 0)


def test_a_call_that_its_caller_gave_up_is_in_flight_no_longer(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"match": "slow", "latency": 600, "reply": "late"}]})
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            model.url + "/chat/completions",
            json=_chat("slow"),
            headers={"authorization": f"Bearer {model.key}"},
            timeout=0.3,
            trust_env=False,
        )
    _complete(model, "quick")
    calls = model.calls()
    assert (calls.in_flight, calls.by_status) == (0, {"abandoned": 1, "200": 1})


def test_counts_are_kept_by_kind_with_the_latest_prompts(model: SimulatedModel) -> None:
    model.set_script({"keep": 2})
    _complete(model, "first", "judge")
    _complete(model, "second", "judge")
    _post(model, "/embeddings", {"model": "e", "input": ["third", "and more"]})
    calls = model.calls()
    assert calls.by_kind == {"judge": 2, "embeddings": 1}
    assert [(seen.kind, seen.text) for seen in calls.prompts] == [
        ("judge", "second"),
        ("embeddings", "third\nand more"),
    ]


def test_embeddings_take_the_dimension_asked_for_and_a_fault_only_from_a_rule_of_their_kind(
    model: SimulatedModel,
) -> None:
    model.set_script({"rules": [{"kind": "embeddings", "status": 503, "times": 1}, {"status": 500}], "dimension": 32})
    assert _post(model, "/embeddings", {"model": "e", "input": "x"}).status_code == 503
    found = _post(model, "/embeddings", {"model": "e", "input": "a text"}).json()["data"]
    asked = _post(model, "/embeddings", {"model": "e", "input": "a text", "dimensions": 8}).json()["data"]
    assert (len(found[0]["embedding"]), len(asked[0]["embedding"])) == (32, 8)


def test_a_call_without_the_key_is_refused_and_health_needs_none(model: SimulatedModel) -> None:
    assert _post(model, "/chat/completions", _chat("x"), key="wrong").status_code == 401
    assert httpx.get(model.url + "/models", trust_env=False).status_code == 401
    root = model.url.removesuffix("/v1")
    assert httpx.get(root + "/health", trust_env=False).json() == {"status": "ok"}
    assert model.calls().count == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", b"{"),
        ("/chat/completions", b"[]"),
        ("/chat/completions", b"\xff\xfe"),
        ("/chat/completions", b"[" * 100_000),
        ("/chat/completions", b'{"model": "m"}'),
        ("/chat/completions", b'{"model": "m", "messages": []}'),
        ("/chat/completions", b'{"model": "m", "messages": [3]}'),
        ("/chat/completions", b'{"model": 1, "messages": [{"content": "x"}]}'),
        ("/chat/completions", b'{"model": "m", "messages": [{"content": 7}]}'),
        ("/chat/completions", json.dumps(_chat("x", logprobs=True, top_logprobs=21)).encode()),
        ("/chat/completions", json.dumps(_chat("x", response_format={"type": "json_schema"})).encode()),
        ("/embeddings", b'{"model": "e", "input": []}'),
        ("/embeddings", b'{"model": "e", "input": [1, 2]}'),
        ("/embeddings", b'{"model": "e", "input": "x", "dimensions": 0}'),
        ("/embeddings", b'{"model": "e", "input": "x", "dimensions": 1e9}'),
    ],
)
def test_a_malformed_request_is_answered_with_400_and_an_openai_error(
    model: SimulatedModel, path: str, body: bytes
) -> None:
    headers = {"authorization": f"Bearer {model.key}"}
    response = httpx.post(model.url + path, content=body, headers=headers, trust_env=False)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    assert _complete(model, "still there").status_code == 200


def test_unknown_paths_and_methods_are_told_apart(model: SimulatedModel) -> None:
    assert _post(model, "/completions", {}).status_code == 404
    assert httpx.get(model.url + "/chat/completions", trust_env=False).status_code == 405


def test_a_lone_surrogate_and_a_prompt_of_megabytes_pass_through(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"match": "say (.)", "reply": "{1}"}], "latency": [0.0, 0.001]})
    body = b'{"model": "m", "messages": [{"role": "user", "content": "say \\ud800' + b" word" * 600_000 + b'"}]}'
    headers = {"authorization": f"Bearer {model.key}"}
    response = httpx.post(model.url + "/chat/completions", content=body, headers=headers, trust_env=False)
    assert _said(response) == "\ud800"
    assert response.json()["usage"]["prompt_tokens"] == 600_002


def test_a_bad_script_is_refused_over_http_and_the_old_one_plays_on(model: SimulatedModel) -> None:
    model.set_script({"rules": [{"reply": "old"}]})
    headers = {"authorization": f"Bearer {model.key}"}
    root = model.url.removesuffix("/v1")
    refused = httpx.post(root + "/script", content=b'{"rules": 3}', headers=headers, trust_env=False)
    assert refused.status_code == 400
    with pytest.raises(InvalidInput, match="times"):
        model.set_script({"rules": [{"times": 0}]})
    assert _said(_complete(model, "x")) == "old"

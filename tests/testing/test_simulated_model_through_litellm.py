"""The simulated model as LiteLLM, the client that burnish uses, sees it."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from burnish.testing import SimulatedModel

SCHEMA = {
    "type": "object",
    "properties": {"supported": {"type": "boolean"}, "score": {"type": "integer", "maximum": 5}},
}
FORM = {"type": "json_schema", "json_schema": {"name": "judge", "schema": SCHEMA}}


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    return litellm


def _asked(model: SimulatedModel, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": "is it so?"}
    place = {"model": "openai/simulated", "api_base": model.url, "api_key": model.key}
    return {**place, "messages": [message], "max_retries": 0, **more}


def test_a_completion_has_json_usage_and_log_probabilities(model: SimulatedModel, litellm: Any) -> None:
    model.set_script({"rules": [{"match": "is it so", "kind": "text", "logprobs": {"yes": -0.1, "no": -2.3}}]})

    async def ask_both() -> tuple[Any, Any]:
        judged = await litellm.acompletion(**_asked(model, response_format=FORM))
        graded = await litellm.acompletion(**_asked(model, logprobs=True, top_logprobs=2))
        return judged, graded

    judged, graded = asyncio.run(ask_both())
    assert json.loads(judged.choices[0].message.content) == {"supported": True, "score": 5}
    assert judged.usage.prompt_tokens == 3
    top = graded.choices[0].logprobs.content[0].top_logprobs
    assert [(entry.token, entry.logprob) for entry in top] == [("yes", -0.1), ("no", -2.3)]
    assert model.calls().by_kind == {"judge": 1, "text": 1}


def test_faults_arrive_as_the_errors_that_litellm_names(model: SimulatedModel, litellm: Any) -> None:
    model.set_script({"rules": [{"status": 429, "times": 1}, {"status": 400, "times": 1}, {"drop": True}]})

    async def ask_once() -> None:
        await litellm.acompletion(**_asked(model))

    for expected in (litellm.RateLimitError, litellm.BadRequestError, litellm.InternalServerError):
        with pytest.raises(expected):
            asyncio.run(ask_once())
    assert model.calls().by_status == {"429": 1, "400": 1, "dropped": 1}


def test_a_stream_arrives_whole(model: SimulatedModel, litellm: Any) -> None:
    model.set_script({"rules": [{"reply": "قطعة بعد قطعة"}]})

    async def read() -> str:
        stream = await litellm.acompletion(**_asked(model, stream=True))
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(read()) == "قطعة بعد قطعة"


def test_embeddings_come_in_order_and_of_unit_length(model: SimulatedModel, litellm: Any) -> None:
    place = {"model": "openai/simulated", "api_base": model.url, "api_key": model.key}
    found = asyncio.run(litellm.aembedding(**place, input=["the capital of Norway", "rain", "Norway's capital"]))
    first, second, third = (item["embedding"] for item in found.data)
    assert math.isclose(math.fsum(value * value for value in first), 1, rel_tol=1e-6)
    assert _product(first, third) > 0.7
    assert abs(_product(first, second)) < 0.3


def _product(left: list[float], right: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))

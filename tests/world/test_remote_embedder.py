"""Vectors from an OpenAI-compatible server, through LiteLLM."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from burnish.errors import LanguageModelRefused
from burnish.testing import SimulatedModel, simulated_model
from burnish.world.loop import LoopThread
from burnish.world.providers import ModelOptions
from burnish.world.remote_embeddings import RemoteEmbedder

DIMENSION = 384


def embedder_of(model: SimulatedModel) -> RemoteEmbedder:
    options = ModelOptions("openai/simulated-embedding", model.url, model.key)
    return RemoteEmbedder(options, DIMENSION, None, LoopThread())


def test_packed_vectors_and_those_in_numbers_are_the_same() -> None:
    with simulated_model() as model:
        packed = embedder_of(model).embed(["one", "two"], "passage")
        model.set_script({"rules": [{"kind": "embeddings", "status": 400, "times": 1}]})
        plain = embedder_of(model).embed(["one", "two"], "passage")
    assert packed.shape == (2, DIMENSION)
    assert np.allclose(packed, plain, atol=1e-6)
    assert np.allclose(np.linalg.norm(packed, axis=1), 1, atol=1e-5)


def test_a_server_that_takes_no_packed_vectors_refuses_none_of_several_at_once() -> None:
    rules = [{"kind": "embeddings", "status": 400, "times": 4, "latency": 0.3}]
    with simulated_model({"rules": rules}) as model, ThreadPoolExecutor(4) as pool:
        embedder = embedder_of(model)
        asking = [pool.submit(embedder.embed, [text], "passage") for text in ("one", "two", "three", "four")]
        assert all(each.result().shape == (1, DIMENSION) for each in asking)
        assert model.calls().by_kind["embeddings"] == 8
        embedder.embed(["five"], "passage")
        assert model.calls().by_kind["embeddings"] == 9  # it has learnt


def test_a_request_that_is_refused_in_both_forms_is_refused() -> None:
    rules = [{"kind": "embeddings", "status": 400}]
    with simulated_model({"rules": rules}) as model, pytest.raises(LanguageModelRefused):
        embedder_of(model).embed(["one"], "passage")

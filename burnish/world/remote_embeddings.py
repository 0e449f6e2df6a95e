"""Embedding models through LiteLLM: any provider, any OpenAI-compatible server."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from burnish.world.embeddings import Role, Vectors, check_dimension
from burnish.world.grouped import Grouped
from burnish.world.loop import LoopThread
from burnish.world.providers import ModelOptions, OptionRefused, embedding, persist, request_to

QUESTIONS_REMEMBERED = 4_096
QUESTIONS_TOGETHER = 64


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
        # As numbers, the client reads a vector ten times as slowly. Only OpenAI's own protocol has the other form, and
        # some providers refuse a request that so much as names a form.
        self._is_openai = options.model.startswith("openai/")
        self._packed = self._is_openai

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
        except OptionRefused:
            response = await self._send(texts, packed=False)
            self._packed = False
        vectors = np.asarray([_numbers(item["embedding"]) for item in response.data], dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return check_dimension(unit, len(texts), self)

    async def _send(self, texts: list[str], *, packed: bool) -> Any:
        request = request_to(self._options) | {"input": texts}
        if self._is_openai:
            request |= {"encoding_format": "base64" if packed else "float"}
        response, _ = await persist(lambda: embedding(request), self._options, has_option=packed)
        return response


def _numbers(received: str | Sequence[float]) -> Any:
    """One vector as it was received: numbers, or little-endian 32-bit floats in base 64."""
    import numpy as np

    return np.frombuffer(base64.b64decode(received), dtype="<f4") if isinstance(received, str) else received

"""The order of what was found, weighed once more: by rule, by the language model, by both, or by a provider."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from burnish.errors import EffectFailed, RetrievalFailed
from burnish.prompts.wording import PromptLanguage, language_of
from burnish.rag_system.chunks import Scored, text_of
from burnish.rag_system.config import RerankerConfig, RerankMode
from burnish.rag_system.flow import Flow, Work, arun, do, do_all, run
from burnish.rag_system.marks import mark_prompt, read_mark, read_provider_scores
from burnish.rag_system.speaking import say
from burnish.rag_system.weighing import weighed, without_repetitions
from burnish.text.normalise import text_hash

logger = logging.getLogger(__name__)

CALLS_AT_ONCE = 6
MARKS_REMEMBERED = 4_096
_HINTS = {"max_tokens": 8, "temperature": 0.0}


class Reranker:
    """Ranks (chunk, score) pairs anew; how a score is made stands in `weighing`.

    llm: for the modes "llm" and "hybrid". provider: for "provider", any object with `rerank(query, texts)`.
    A mode that lacks what it needs ranks by "heuristic".
    """

    def __init__(self, config: RerankerConfig | None = None, llm: Any = None, provider: Any = None) -> None:
        self.config = config or RerankerConfig()
        self.llm = llm
        self.provider = provider
        self._marks = _Marks()
        if self.mode != self.config.mode:
            logger.warning("reranking by rule: mode %s lacks its model or its provider", RerankMode(self.config.mode))

    @property
    def mode(self) -> RerankMode:
        """The mode in effect."""
        wanted = RerankMode(self.config.mode)
        needed = self.provider if wanted == RerankMode.PROVIDER else self.llm
        return wanted if needed is not None else RerankMode.HEURISTIC

    def rerank(self, query: str, chunks: Sequence[Scored]) -> list[Scored]:
        """The pairs with their final scores, best first, near-repetitions out and cut to `top_k`.

        Raises RetrievalFailed where the provider fails. A language model that fails is done without.
        """
        return run(self.reranking(query, chunks))

    async def arerank(self, query: str, chunks: Sequence[Scored]) -> list[Scored]:
        return await arun(self.reranking(query, chunks))

    def clear_cache(self) -> None:
        """Forget the marks that the language model gave."""
        self._marks.clear()

    def reranking(self, query: str, chunks: Sequence[Scored]) -> Flow[list[Scored]]:
        kept = sorted(chunks, key=lambda scored: scored[1], reverse=True)
        if self.config.dedup_enabled:
            kept = without_repetitions(kept, self.config.dedup_threshold)
        if not kept:
            return []
        scores = yield from self._scored(query, kept)
        ranked = [(chunk, score) for (chunk, _), score in zip(kept, scores, strict=True)]
        return sorted(ranked, key=lambda scored: scored[1], reverse=True)[: self.config.top_k]

    def _scored(self, query: str, chunks: Sequence[Scored]) -> Flow[list[float]]:
        mode = self.mode
        if mode == RerankMode.PROVIDER:
            return (yield from self._asked_of_provider(query, [text_of(chunk) for chunk, _ in chunks]))
        unknown: list[float | None] = [None] * len(chunks)
        marks = unknown if mode == RerankMode.HEURISTIC else (yield from self._marked(query, chunks))
        return weighed(query, chunks, marks, self.config, mode)

    def _asked_of_provider(self, query: str, texts: list[str]) -> Flow[list[float]]:
        try:
            said = yield from do(Work(lambda: self.provider.rerank(query, texts)))
            return read_provider_scores(said, len(texts))
        except EffectFailed:
            raise
        except Exception as error:
            raise RetrievalFailed(f"the reranking provider raised {type(error).__name__}") from error

    def _marked(self, query: str, chunks: Sequence[Scored]) -> Flow[list[float | None]]:
        """The model's mark for each, in [0, 1]; None for one that cannot be had or read, which is not remembered."""
        language: PromptLanguage = "ar" if (self.config.llm_eval_language or language_of(query)) == "ar" else "en"
        prompts = [mark_prompt(query, text_of(chunk), language) for chunk, _ in chunks]
        marks = self._marks.of(prompts)
        unmarked = [prompt for prompt in dict.fromkeys(prompts) if prompt not in marks]
        replies = yield from do_all([say(self.llm, prompt, hints=_HINTS) for prompt in unmarked], CALLS_AT_ONCE)
        for prompt, said in zip(unmarked, replies, strict=True):
            mark = None if isinstance(said, Exception) else read_mark(said)
            if mark is not None:
                marks[prompt] = mark
                self._marks.remember(prompt, mark)
        unknown = sum(prompt not in marks for prompt in prompts)
        if unknown:
            logger.warning("the language model gave no mark for %d of %d passages", unknown, len(prompts))
        return [marks.get(prompt) for prompt in prompts]

    def __repr__(self) -> str:
        return f"Reranker(mode={self.mode.value}, top_k={self.config.top_k})"


class _Marks:
    """The latest marks by their prompt; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: OrderedDict[str, float] = OrderedDict()

    def of(self, prompts: Sequence[str]) -> dict[str, float]:
        """Those of the prompts that have a mark."""
        with self._lock:
            return {prompt: self._held[key] for prompt in prompts if (key := text_hash(prompt)) in self._held}

    def remember(self, prompt: str, mark: float) -> None:
        with self._lock:
            self._held[text_hash(prompt)] = mark
            while len(self._held) > MARKS_REMEMBERED:
                self._held.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._held.clear()

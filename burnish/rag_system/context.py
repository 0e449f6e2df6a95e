"""What a prompt shows of the documents, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.errors import InvalidInput
from burnish.prompts.wording import show_passages
from burnish.rag_system.chunks import Scored, content_key, document_id_of, text_of, title_of
from burnish.rag_system.config import RAGConfig, is_whole
from burnish.results import Passage

# Less of a passage than this says too little to be worth its place.
LEAST_PART = 0.2


@dataclass(frozen=True)
class ContextBuilder:
    """Sets out the passages, best first, each between markers with its title, as far as they fit.

    max_length: of the whole, markers included; None for the RAGConfig's `context_max_length`.
    measure: the length of a text: in characters as a rule, or in tokens by a function of yours.
    The passage at which the room ends is cut at a word, or left out where little of it would be left.
    """

    max_length: int | None = None
    measure: Callable[[str], int] = len

    def __post_init__(self) -> None:
        if self.max_length is not None and not is_whole(self.max_length, 1):
            raise InvalidInput("max_length must be a whole number above 0, or None")

    def configured(self, config: RAGConfig) -> ContextBuilder:
        return ContextBuilder(config.context_max_length if self.max_length is None else self.max_length, self.measure)

    def build(self, query: str, retrieved: Sequence[Scored]) -> str:
        """The passages as one text; "" where there is none."""
        del query
        most = RAGConfig.context_max_length if self.max_length is None else self.max_length
        shown: list[Passage] = []
        for chunk, score in _distinct(retrieved):
            passage = _passage(chunk, score)
            if self._fits([*shown, passage], most):
                shown.append(passage)
                continue
            part = self._cut(shown, passage, most)
            shown.extend([part] if part is not None else [])
            break
        return show_passages(shown)

    def _fits(self, passages: Sequence[Passage], most: int) -> bool:
        return self.measure(show_passages(passages)) <= most

    def _cut(self, shown: Sequence[Passage], passage: Passage, most: int) -> Passage | None:
        """As many words of the passage as there is room for; of the best passage always some."""
        words = passage.text.split(" ")
        least, beyond = 0, len(words)
        while beyond - least > 1:
            middle = (least + beyond) // 2
            if self._fits([*shown, _shortened(passage, words[:middle])], most):
                least = middle
            else:
                beyond = middle
        enough = least >= LEAST_PART * len(words) if shown else least > 0
        return _shortened(passage, words[:least]) if enough else None


def _distinct(retrieved: Sequence[Scored]) -> list[Scored]:
    by_content: dict[Any, Scored] = {}
    for scored in retrieved:
        if text_of(scored[0]).strip():
            by_content.setdefault(content_key(scored[0]), scored)
    return list(by_content.values())


def _passage(chunk: Any, score: float) -> Passage:
    doc_id = document_id_of(chunk) or ""
    text = text_of(chunk)
    return Passage("", doc_id, title_of(chunk) or doc_id, text, 0, len(text), "und", score)


def _shortened(passage: Passage, words: Sequence[str]) -> Passage:
    text = " ".join(words) + " …"
    return Passage("", passage.document_id, passage.title, text, 0, len(text), "und", passage.score)

"""How a RAG system answers: search, context, prompt, model; and what it says where one of these comes to nothing.

It never raises, and what an exception says is never part of an answer: it may hold a key. The log has its type.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from burnish.errors import LanguageModelFailed
from burnish.prompts.wording import PromptLanguage, language_of
from burnish.rag_system import templates
from burnish.rag_system.chunks import UNKNOWN, Scored, document_id_of
from burnish.rag_system.errors import RAGRetrievalError
from burnish.rag_system.flow import Flow, Work, do

logger = logging.getLogger(__name__)


class Ending(Enum):
    """How an attempt to answer ended. All but the first two count as failed."""

    ANSWERED = "answered"
    INVALID_QUESTION = "invalid question"
    NOTHING_FOUND = "nothing found"
    SEARCH_FAILED = "search failed"
    FAILED = "failed"


@dataclass(frozen=True)
class Told:
    """What the asker is told, and how it came to that."""

    text: str
    ending: Ending


@dataclass(frozen=True)
class Prepared:
    """All that a model needs to answer: its prompt, and what the prompt rests on."""

    prompt: str
    retrieved: Sequence[Scored]


@dataclass(frozen=True)
class Question:
    """language: of the answer and of all messages; None leaves it to the question."""

    text: Any
    language: str | None = None

    @property
    def is_valid(self) -> bool:
        return isinstance(self.text, str) and bool(self.text.strip())

    @property
    def spoken(self) -> PromptLanguage:
        if self.language in ("en", "ar"):
            return self.language
        return language_of(self.text) if self.is_valid else "en"

    def told(self, ending: Ending) -> Told:
        """The message for an ending without an answer."""
        return Told(_MESSAGES[ending][self.spoken], ending)


_MESSAGES = {
    Ending.INVALID_QUESTION: templates.INVALID_QUESTION,
    Ending.NOTHING_FOUND: templates.NOTHING_FOUND,
    Ending.SEARCH_FAILED: templates.SEARCH_FAILED,
    Ending.FAILED: templates.ANSWER_FAILED,
}


@dataclass(frozen=True)
class Steps:
    """The steps to an answer, each of which a system may do in its own way."""

    retrieve: Work
    build_context: Callable[[str, Sequence[Scored]], Any]
    resolve_prompt: Callable[[str, str, str | None], str]


def preparing(question: Question, steps: Steps) -> Flow[Prepared | Told]:
    """What the model is to be asked, or what the asker is told where there is nothing to ask."""
    if not question.is_valid:
        return question.told(Ending.INVALID_QUESTION)
    try:
        retrieved = yield from do(steps.retrieve)
        if not retrieved:
            return question.told(Ending.NOTHING_FOUND)
        context = yield from do(Work(lambda: steps.build_context(question.text, retrieved)))
        if not str(context or "").strip():
            return question.told(Ending.NOTHING_FOUND)
        prompt = yield from do(Work(lambda: steps.resolve_prompt(question.text, str(context), question.language)))
    except Exception as error:
        return told_of(question, error)
    return Prepared(prompt, retrieved)


def answering(question: Question, model: Flow[str]) -> Flow[Told]:
    """What the model says, or what the asker is told where it says nothing."""
    try:
        answer = yield from model
        if not answer.strip():
            raise LanguageModelFailed("the language model gave an empty text")
    except Exception as error:
        return told_of(question, error)
    return Told(answer, Ending.ANSWERED)


def told_of(question: Question, error: Exception) -> Told:
    """What the asker is told of an exception: that there was one."""
    ending = Ending.SEARCH_FAILED if isinstance(error, RAGRetrievalError) else Ending.FAILED
    logger.error("no answer, %s: %s", ending.value, type(error).__name__)
    logger.debug("no answer", exc_info=error)
    return question.told(ending)


def sources_block(chunks: Sequence[Scored], max_sources: int, language: PromptLanguage) -> str:
    """The documents that an answer rests on, each once at its best score; "" where there are none."""
    best: dict[str, float] = {}
    for chunk, score in chunks:
        doc_id = " ".join((document_id_of(chunk) or UNKNOWN).split())
        best.setdefault(doc_id, score)
    line = templates.SOURCE[language]
    lines = [line.format(id=doc_id, score=score) for doc_id, score in list(best.items())[:max_sources]]
    return "\n".join((templates.SOURCES[language], *lines)) if lines else ""

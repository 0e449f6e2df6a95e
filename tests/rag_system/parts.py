"""What a user brings: a language model, a vector database, a chunker and a context manager of the plainest form."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from burnish.rag_system.chunking import SentenceChunker
from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.context import ContextBuilder
from burnish.rag_system.memory_store import MemoryStore
from burnish.rag_system.system import RAGSystem
from tests.world.word_embedder import WordEmbedder

Reply: TypeAlias = str | int | dict[str, Any] | Exception | Callable[[str], Any] | None


def always(value: Any) -> Callable[..., Any]:
    """A function that gives this whatever it is given; an exception it raises."""

    def given(*_: Any, **__: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return given


class Model:
    """`generate(prompt)` and nothing else. `prompts` keeps what it was asked for an answer, `asked` everything."""

    def __init__(self, answer: Reply = "fourteen days", rephrased: Reply = "", mark: Reply = "5") -> None:
        self._replies: dict[str, Reply] = {
            "Rephrase": rephrased,
            "أعد صياغة": rephrased,
            "one whole number": mark,
            "بعدد صحيح": mark,
        }
        self._answer = answer
        self.asked: list[str] = []

    def generate(self, prompt: str) -> Any:
        self.asked.append(prompt)
        reply = next((reply for sign, reply in self._replies.items() if sign in prompt), self._answer)
        if isinstance(reply, Exception):
            raise reply
        return reply(prompt) if callable(reply) else reply

    @property
    def prompts(self) -> list[str]:
        return [prompt for prompt in self.asked if not any(sign in prompt for sign in self._replies)]


@dataclass
class Piece:
    """A chunk of a user's own kind."""

    text: str
    doc_id: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class Words:
    """A user's chunker: pieces of three words."""

    def chunk(self, text: str, doc_id: str) -> list[Piece]:
        words = text.split()
        return [Piece(" ".join(words[at : at + 3]), doc_id) for at in range(0, len(words), 3)]


class Lists:
    """A user's vector database: a list, searched for shared words. `searches` keeps the questions."""

    def __init__(self, chunks: Sequence[Any] = ()) -> None:
        self.chunks = list(chunks)
        self.searches: list[str] = []
        self.adds: list[int] = []
        self.depths: list[int] = []

    @property
    def size(self) -> int:
        return len(self.chunks)

    def add(self, chunks: Sequence[Any]) -> None:
        self.adds.append(len(chunks))
        self.chunks.extend(chunks)

    def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
        self.searches.append(query)
        self.depths.append(top_k)
        asked = set(query.lower().split())
        scored = [(chunk, len(asked & set(chunk.text.lower().split())) / max(1, len(asked))) for chunk in self.chunks]
        best = sorted(scored, key=lambda pair: pair[1], reverse=True)
        return [(chunk, score) for chunk, score in best if score > 0 and score >= score_threshold][:top_k]

    def remove_by_doc_id(self, doc_id: str) -> int:
        before = len(self.chunks)
        self.chunks = [chunk for chunk in self.chunks if chunk.doc_id != doc_id]
        return before - len(self.chunks)


class Lines:
    """A user's context manager."""

    def build(self, query: str, retrieved: Sequence[Scored]) -> str:
        return "\n".join(chunk.text for chunk, _ in retrieved)


class Gate:
    """Holds whoever comes until it is opened; `waiting` counts them."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.arrived = threading.Event()

    def pass_through(self) -> None:
        self.arrived.set()
        assert self._open.wait(timeout=30)

    def open(self) -> None:
        self._open.set()


def users_system(
    vector_db: Any = None, llm: Any = None, config: RAGConfig | None = None, *, expansion: bool = False, **options: Any
) -> RAGSystem:
    """A system of a user's own parts."""
    store = Lists() if vector_db is None else vector_db
    model = Model() if llm is None else llm
    return RAGSystem(store, model, Words(), Lines(), config, enable_query_expansion=expansion, **options)


def own_system(
    llm: Any = None, config: RAGConfig | None = None, *, expansion: bool = False, **options: Any
) -> RAGSystem:
    """A system of burnish's own parts, in memory."""
    model = Model() if llm is None else llm
    store = MemoryStore(WordEmbedder())
    return RAGSystem(
        store, model, SentenceChunker(), ContextBuilder(), config, enable_query_expansion=expansion, **options
    )


def texts_of(found: Sequence[Scored]) -> list[str]:
    return [chunk.text for chunk, _ in found]


CATS = (Piece("cats purr", "a"), Piece("cats sleep all day", "b"), Piece("cats hunt", "b"))
FAILED = "❌ There was an error: the answer could not be generated."
SECRET = "key=sk-SECRET"


def system_of_cats(llm: Any = None, config: RAGConfig | None = None, **options: Any) -> RAGSystem:
    """A system of a user's own parts that knows what cats do."""
    return users_system(Lists(CATS), llm, config, **options)


async def streamed(rag: RAGSystem, *arguments: Any, **named: Any) -> list[str]:
    return [piece async for piece in rag.astream(*arguments, **named)]


def counts(rag: RAGSystem) -> tuple[int, int, int]:
    """Questions in all, answered, and failed."""
    stats = rag.get_stats()
    return stats["total_queries"], stats["successful_queries"], stats["failed_queries"]


class Broken(Lists):
    def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
        raise ConnectionError(SECRET)


fails = always(ValueError(SECRET))

"""The scripts that users know RAGSystem by, with burnish's names: each runs, and comes to what its text says."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from burnish.classic.recursive_rag import RecursiveRAG
from burnish.classic.self_irag import SelfIRAG
from burnish.rag_system.chunking import SentenceChunker
from burnish.rag_system.context import ContextBuilder
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.errors import RAGRetrievalError
from burnish.rag_system.memory_store import MemoryStore
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import Lines, Model, Words, users_system
from tests.world.word_embedder import WordEmbedder

logger = logging.getLogger(__name__)

llm, chunker, cm = Model("The answer."), Words(), Lines()


@pytest.fixture
def rag() -> RAGSystem:
    return RAGSystem(MemoryStore(WordEmbedder()), Model("Refunds take 14 days."), SentenceChunker(), ContextBuilder())


def test_add_text(rag: RAGSystem) -> None:
    n = rag.add_text("Employee handbook excerpt...", doc_id="emp_1")
    assert n == 1


def test_multiple_documents(rag: RAGSystem) -> None:
    rag.add_documents([LoadedDocument(page_content="Some text.", doc_id="doc1")])
    docs = [
        LoadedDocument(page_content="Doc A content...", doc_id="a"),
        LoadedDocument(page_content="Doc B content...", doc_id="b"),
    ]
    results = rag.add_documents(docs)
    assert results == {"a": 1, "b": 1}


def test_handling_a_document_with_no_content(rag: RAGSystem) -> None:
    assert rag.add_documents([LoadedDocument(page_content="   ", doc_id="empty")]) == {"empty": 0}


def test_a_bad_vector_db(capsys: pytest.CaptureFixture[str]) -> None:
    class BrokenVectorDB:
        def add(self, chunks: Any) -> None:
            raise ConnectionError("db down")

    rag = RAGSystem(vector_db=BrokenVectorDB(), llm=llm, chunker=chunker, context_manager=cm)
    try:
        rag.add_documents([LoadedDocument(page_content="text", doc_id="x")])
    except ConnectionError:
        print("Vector DB write failed — see logs for details")
    assert "Vector DB write failed" in capsys.readouterr().out


def test_checking_partial_failures(rag: RAGSystem, caplog: pytest.LogCaptureFixture) -> None:
    results = rag.add_documents([LoadedDocument("text", doc_id="a"), LoadedDocument("", doc_id="b")])
    failed = [doc_id for doc_id, n in results.items() if n == 0]
    if failed:
        logger.warning("Documents that produced zero chunks: %s", failed)
    assert "zero chunks: ['b']" in caplog.text


def test_retrieving(rag: RAGSystem, capsys: pytest.CaptureFixture[str]) -> None:
    rag.add_text("The leave policy grants thirty days.")
    results = rag.retrieve("What is the leave policy?")
    for chunk, score in results:
        print(score, chunk.text[:60])
    assert "The leave policy grants" in capsys.readouterr().out
    assert len(rag.retrieve("refund policy", top_k=10)) == 1


def test_cache_hit_and_miss(rag: RAGSystem) -> None:
    rag.add_text("the same answer to the same question")
    rag.retrieve("same question")
    rag.retrieve("same question")
    stats = rag.get_cache_stats()
    assert (stats["hits"], stats["misses"]) == (1, 1)


def test_error_handling(capsys: pytest.CaptureFixture[str]) -> None:
    class Down:
        def search(self, query: str, top_k: int, score_threshold: float) -> list[Any]:
            raise ConnectionError("db down")

    try:
        users_system(Down()).retrieve("query")
    except RAGRetrievalError as e:
        print(f"Retrieval failed: {e.query!r} — {e}")
    assert capsys.readouterr().out.startswith("Retrieval failed: 'query' — ")


def test_generating_with_sources(rag: RAGSystem) -> None:
    rag.add_text("By the return policy refunds are made within 14 days.", doc_id="policy_1")
    assert rag.generate("What is the return policy?") == "Refunds take 14 days."
    answer = rag.generate("What is the return policy?", include_sources=True)
    text, _, sources = answer.partition("\n\n")
    assert text == "Refunds take 14 days."
    assert sources.splitlines()[0] == "📚 Sources:"
    assert sources.splitlines()[1].startswith("• policy_1  (score: ")


def test_forcing_a_language_and_passing_options(rag: RAGSystem) -> None:
    rag.add_text("سياسة الإرجاع أربعة عشر يوماً.")
    assert rag.generate("ما هي سياسة الإرجاع؟", language="ar") == "Refunds take 14 days."
    assert rag.generate("Summarize the policy.", temperature=0.2, max_tokens=200) == "Refunds take 14 days."


def test_no_results_and_errors_are_distinct_states() -> None:
    def shown(rag: RAGSystem, user_query: str) -> str:
        answer = rag.generate(user_query)
        if answer.startswith("❌"):
            return "alert"
        if answer == "No relevant information found.":
            return "no results"
        return answer

    working, broken = users_system(), users_system(llm=Model(ConnectionError()))
    for rag in (working, broken):
        assert shown(rag, "anything") == "no results"
        rag.add_text("anything is here")
    assert (shown(working, "anything"), shown(broken, "anything")) == ("fourteen days", "alert")


def test_setting_a_prompt(rag: RAGSystem) -> None:
    @dataclass
    class SimpleTemplate:
        template: str

        def format(self, context: str, question: str) -> str:
            return self.template.format(context=context, question=question)

    rag.add_text("How long: refunds are made within 14 days.", doc_id="p")
    rag.set_prompt(SimpleTemplate("Context:\n{context}\n\nQ: {question}\nA:"))
    rag.generate("How long?")
    assert rag.llm.prompts[-1].endswith("</passage>\n\nQ: How long?\nA:")
    rag.set_prompt(None)
    rag.generate("How long?")
    assert "<documents>" in rag.llm.prompts[-1]


def test_streaming(rag: RAGSystem, capsys: pytest.CaptureFixture[str]) -> None:
    rag.add_text("The refund policy is simple.")

    async def main() -> None:
        async for token in rag.astream("Explain the refund policy."):
            print(token, end="", flush=True)

    asyncio.run(main())
    assert capsys.readouterr().out == "Refunds take 14 days."


def test_a_rag_system_is_a_backend_of_the_strategies(rag: RAGSystem) -> None:
    strategy = SelfIRAG(rag, Model('{"quote": "within 14 days", "answer": "14 days", "supported": "yes"}'))
    strategy.add_document("Refunds are made within 14 days.", {"title": "Refunds"})
    result = strategy.query("How long do refunds take?")
    assert result.answer == "14 days"
    assert rag.stats["total_documents"] == 1
    simple = RecursiveRAG(rag, Model('{"quote": "within 14 days", "answer": "14 days", "supported": "yes"}'))
    assert simple.query("Refunds: how many days?").answer == "14 days"

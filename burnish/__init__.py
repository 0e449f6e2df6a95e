"""Question answering over your own documents that checks its answers against the evidence and improves them.

    from burnish import SelfIRAG

    rag = SelfIRAG(my_rag, my_llm)
    result = rag.query("How long is the Danube?")
    print(result.answer, result.confidence, result.status, result.sources)

`my_rag.retrieve(query, top_k)` gives what it finds, in any of the usual shapes, and `my_llm.generate(prompt)` a text.
HyDERAG, RecursiveRAG, SelfRAG and MultiHopRAG are made and asked in the same way. `burnish.query` and `burnish.aquery`
are the same as plain functions. Importing burnish is light: what runs a question is imported with the first name that
needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burnish.config import (
    AutoConfig,
    HyDEConfig,
    MultiHopConfig,
    RecursiveConfig,
    ReflectionConfig,
    SearchConfig,
    SelfIRAGConfig,
    StrategyConfig,
)
from burnish.errors import BurnishError, InvalidInput, LLMCallError, RAGSystemError, RetrievalError, UnknownShape
from burnish.results import Answer, Citation, Evaluation, HypotheticalDocument, Outcome, Passage

if TYPE_CHECKING:
    from burnish.asking import aquery, query
    from burnish.classic.compatibility import (
        _call_llm,  # pyright: ignore[reportPrivateUsage] public by their old names
        _deduplicate,  # pyright: ignore[reportPrivateUsage]
        _doc_key,  # pyright: ignore[reportPrivateUsage]
        _retrieve_safe,  # pyright: ignore[reportPrivateUsage]
    )
    from burnish.classic.configs import RecursiveRAGConfig, SelfRAGConfig
    from burnish.classic.hyde_rag import HyDERAG
    from burnish.classic.multi_hop_rag import Hop, MultiHopRAG, MultiHopResult, SelfRefiningRAG
    from burnish.classic.recursive_rag import RecursiveRAG
    from burnish.classic.results import (
        EvaluationResult,
        HyDEResult,
        RecursiveRAGResult,
        RefinementStep,
        SelfRAGResult,
        Source,
        SubAnswer,
    )
    from burnish.classic.self_irag import SelfIRAG
    from burnish.classic.self_rag import ReflectionAttempt, ReflectionResult, SelfRAG
    from burnish.events import EffectBegun, EffectEnded, Finished, Recorded
    from burnish.rag_system.base import BaseRAGSystem
    from burnish.rag_system.cache import RetrievalCache
    from burnish.rag_system.chunking import SentenceChunker
    from burnish.rag_system.chunks import DocumentChunk
    from burnish.rag_system.config import RAGConfig, RerankerConfig, RerankMode
    from burnish.rag_system.context import ContextBuilder
    from burnish.rag_system.documents import LoadedDocument
    from burnish.rag_system.embedding import TextEmbedder as TextEmbedder
    from burnish.rag_system.errors import (
        InvalidRAGConfig,
        RAGError,
        RAGInitializationError,
        RAGRetrievalError,
        VectorDBPersistenceError,
    )
    from burnish.rag_system.expansion import QueryExpander
    from burnish.rag_system.memory_store import MemoryStore as MemoryStore
    from burnish.rag_system.merging import merge_retrieval_results
    from burnish.rag_system.postgres_store import PostgresStore as PostgresStore
    from burnish.rag_system.reranking import Reranker
    from burnish.rag_system.routing import PromptRouter, QuestionType
    from burnish.rag_system.system import RAGSystem
    from burnish.rag_system.versions import DocumentUpdate, DocumentVersionManager

__all__ = [
    "Answer",
    "AutoConfig",
    "BaseRAGSystem",
    "BurnishError",
    "Citation",
    "ContextBuilder",
    "DocumentChunk",
    "DocumentUpdate",
    "DocumentVersionManager",
    "EffectBegun",
    "EffectEnded",
    "Evaluation",
    "EvaluationResult",
    "Finished",
    "Hop",
    "HyDEConfig",
    "HyDERAG",
    "HyDEResult",
    "HypotheticalDocument",
    "InvalidInput",
    "InvalidRAGConfig",
    "LLMCallError",
    "LoadedDocument",
    "MultiHopConfig",
    "MultiHopRAG",
    "MultiHopResult",
    "Outcome",
    "Passage",
    "PromptRouter",
    "QueryExpander",
    "QuestionType",
    "RAGConfig",
    "RAGError",
    "RAGInitializationError",
    "RAGRetrievalError",
    "RAGSystem",
    "RAGSystemError",
    "Recorded",
    "RecursiveConfig",
    "RecursiveRAG",
    "RecursiveRAGConfig",
    "RecursiveRAGResult",
    "RefinementStep",
    "ReflectionAttempt",
    "ReflectionConfig",
    "ReflectionResult",
    "RerankMode",
    "Reranker",
    "RerankerConfig",
    "RetrievalCache",
    "RetrievalError",
    "SearchConfig",
    "SelfIRAG",
    "SelfIRAGConfig",
    "SelfRAG",
    "SelfRAGConfig",
    "SelfRAGResult",
    "SelfRefiningRAG",
    "SentenceChunker",
    "Source",
    "StrategyConfig",
    "SubAnswer",
    "UnknownShape",
    "VectorDBPersistenceError",
    "_call_llm",
    "_deduplicate",
    "_doc_key",
    "_retrieve_safe",
    "aquery",
    "merge_retrieval_results",
    "query",
]

_HOMES = {
    "burnish.asking": ("aquery", "query"),
    "burnish.classic.compatibility": ("_call_llm", "_deduplicate", "_doc_key", "_retrieve_safe"),
    "burnish.classic.configs": ("RecursiveRAGConfig", "SelfRAGConfig"),
    "burnish.classic.hyde_rag": ("HyDERAG",),
    "burnish.classic.multi_hop_rag": ("Hop", "MultiHopRAG", "MultiHopResult", "SelfRefiningRAG"),
    "burnish.classic.recursive_rag": ("RecursiveRAG",),
    "burnish.classic.results": (
        *("EvaluationResult", "HyDEResult", "RecursiveRAGResult", "RefinementStep", "SelfRAGResult", "Source"),
        "SubAnswer",
    ),
    "burnish.classic.self_irag": ("SelfIRAG",),
    "burnish.classic.self_rag": ("ReflectionAttempt", "ReflectionResult", "SelfRAG"),
    "burnish.events": ("EffectBegun", "EffectEnded", "Finished", "Recorded"),
    "burnish.rag_system.base": ("BaseRAGSystem",),
    "burnish.rag_system.cache": ("RetrievalCache",),
    "burnish.rag_system.chunking": ("SentenceChunker",),
    "burnish.rag_system.chunks": ("DocumentChunk",),
    "burnish.rag_system.config": (
        "RAGConfig",
        "RerankerConfig",
        "RerankMode",
    ),
    "burnish.rag_system.context": ("ContextBuilder",),
    "burnish.rag_system.documents": ("LoadedDocument",),
    "burnish.rag_system.errors": (
        "InvalidRAGConfig",
        "RAGError",
        "RAGInitializationError",
        "RAGRetrievalError",
        "VectorDBPersistenceError",
    ),
    "burnish.rag_system.expansion": ("QueryExpander",),
    "burnish.rag_system.merging": ("merge_retrieval_results",),
    "burnish.rag_system.reranking": ("Reranker",),
    "burnish.rag_system.routing": (
        "PromptRouter",
        "QuestionType",
    ),
    "burnish.rag_system.system": ("RAGSystem",),
    "burnish.rag_system.versions": (
        "DocumentUpdate",
        "DocumentVersionManager",
    ),
    # Heavy to import, and so no part of `from burnish import *`.
    "burnish.rag_system.embedding": ("TextEmbedder",),
    "burnish.rag_system.memory_store": ("MemoryStore",),
    "burnish.rag_system.postgres_store": ("PostgresStore",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)

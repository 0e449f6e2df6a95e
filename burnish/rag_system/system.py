"""The RAG system to begin with: documents in, answers out, over a vector database and a language model of your own.

    from burnish import ContextBuilder, MemoryStore, RAGSystem, SentenceChunker

    rag = RAGSystem(MemoryStore(), llm, SentenceChunker(), ContextBuilder())
    rag.add_text("Refunds are made within 14 days.", doc_id="policy")
    print(rag.ask("How long do refunds take?", include_sources=True))

The parts may be anybody's: what each needs stands in `stores`, `speaking` and `chunking`; a context manager is any
object with `build(query, retrieved)`. Each operation is written once, as a flow, and has a plain and an asynchronous
form.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from threading import Lock
from typing import Any, Self

from burnish.adapters.signatures import method_of
from burnish.errors import InvalidInput
from burnish.prompts.wording import PromptLanguage
from burnish.rag_system.base import BaseRAGSystem
from burnish.rag_system.cache import RetrievalCache
from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig, RerankerConfig, is_whole
from burnish.rag_system.context import ContextBuilder
from burnish.rag_system.documents import Documents, LoadedDocument, documents_of, unique_id
from burnish.rag_system.errors import RAGInitializationError
from burnish.rag_system.expansion import QueryExpander
from burnish.rag_system.flow import Flow, Work, arun, do_all, run
from burnish.rag_system.generation import (
    Ending,
    Prepared,
    Question,
    Steps,
    Told,
    answering,
    preparing,
    sources_block,
)
from burnish.rag_system.holdings import Holdings
from burnish.rag_system.ingestion import Ingester
from burnish.rag_system.persistence import Saved, load_saved, load_vector_db, save_system
from burnish.rag_system.prompting import PromptInput, plain_prompt, resolve
from burnish.rag_system.reranking import Reranker
from burnish.rag_system.retrieval import Lookup, Searcher, SearchRequest
from burnish.rag_system.routing import PromptRouter
from burnish.rag_system.speaking import speak
from burnish.rag_system.streaming import told_pieces
from burnish.rag_system.versions import DocumentUpdate, DocumentVersionManager

logger = logging.getLogger(__name__)

MAX_SOURCES = 3


class RAGSystem(BaseRAGSystem):
    """Ingests, searches and answers. Raises RAGInitializationError where a part is None, and names it.

    prompt: see `prompting.resolve`; None for the router's. enable_query_expansion: search with other wordings too.
    """

    def __init__(  # noqa: PLR0913, PLR0917 the parts that there are
        self,
        vector_db: Any,
        llm: Any,
        chunker: Any,
        context_manager: Any,
        config: RAGConfig | None = None,
        prompt: PromptInput | None = None,
        enable_query_expansion: bool = True,
        query_expansion_variants: int = 3,
    ) -> None:
        super().__init__(config)
        parts = {"vector_db": vector_db, "llm": llm, "chunker": chunker, "context_manager": context_manager}
        missing = [name for name, part in parts.items() if part is None]
        if missing:
            raise RAGInitializationError(f"a RAG system cannot do without {', '.join(missing)}", details=missing)
        self.vector_db, self.llm, self.chunker, self.context_manager = parts.values()
        self._custom_prompt = prompt
        self.prompt_router = self._router() if prompt is None else None
        reranking = RerankerConfig.from_rag_config(self.config) if self.config.enable_reranking else None
        self.reranker: Any = Reranker(reranking, llm=llm) if reranking is not None else None
        self._query_expander = QueryExpander(llm, query_expansion_variants) if enable_query_expansion else None
        self._retrieval_cache = _cache(self.config)
        self._lookup = Lookup(self._retrieval_cache)
        self._writing = Lock()
        self.holdings = Holdings(self._ingester, self._count)
        self.versions = DocumentVersionManager(self)

    # Documents

    def add_text(self, text: str, doc_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> int:
        """Ingest one text, and say how many chunks it came to. Without an id it is given one of its own."""
        document = LoadedDocument(text, dict(metadata or {}), doc_id or unique_id("text"))
        return self.add_documents([document])[str(document.doc_id)]

    def add_texts(
        self, texts: Mapping[str, str], metadata: Mapping[str, Mapping[str, Any]] | None = None
    ) -> dict[str, int]:
        """Ingest texts by their ids; `metadata` are those of each, by its id."""
        described = metadata or {}
        return self.add_documents(
            [LoadedDocument(text, dict(described.get(doc_id) or {}), doc_id) for doc_id, text in texts.items()]
        )

    def add_document(self, text: str, metadata: Mapping[str, Any] | None = None) -> int:
        """As `add_text`, by the name under which strategies know it."""
        return self.add_text(text, metadata=metadata)

    def add_documents(self, docs: Documents) -> dict[str, int]:
        """Ingest documents, a list of them or texts by their ids, and say of each how many chunks it came to.

        A document takes the place of the one with its id. One that is empty or cannot be cut comes to 0, and does not
        keep the others out. Raises what the vector database raises; the groups before it are stored.
        """
        return run(self.holdings.ingesting(documents_of(docs)))

    async def aadd_documents(self, docs: Documents) -> dict[str, int]:
        """As `add_documents`, cutting in threads, side by side."""
        return await arun(self.holdings.ingesting(documents_of(docs)))

    def add_or_update(
        self, document: LoadedDocument | str, doc_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> DocumentUpdate:
        """Ingest a document if it is news, embedding only what is new in it, and keep what it said before."""
        return self.versions.add_or_update(_loaded(document, doc_id, metadata))

    async def aadd_or_update(
        self, document: LoadedDocument | str, doc_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> DocumentUpdate:
        return await self.versions.aadd_or_update(_loaded(document, doc_id, metadata))

    def remove_document(self, doc_id: str) -> int:
        """Remove a document, and say how many chunks it had; 0 where there is none, or where removing failed."""
        try:
            return run(self.holdings.removing(doc_id))
        except Exception as error:
            logger.warning("document %s could not be removed: %s", doc_id, type(error).__name__)
            return 0

    # Searching

    def retrieve(
        self, query: str, top_k: int | None = None, *, filters: Mapping[str, Any] | None = None
    ) -> list[Scored]:
        """(chunk, score) pairs, best first; an empty list for an empty question or where nothing is found.

        filters: metadata that chunks must have, for a vector database that takes them. Where several wordings were
        searched with, scores are shares of the best that could be. Raises RAGRetrievalError where no search succeeds.
        """
        request = self._request(query, top_k, filters)
        if request is None:
            return []
        searcher = self._searcher()
        return self._lookup.find(request, searcher.scope(request), lambda: run(searcher.finding(request)))

    async def aretrieve(
        self, query: str, top_k: int | None = None, *, filters: Mapping[str, Any] | None = None
    ) -> list[Scored]:
        """As `retrieve`, with the same cache, all wordings searched with at once."""
        request = self._request(query, top_k, filters)
        if request is None:
            return []
        searcher = self._searcher()
        return await self._lookup.afind(request, searcher.scope(request), lambda: arun(searcher.finding(request)))

    # Answering

    def generate(
        self, query: str, include_sources: bool = False, language: str | None = None, **llm_kwargs: Any
    ) -> str:
        """The answer, or a message that says why there is none; it never raises.

        language: "en" or "ar" for prompt and messages; else the config's or the question's. llm_kwargs go to the model.
        """
        return run(self._generating(query, include_sources, language, llm_kwargs))

    async def agenerate(
        self, query: str, include_sources: bool = False, language: str | None = None, **llm_kwargs: Any
    ) -> str:
        return await arun(self._generating(query, include_sources, language, llm_kwargs))

    def ask(self, question: str, include_sources: bool = False, language: str | None = None, **llm_kwargs: Any) -> str:
        """`generate` by a shorter name."""
        return self.generate(question, include_sources=include_sources, language=language, **llm_kwargs)

    async def astream(
        self, query: str, language: str | None = None, *, include_sources: bool = False, **llm_kwargs: Any
    ) -> AsyncGenerator[str]:
        """The answer piece by piece, as `streaming` says, or a message that says why there is none."""
        question = self._question(query, language)
        prepared = await arun(self._preparing(question))
        if isinstance(prepared, Told):
            yield self._counted(prepared)
            return
        last = question.told(Ending.FAILED)
        async with aclosing(told_pieces(question, self.llm, prepared.prompt, llm_kwargs)) as told:
            async for last in told:
                yield last.text
        self._counted(last)
        if include_sources and last.ending is Ending.ANSWERED:
            yield self._sources(prepared.retrieved, question)

    # Prompts

    def set_prompt(self, prompt: PromptInput | None) -> None:
        """Ask with a prompt of one's own from now on; None goes back to the router's, or the plain one."""
        self._custom_prompt = prompt
        self.prompt_router = self._router() if prompt is None else None

    # Keeping

    def save(self, path: str) -> None:
        """Write the vector database and the statistics into a folder. Raises VectorDBPersistenceError."""
        saved = Saved(super().get_stats(), self.holdings.chunks, self.holdings.history.to_json())
        save_system(path, self.vector_db, saved)

    @classmethod
    def load(  # noqa: PLR0913, PLR0917 as the constructor
        cls,
        path: str,
        vector_db: Any,
        llm: Any,
        chunker: Any,
        context_manager: Any,
        config: RAGConfig | None = None,
        enable_query_expansion: bool = True,
    ) -> Self:
        """A system with what was saved there; the parts are given as they are to the constructor.

        vector_db: loads itself, or, where its `load` returns a new one, is the one to ask for that. Raises
        FileNotFoundError, VectorDBPersistenceError, and RAGError for a damaged file.
        """
        loaded = load_vector_db(path, vector_db)
        saved = load_saved(path)
        system = cls(
            loaded, llm, chunker, context_manager, config=config, enable_query_expansion=enable_query_expansion
        )
        system.stats.update(saved.stats)
        system.holdings.restore(saved.chunks, saved.versions)
        return system

    def cleanup(self) -> None:
        """Call the `cleanup` of each part that has one; what one raises is logged."""
        for name in ("vector_db", "llm", "chunker", "context_manager"):
            clean_up = method_of(getattr(self, name), ("cleanup",))
            if clean_up is not None:
                outcome = run(do_all([Work(clean_up)]))[0]
                if isinstance(outcome, Exception):
                    logger.error("%s was not cleaned up: %s", name, type(outcome).__name__)

    def invalidate_cache(self) -> None:
        """Forget all searches: for documents that were changed by others. Our own changes do so by themselves."""
        self._lookup.forget()

    def get_cache_stats(self) -> dict[str, Any]:
        """`RetrievalCache.stats`; empty where there is no cache."""
        return {} if self._retrieval_cache is None else self._retrieval_cache.stats()

    def get_stats(self) -> dict[str, Any]:
        size = getattr(self.vector_db, "size", 0)
        return {
            **super().get_stats(),
            "vector_db_size": size() if callable(size) else size,
            "llm_type": type(self.llm).__name__,
            "chunker_type": type(self.chunker).__name__,
            "query_expansion": self._query_expander is not None,
            "reranking": self.reranker is not None,
            "cache": self.get_cache_stats(),
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._counts()}, expansion={self._query_expander is not None})"

    # The parts as they are now: each may be replaced while the system lives.

    def _searcher(self) -> Searcher:
        return Searcher(self.vector_db, self._query_expander, self.reranker)

    def _ingester(self) -> Ingester:
        return Ingester(self.vector_db, self.chunker, self.config, self._writing, self._lookup.forget)

    def _router(self) -> PromptRouter | None:
        return PromptRouter(self.config.include_few_shot) if self.config.enable_prompt_routing else None

    def _request(self, query: Any, top_k: int | None, filters: Mapping[str, Any] | None) -> SearchRequest | None:
        wanted = self.config.top_k if top_k is None else top_k
        if not is_whole(wanted, 1):
            raise InvalidInput("top_k must be a whole number above 0, or None for the configured one")
        if not isinstance(query, str | None):
            raise InvalidInput(f"the question must be a text, not {type(query).__name__}")
        return SearchRequest(query, wanted, self.config.min_score, filters) if query and query.strip() else None

    def _question(self, query: Any, language: str | None) -> Question:
        return Question(query, language or self.config.prompt_language)

    def _preparing(self, question: Question, *, counted: bool = True) -> Flow[Prepared | Told]:
        self._count(total_queries=int(counted))
        retrieve = Work(lambda: self.retrieve(question.text), lambda: self.aretrieve(question.text))
        return (yield from preparing(question, Steps(retrieve, self._build_context, self._resolve_prompt)))

    def _generating(
        self, query: str, include_sources: bool, language: str | None, options: Mapping[str, Any]
    ) -> Flow[str]:
        question = self._question(query, language)
        prepared = yield from self._preparing(question)
        if isinstance(prepared, Told):
            return self._counted(prepared)
        sources = self._sources(prepared.retrieved, question) if include_sources else ""
        told = yield from answering(question, speak(self.llm, prepared.prompt, options))
        return self._counted(told) + (sources if told.ending is Ending.ANSWERED else "")

    def _generation_fault(self, query: str) -> str | None:
        question = self._question(query, None)

        def trying() -> Flow[Told]:
            prepared = yield from self._preparing(question, counted=False)
            if isinstance(prepared, Told):
                return prepared
            return (yield from answering(question, speak(self.llm, prepared.prompt)))

        ending = run(trying()).ending
        return None if ending is Ending.ANSWERED else ending.value

    def _counted(self, told: Told) -> str:
        """The text, once the statistics know how it ended. An invalid question is neither a success nor a failure."""
        answered = told.ending is Ending.ANSWERED
        failed = not answered and told.ending is not Ending.INVALID_QUESTION
        self._count(successful_queries=int(answered), failed_queries=int(failed))
        return told.text

    def _build_context(self, query: str, retrieved: Sequence[Scored]) -> Any:
        builder = self.context_manager
        if isinstance(builder, ContextBuilder):
            builder = builder.configured(self.config)
        return builder.build(query, retrieved)

    def _resolve_prompt(self, query: str, context: str, language: str | None = None) -> str:
        spoken = language or self.config.prompt_language
        return resolve(self._custom_prompt, self.prompt_router, self._build_prompt, query, context, spoken)

    def _build_prompt(self, query: str, context: str, language_pr: str | None) -> str:
        return plain_prompt(query, context, language_pr)

    def _format_sources(
        self, chunks: Sequence[Scored], max_sources: int = MAX_SOURCES, language: PromptLanguage = "en"
    ) -> str:
        return sources_block(chunks, max_sources, language)

    def _sources(self, retrieved: Sequence[Scored], question: Question) -> str:
        block = self._format_sources(retrieved, language=question.spoken)
        return f"\n\n{block}" if block else ""


def _cache(config: RAGConfig) -> RetrievalCache | None:
    if not config.enable_retrieval_cache:
        return None
    return RetrievalCache(maxsize=config.cache_maxsize, ttl=config.cache_ttl if config.cache_ttl > 0 else None)


def _loaded(document: LoadedDocument | str, doc_id: str | None, metadata: Mapping[str, Any] | None) -> LoadedDocument:
    return LoadedDocument(document, dict(metadata or {}), doc_id) if isinstance(document, str) else document

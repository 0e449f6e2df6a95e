"""What was searched for is remembered until it may be wrong, and what many ask at once is searched for once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.errors import InvalidInput
from burnish.rag_system.cache import RetrievalCache
from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig
from burnish.rag_system.flights import SingleFlight
from burnish.rag_system.reranking import Reranker
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import Gate, Lists, Model, Piece, always, texts_of, users_system

CATS = [Piece("cats purr", "a"), Piece("cats sleep all day", "b"), Piece("dogs bark", "c")]
Retrieve = Callable[..., list[Scored]]


def twice(rag: RAGSystem) -> list[Retrieve]:
    def awaited(*arguments: Any, **named: Any) -> list[Scored]:
        return asyncio.run(rag.aretrieve(*arguments, **named))

    return [rag.retrieve, awaited]


def test_both_forms_share_one_cache() -> None:
    rag = users_system(Lists(CATS))
    plain, awaited = twice(rag)
    assert plain("cats") == awaited("cats") == plain(" Cats ")
    assert len(rag.vector_db.searches) == 1
    assert {name: rag.get_cache_stats()[name] for name in ("hits", "misses")} == {"hits": 2, "misses": 1}


def test_a_callers_changes_to_a_result_reach_nobody_else() -> None:
    rag = users_system(Lists(CATS))
    for _ in range(2):
        found = rag.retrieve("cats")
        assert len(found) == 2
        found.clear()


def adds_on_a_loop(rag: RAGSystem) -> None:
    asyncio.run(rag.aadd_documents({"new": "cats hunt"}))


@pytest.mark.parametrize(
    "change",
    [
        partial(RAGSystem.add_text, text="cats hunt", doc_id="new"),
        partial(RAGSystem.add_documents, docs={"new": "cats hunt"}),
        adds_on_a_loop,
        partial(RAGSystem.add_or_update, document="cats hunt", doc_id="new"),
        partial(RAGSystem.remove_document, doc_id="a"),
        RAGSystem.invalidate_cache,
    ],
    ids=["add_text", "add_documents", "aadd_documents", "add_or_update", "remove_document", "invalidate_cache"],
)
def test_every_change_of_the_documents_is_seen_at_once(change: Callable[[RAGSystem], Any]) -> None:
    rag = users_system(Lists(CATS))
    rag.retrieve("cats")
    change(rag)
    searched = len(rag.vector_db.searches)
    found = texts_of(rag.retrieve("cats"))
    assert len(rag.vector_db.searches) == searched + 1
    assert sorted(found) == sorted(chunk.text for chunk in rag.vector_db.chunks if "cats" in chunk.text)


def test_a_write_that_failed_halfway_is_not_hidden_by_what_is_remembered() -> None:
    class Halfway(Lists):
        def add(self, chunks: Sequence[Any]) -> None:
            super().add(chunks)
            raise ConnectionError

    rag = users_system(Halfway(CATS))
    rag.retrieve("cats")
    with pytest.raises(ConnectionError):
        rag.add_text("cats hunt")
    assert "cats hunt" in texts_of(rag.retrieve("cats"))


def test_what_decides_a_result_decides_what_is_remembered() -> None:
    rag = users_system(Lists(CATS))
    assert len(rag.retrieve("cats sleep")) == 2
    rag.config.min_score = 0.9
    assert len(rag.retrieve("cats sleep")) == 1
    rag.config.min_score = 0.0
    assert len(rag.retrieve("cats sleep", top_k=1)) == 1
    rag.reranker = SimpleNamespace(rerank=always([]))
    assert rag.retrieve("cats sleep") == []
    rag.reranker = None
    rag.vector_db = Lists()
    assert rag.retrieve("cats sleep") == []


def test_nothing_found_is_not_remembered() -> None:
    rag = users_system()
    rag.retrieve("cats")
    rag.vector_db.chunks.append(CATS[0])
    assert len(rag.retrieve("cats")) == 1


def test_a_search_that_began_before_a_change_is_not_remembered_after_it() -> None:
    gate = Gate()

    class Slow(Lists):
        def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
            found = super().search(query, top_k, score_threshold)
            if threading.current_thread() is not threading.main_thread():
                gate.pass_through()
            return found

    rag = users_system(Slow(CATS))
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(rag.retrieve, "cats")
        assert gate.arrived.wait(timeout=30)
        rag.remove_document("a")
        assert texts_of(rag.retrieve("cats")) == ["cats sleep all day"]
        gate.open()
        assert len(early.result()) == 2
    assert texts_of(rag.retrieve("cats")) == ["cats sleep all day"]


# Together


class Held(Lists):
    """Lets nobody through until all have asked."""

    def __init__(self, chunks: Sequence[Any]) -> None:
        super().__init__(chunks)
        self.gate = Gate()

    def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
        self.gate.pass_through()
        return super().search(query, top_k, score_threshold)


@pytest.mark.parametrize("cached", [True, False])
def test_many_threads_with_one_question_search_once(cached: bool) -> None:
    rag = users_system(Held(CATS), config=RAGConfig(enable_retrieval_cache=cached))
    store: Held = rag.vector_db
    coming = threading.Barrier(17, timeout=30)

    def ask() -> list[Scored]:
        coming.wait()
        return rag.retrieve("cats")

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(ask) for _ in range(16)]
        coming.wait()
        assert store.gate.arrived.wait(timeout=30)
        store.gate.open()
        found = [each.result() for each in asked]
    assert all(texts_of(each) == texts_of(found[0]) for each in found)
    assert len({id(each) for each in found}) == 16
    # Without a cache, whoever comes after the search has ended searches anew.
    assert len(store.searches) == 1 or not cached


def test_many_tasks_with_one_question_search_once_and_rephrase_once() -> None:
    model = Model(rephrased="felines")
    rag = users_system(Lists(CATS), model, RAGConfig(enable_retrieval_cache=False), expansion=True)

    async def ask_all() -> list[list[Scored]]:
        return list(await asyncio.gather(*(rag.aretrieve("cats") for _ in range(16))))

    found = asyncio.run(ask_all())
    assert all(each == found[0] for each in found)
    assert (sorted(rag.vector_db.searches), len(model.asked)) == (["cats", "felines"], 1)


def test_one_who_is_cancelled_takes_nobody_along() -> None:
    async def trial() -> tuple[str, int]:
        flights: SingleFlight[str] = SingleFlight()
        started, go = asyncio.Event(), asyncio.Event()
        tries: list[int] = []

        async def work() -> str:
            tries.append(1)
            started.set()
            await go.wait()
            return "done"

        leader = asyncio.create_task(flights.ado("key", work))
        await started.wait()
        waiter, other = (asyncio.create_task(flights.ado("key", work)) for _ in range(2))
        await asyncio.sleep(0)
        other.cancel()
        leader.cancel()
        go.set()
        return await waiter, len(tries)

    assert asyncio.run(trial()) == ("done", 2)


def test_those_who_wait_are_given_the_error_too() -> None:
    flights: SingleFlight[str] = SingleFlight()
    gate = Gate()

    def work() -> str:
        gate.pass_through()
        raise ValueError("no")

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(flights.do, "key", work) for _ in range(4)]
        assert gate.arrived.wait(timeout=30)
        gate.open()
        assert [type(each.exception()) for each in asked] == [ValueError] * 4
    assert flights.do("key", lambda: "fine") == "fine"


# The cache by itself


def test_the_cache_forgets_what_is_old_and_what_is_unused_for_longest() -> None:
    now = [0.0]
    cache = RetrievalCache(maxsize=2, ttl=10, clock=lambda: now[0])
    cache.set("a", 5, [("x", 1.0)])
    cache.set("b", 5, [("y", 1.0)])
    assert cache.get("a", 5) == [("x", 1.0)]
    cache.set("c", 5, [("z", 1.0)])
    assert (cache.get("b", 5), cache.get("a", 5)) == (None, [("x", 1.0)])
    now[0] = 10.5
    assert cache.get("a", 5) is None
    assert cache.stats() == {"size": 1, "maxsize": 2, "ttl": 10, "hits": 2, "misses": 2, "hit_rate": 0.5}


def test_the_cache_tells_apart_counts_and_scopes_but_not_spacing_and_case() -> None:
    cache = RetrievalCache(ttl=None)
    cache.set("Hello  World", 5, [("x", 1.0)], scope=0.0)
    assert cache.get("hello world ", 5, scope=0.0) == [("x", 1.0)]
    assert (cache.get("hello world", 4, 0.0), cache.get("hello world", 5, 0.1)) == (None, None)
    assert (cache.invalidate("hello world", 5), cache.invalidate("hello world", 5, 0.0)) == (False, True)
    cache.clear()
    assert repr(cache) == "RetrievalCache(size=0/256, hit_rate=0.0%)"


def test_a_cache_without_room_or_time_is_refused() -> None:
    for maxsize, ttl in ((0, 1.0), (1, 0.0), (1, -1.0), (1, float("nan"))):
        with pytest.raises(InvalidInput):
            RetrievalCache(maxsize, ttl)


def test_many_threads_use_one_cache() -> None:
    cache = RetrievalCache(maxsize=10)

    def use(n: int) -> None:
        cache.set(f"q{n % 20}", 5, [(n, 1.0)])
        cache.get(f"q{(n + 1) % 20}", 5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2000)))
    stats = cache.stats()
    assert (stats["size"], stats["hits"] + stats["misses"]) == (10, 2000)


def test_no_store_is_taken_for_one_that_stood_there_before() -> None:
    rag = users_system(Lists(CATS))
    for n in range(50):
        rag.vector_db = Lists([Piece(f"cats {n}", "a")])
        assert texts_of(rag.retrieve("cats")) == [f"cats {n}"]


def test_another_reranker_of_the_same_settings_is_another() -> None:
    rag = users_system(Lists(CATS), config=RAGConfig(enable_reranking=True, rerank_mode="llm"))
    rag.reranker = Reranker(rag.reranker.config, Model(mark=lambda prompt: "9" if "purr" in prompt else "1"))
    assert texts_of(rag.retrieve("cats"))[0] == "cats purr"
    rag.reranker = Reranker(rag.reranker.config, Model(mark=lambda prompt: "9" if "day" in prompt else "1"))
    assert texts_of(rag.retrieve("cats"))[0] == "cats sleep all day"

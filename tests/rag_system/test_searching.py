"""Searching: wordings, one ranking, weighed, remembered; what fails on the way is left out or named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from burnish.errors import InvalidInput
from burnish.rag_system.chunks import Scored
from burnish.rag_system.config import RAGConfig, RerankerConfig
from burnish.rag_system.errors import RAGRetrievalError
from burnish.rag_system.reranking import Reranker
from burnish.rag_system.system import RAGSystem
from tests.rag_system.parts import Lists, Model, Piece, always, own_system, texts_of, users_system

CATS = [Piece("cats purr", "a"), Piece("cats sleep all day", "b"), Piece("dogs bark", "c")]
MAGIC = MagicMock(text="cats purr")
Retrieve = Callable[..., list[Scored]]


def twice(rag: RAGSystem) -> list[Retrieve]:
    def awaited(*arguments: Any, **named: Any) -> list[Scored]:
        return asyncio.run(rag.aretrieve(*arguments, **named))

    return [rag.retrieve, awaited]


@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_pairs_come_best_first_with_the_stores_own_chunks_and_scores(form: int) -> None:
    class Unsorted(Lists):
        def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
            return super().search(query, top_k, score_threshold)[::-1]

    rag = users_system(Unsorted(CATS))
    assert twice(rag)[form]("cats sleep") == [(CATS[1], 1.0), (CATS[0], 0.5)]


@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_the_store_is_asked_in_the_promised_way(form: int) -> None:
    seen: list[Any] = []

    def search(*arguments: Any, **named: Any) -> list[Scored]:
        seen.append((arguments, named))
        return []

    rag = users_system(SimpleNamespace(search=search), config=RAGConfig(top_k=7, min_score=0.25))
    assert twice(rag)[form]("cats") == []
    assert twice(rag)[form]("cats", 2) == []
    assert seen == [
        (("cats",), {"top_k": 7, "score_threshold": 0.25}),
        (("cats",), {"top_k": 2, "score_threshold": 0.25}),
    ]


@pytest.mark.parametrize("query", ["", "  ", None])
@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_an_empty_question_finds_nothing_and_asks_nobody(query: Any, form: int) -> None:
    rag = users_system(Lists(CATS))
    assert twice(rag)[form](query) == []
    assert rag.vector_db.searches == []


@pytest.mark.parametrize(("query", "top_k"), [("cats", 0), ("cats", -1), ("cats", True), ("cats", 2.5), (7, None)])
def test_what_cannot_be_asked_is_refused(query: Any, top_k: Any) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        users_system(Lists(CATS)).retrieve(query, top_k)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([("a text", 0.5)], [("a text", 0.5)]),
        ([(0.5, CATS[0])], [(CATS[0], 0.5)]),
        ([[CATS[0], 1]], [(CATS[0], 1.0)]),
        ([(CATS[0], np.float32(0.5))], [(CATS[0], 0.5)]),
        ([(MAGIC, 0.5)], [(MAGIC, 0.5)]),
        (iter([(CATS[0], 0.5)]), [(CATS[0], 0.5)]),
        (None, []),
        ([], []),
        ({"results": []}, []),
    ],
    ids=[
        *("bare texts", "score first", "lists", "scalars of arrays", "chunks that are also numbers"),
        *("a generator", "None", "nothing", "a dict of nothing"),
    ],
)
def test_pairs_may_come_either_way_round_and_in_any_list(found: Any, expected: list[Scored]) -> None:
    store = SimpleNamespace(search=always(found))
    assert users_system(store).retrieve("cats") == expected


@pytest.mark.parametrize(
    "found",
    [
        [{"text": "cats purr", "score": 0.5}],
        {"results": [{"content": "cats purr", "score": 0.5}]},
        [SimpleNamespace(page_content="cats purr", score=0.5)],
        [(SimpleNamespace(text="cats purr"), 0.5, {"page": 1})],
    ],
)
def test_what_is_no_pair_is_read_as_any_retrievers_reply(found: Any) -> None:
    store = SimpleNamespace(search=always(found))
    rag = users_system(store)
    [(chunk, score)] = rag.retrieve("cats")
    assert (chunk.text, score) == ("cats purr", 0.5)
    assert rag.generate("cats", include_sources=True).endswith("• unknown  (score: 0.50)")


@pytest.mark.parametrize("found", [7, [object()], ["ok", 3], [("a", "b")], {"error": "sk-SECRET"}])
def test_what_cannot_be_read_is_a_named_error_and_never_nothing_found(found: Any) -> None:
    store = SimpleNamespace(search=always(found))
    with pytest.raises(RAGRetrievalError) as caught:
        users_system(store).retrieve("cats")
    assert "sk-SECRET" not in str(caught.value)


def of_query(query: str) -> list[Scored]:
    return [(CATS[0], 0.9), (CATS[1], 0.2)]


def of_k(query: str, k: int) -> list[Scored]:
    return of_query(query)[:k]


def of_top_k(query: str, top_k: int = 3) -> list[Scored]:
    return of_query(query)[:top_k]


@pytest.mark.parametrize(
    "search",
    [
        of_query,
        of_k,
        of_top_k,
    ],
)
def test_a_search_with_fewer_arguments_will_do_and_the_least_score_holds(search: Any) -> None:
    rag = users_system(SimpleNamespace(search=search), config=RAGConfig(min_score=0.5))
    assert rag.retrieve("cats") == [(CATS[0], 0.9)]


def test_a_search_that_is_a_coroutine_is_waited_for_in_both_forms() -> None:
    async def search(query: str, top_k: int) -> list[Scored]:
        return [(CATS[0], 0.9)]

    for retrieve in twice(users_system(SimpleNamespace(search=search), config=RAGConfig(enable_retrieval_cache=False))):
        assert retrieve("cats") == [(CATS[0], 0.9)]


def test_an_asynchronous_search_is_awaited() -> None:
    class Native(Lists):
        async def asearch(self, query: str, top_k: int, score_threshold: float) -> list[Scored]:
            return [(CATS[2], 0.7)]

    assert asyncio.run(users_system(Native(CATS)).aretrieve("cats")) == [(CATS[2], 0.7)]


@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_a_search_that_fails_is_a_retrieval_error_that_keeps_its_secrets(form: int) -> None:
    class Down:
        def search(self, query: str, top_k: int) -> list[Scored]:
            raise ConnectionError("key=sk-SECRET")

    with pytest.raises(RAGRetrievalError, match="the vector database raised ConnectionError") as caught:
        twice(users_system(Down()))[form]("cats")
    assert caught.value.query == "cats"
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert "sk-SECRET" not in str(caught.value)


# Wordings


@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_each_wording_is_searched_with_and_the_question_comes_first(form: int) -> None:
    rag = users_system(Lists(CATS), Model(rephrased="felines purr\nthe cats"), expansion=True)
    found = twice(rag)[form]("cats sleep")
    assert rag.vector_db.searches[0] == "cats sleep" or form == 1
    assert set(rag.vector_db.searches) >= {"cats sleep", "felines purr", "the cats"}
    assert texts_of(found) == ["cats purr", "cats sleep all day"]
    assert all(0 < score <= 1 for _, score in found)
    assert found == sorted(found, key=lambda pair: pair[1], reverse=True)


@pytest.mark.parametrize("form", [0, 1], ids=["plain", "async"])
def test_one_wording_that_fails_is_left_out_and_the_result_is_not_remembered(form: int) -> None:
    class Flaky(Lists):
        def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
            if query == "felines":
                raise TimeoutError
            return super().search(query, top_k, score_threshold)

    rag = users_system(Flaky(CATS), Model(rephrased="felines"), expansion=True)
    assert "cats purr" in texts_of(twice(rag)[form]("cats"))
    assert rag.get_cache_stats()["size"] == 0


def test_the_question_itself_may_fail_as_long_as_another_wording_does_not() -> None:
    class Flaky(Lists):
        def search(self, query: str, top_k: int = 5, score_threshold: float = 0.0) -> list[Scored]:
            if query == "cats":
                raise TimeoutError
            return super().search(query, top_k, score_threshold)

    rag = users_system(Flaky(CATS), Model(rephrased="dogs"), expansion=True)
    assert texts_of(rag.retrieve("cats")) == ["dogs bark"]


def test_a_wording_that_no_one_expected_is_one_of_the_systems_parts() -> None:
    rag = users_system(Lists(CATS))
    rag._query_expander = SimpleNamespace(expand=always(["cats", "dogs"]))  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    assert set(texts_of(rag.retrieve("cats"))) == {"cats purr", "cats sleep all day", "dogs bark"}
    rag._query_expander = SimpleNamespace(expand=always(ValueError()))  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    assert texts_of(rag.retrieve("dogs")) == ["dogs bark"]


# Reranking


def test_a_reranker_sees_more_than_is_returned() -> None:
    store = Lists([Piece(f"cats {n}", f"d{n}") for n in range(40)])
    config = RAGConfig(enable_reranking=True, rerank_mode="llm", top_k=2)
    rag = users_system(store, Model(mark=lambda prompt: "10" if "cats 7" in prompt else "1"), config)
    found = rag.retrieve("cats")
    assert (store.depths, len(found)) == ([8], 2)
    assert found[0][0].text == "cats 7"


@pytest.mark.parametrize(("wanted", "kept"), [(None, 3), (1, 1), (6, 6)])
def test_after_reranking_as_many_are_kept_as_configured(wanted: int | None, kept: int) -> None:
    store = Lists([Piece(f"cats {n}", f"d{n}") for n in range(40)])
    config = RAGConfig(enable_reranking=True, rerank_top_k=wanted, top_k=3)
    assert len(users_system(store, config=config).retrieve("cats")) == kept


class Backwards:
    def rerank(self, query: str, chunks: Sequence[Scored]) -> list[Scored]:
        return list(chunks)[::-1]


def test_a_reranker_of_ones_own_may_stand_in() -> None:
    rag = users_system(Lists(CATS))
    rag.reranker = Backwards()
    assert texts_of(rag.retrieve("cats purr")) == ["cats sleep all day", "cats purr"]


def test_a_reranker_that_fails_leaves_the_order_and_nothing_is_remembered() -> None:
    rag = users_system(Lists(CATS))
    broken = SimpleNamespace(rerank=always(ValueError()))
    rag.reranker = Reranker(RerankerConfig(mode="provider"), provider=broken)
    assert texts_of(rag.retrieve("cats purr")) == ["cats purr", "cats sleep all day"]
    assert rag.get_cache_stats()["size"] == 0


# Filters


def test_filters_keep_to_what_the_metadata_say() -> None:
    rag = own_system()
    rag.add_texts({"a": "cats purr", "b": "cats sleep"}, {"a": {"lang": "en", "year": 1}, "b": {"lang": "fr"}})
    assert texts_of(rag.retrieve("cats", filters={"lang": "fr"})) == ["cats sleep"]
    assert texts_of(rag.retrieve("cats", filters={"lang": ["en", "de"], "year": 1})) == ["cats purr"]
    assert len(rag.retrieve("cats")) == 2


def test_filters_that_the_store_does_not_take_are_no_secret() -> None:
    with pytest.raises(InvalidInput, match="takes no filters"):
        users_system(Lists(CATS)).retrieve("cats", filters={"lang": "fr"})

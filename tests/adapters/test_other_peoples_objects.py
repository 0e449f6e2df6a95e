"""Retrievers and language models are called as their signatures want, whether they block or are awaited."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from burnish.adapters.backends import Backend
from burnish.adapters.calling import Caller, threads
from burnish.adapters.models import Model, as_messages, as_text
from burnish.effects import Prompt
from burnish.errors import InvalidInput, LanguageModelFailed, RetrievalFailed, UnknownShape

PROMPT = Prompt("answer", "The rules.", "The question.", 100, {"type": "object"})


def searched(retriever: Any, context: Any = None, *, blocking: bool = True) -> list[str]:
    async def search() -> list[str]:
        with threads(2) as pool:
            found = await Backend(retriever).search("a query", 3, context, Caller(pool, blocking))
            return [passage.text for passage in found]

    return asyncio.run(search())


def told(model: Any, *, blocking: bool = True) -> str:
    async def ask() -> str:
        with threads(2) as pool:
            return (await Model(model).reply(PROMPT, Caller(pool, blocking))).text

    return asyncio.run(ask())


def with_method(name: str, method: Callable[..., Any]) -> Any:
    return SimpleNamespace(**{name: method})


def by_giving(given: Any) -> Callable[..., Any]:
    return lambda *_, **__: given


def by_top_k(query: str, top_k: int) -> list[str]:
    return [f"{query} {top_k}"]


def by_top_k_with_default(query: str, top_k: int = 99) -> list[str]:
    return [f"{query} {top_k}"]


def by_k(query: str, k: int = 99) -> list[str]:
    return [f"{query} {k}"]


def by_limit_last(query: str, filters: Any = None, limit: int = 99) -> list[str]:
    return [f"{query} {limit}"] if filters is None else []


def by_some_name(query: str, how_many: int) -> list[str]:
    return [f"{query} {how_many}"]


def by_position_only(query: str, k: int, /) -> list[str]:
    return [f"{query} {k}"]


def by_name_only(*, query: str, top_k: int) -> list[str]:
    return [f"{query} {top_k}"]


def by_name_only_turned_round(*, top_k: int, question: str) -> list[str]:
    return [f"{question} {top_k}"]


def by_anything(*given: Any, **named: Any) -> list[str]:
    return [f"{given[0]} {named['top_k']}"]


def by_any_name(**named: Any) -> list[str]:
    return [f"{named['query']} {named['top_k']}"]


async def by_awaiting(query: str, top_k: int) -> list[str]:
    await asyncio.sleep(0)
    return [f"{query} {top_k}"]


def by_generating(query: str, top_k: int) -> Iterator[str]:
    yield f"{query} {top_k}"


async def by_generating_and_awaiting(query: str, top_k: int) -> AsyncIterator[str]:
    await asyncio.sleep(0)
    yield f"{query} {top_k}"


def by_giving_a_coroutine(query: str, top_k: int) -> Any:
    return by_awaiting(query, top_k)


@functools.wraps(by_k)
def wrapped(*given: Any, **named: Any) -> list[str]:
    return by_k(*given, **named)


SEARCHES = [
    *(by_top_k, by_top_k_with_default, by_k, by_limit_last, by_some_name, by_position_only, by_name_only),
    *(by_name_only_turned_round, by_anything, by_any_name, by_awaiting, by_generating, by_generating_and_awaiting),
    *(by_giving_a_coroutine, wrapped),
]


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.__name__)
def test_a_search_is_given_its_query_and_its_count(search: Callable[..., Any], blocking: bool) -> None:
    assert searched(with_method("retrieve", search), blocking=blocking) == ["a query 3"]


def test_a_search_that_takes_only_a_query_is_cut_to_the_count() -> None:
    def by_query(query: str) -> list[str]:
        return [f"{query} {number}" for number in range(9)]

    assert searched(with_method("retrieve", by_query)) == ["a query 0", "a query 1", "a query 2"]


@pytest.mark.parametrize("name", ["retrieve", "aretrieve", "similarity_search", "search", "invoke"])
def test_a_search_goes_by_several_names(name: str) -> None:
    search = by_awaiting if name == "aretrieve" else by_top_k
    assert searched(with_method(name, search)) == ["a query 3"]


def test_a_plain_function_is_a_retriever() -> None:
    assert searched(by_top_k) == ["a query 3"]


@pytest.mark.parametrize(("blocking", "called"), [(True, "plain 3"), (False, "awaited 3")])
def test_of_two_forms_the_one_is_called_that_fits(blocking: bool, called: str) -> None:
    class Both:
        def retrieve(self, query: str, top_k: int) -> list[str]:
            return [f"plain {top_k}"]

        async def aretrieve(self, query: str, top_k: int) -> list[str]:
            return [f"awaited {top_k}"]

    assert searched(Both(), blocking=blocking) == [called]


def test_context_goes_to_a_search_that_takes_one_and_to_no_other() -> None:
    def in_context(query: str, top_k: int, context: Any = None) -> list[str]:
        return [f"{query} {top_k} {context}"]

    assert searched(with_method("retrieve", in_context), {"user": 7}) == ["a query 3 {'user': 7}"]
    assert searched(with_method("retrieve", in_context)) == ["a query 3 None"]
    assert searched(with_method("retrieve", by_top_k), {"user": 7}) == ["a query 3"]


def test_a_mock_is_a_retriever_too() -> None:
    mock = MagicMock()
    mock.retrieve.return_value = ["A text."]
    assert searched(mock) == ["A text."]
    mock.retrieve.assert_called_once_with("a query", top_k=3)


def test_what_a_search_raises_is_told_by_its_kind_alone() -> None:
    def fails(query: str, top_k: int) -> list[str]:
        raise ConnectionError("key=sk-SECRET")

    with pytest.raises(RetrievalFailed, match=r"^retrieve raised ConnectionError$") as raised:
        searched(with_method("retrieve", fails))
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_a_generator_that_breaks_off_has_failed() -> None:
    def breaks(query: str, top_k: int) -> Iterator[str]:
        yield "A text."
        raise OSError("gone")

    with pytest.raises(RetrievalFailed, match="OSError"):
        searched(with_method("retrieve", breaks))


def test_a_search_that_cannot_be_called_so_has_failed() -> None:
    def takes_nothing() -> list[str]:
        return []

    with pytest.raises(RetrievalFailed, match="TypeError"):
        searched(with_method("retrieve", takes_nothing))


def test_an_unknown_shape_keeps_its_name() -> None:
    with pytest.raises(UnknownShape):
        searched(with_method("retrieve", by_giving(5)))


def one_text(prompt: str) -> str:
    return prompt


def one_text_by_name(*, prompt: str) -> str:
    return prompt


def one_text_and_options(prompt: str, temperature: float = 0.0, **options: Any) -> str:
    return prompt if not options else ""


def text_before_messages(prompt: str | None = None, messages: Any = None) -> str:
    return prompt or f"messages {messages}"


def any_text(*given: Any, **named: Any) -> str:
    return given[0] if not named else ""


async def awaited_text(prompt: str) -> str:
    await asyncio.sleep(0)
    return prompt


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    "generate",
    [one_text, one_text_by_name, one_text_and_options, text_before_messages, any_text, awaited_text],
    ids=lambda generate: generate.__name__,
)
def test_a_model_is_given_one_text(generate: Callable[..., Any], blocking: bool) -> None:
    assert told(with_method("generate", generate), blocking=blocking) == as_text(PROMPT)


@pytest.mark.parametrize("name", ["generate", "agenerate", "generate_async", "invoke", "ainvoke"])
def test_a_model_goes_by_several_names(name: str) -> None:
    generate = one_text if name in ("generate", "invoke") else awaited_text
    assert told(with_method(name, generate)) == as_text(PROMPT)


def test_a_plain_function_is_a_model() -> None:
    assert told(one_text) == as_text(PROMPT)


def messages_first(messages: Any = None, prompt: str | None = None) -> str:
    assert prompt is None
    return " | ".join(f"{each['role']}: {each['content']}" for each in messages)


def messages_by_name(*, messages: Any) -> str:
    return messages_first(messages)


@pytest.mark.parametrize("generate", [messages_first, messages_by_name])
def test_a_client_that_takes_messages_first_is_given_the_systems_and_the_users(generate: Callable[..., Any]) -> None:
    said = told(with_method("generate", generate))
    assert said == (
        'system: The rules.\n\nReply with one JSON object of this schema: {"type": "object"} | user: The question.'
    )
    assert [message["role"] for message in as_messages(PROMPT)] == ["system", "user"]


def test_a_generate_that_takes_many_prompts_is_passed_over_for_invoke() -> None:
    """As LangChain's models have it: `generate(prompts)` takes a list, `invoke(input)` what one has to say."""

    class Chat:
        def generate(self, prompts: list[str]) -> Any:
            raise AssertionError("not this one")

        def invoke(self, input: str) -> Any:  # noqa: A002 theirs
            return SimpleNamespace(content=input, usage_metadata={"input_tokens": 5, "output_tokens": 7})

    assert told(Chat()) == as_text(PROMPT)


@pytest.mark.parametrize(("blocking", "said"), [(True, "plain"), (False, "awaited")])
@pytest.mark.parametrize("name", ["agenerate", "generate_async"])
def test_a_model_with_both_forms_is_awaited_by_those_who_can(name: str, blocking: bool, said: str) -> None:
    async def awaited(prompt: str) -> str:
        return "awaited"

    both = SimpleNamespace(**{"generate": by_giving("plain"), name: awaited})
    assert told(both, blocking=blocking) == said


@pytest.mark.parametrize("model", [None, "", 0, [], {}, object(), SimpleNamespace(generate="a text")])
def test_what_cannot_be_asked_is_refused_with_the_methods_name(model: Any) -> None:
    with pytest.raises(InvalidInput, match="has no method 'generate'"):
        Model(model)
    with pytest.raises(InvalidInput, match="has no method 'retrieve'"):
        Backend(model)


def test_what_blocks_runs_in_a_thread_that_knows_the_callers_context() -> None:
    request = contextvars.ContextVar("request", default="none")
    ran_in: list[str] = []

    def generate(prompt: str) -> str:
        ran_in.append(threading.current_thread().name)
        return request.get()

    request.set("mine")
    assert told(with_method("generate", generate)) == "mine"
    assert ran_in[0].startswith("burnish")


@pytest.mark.parametrize("blocking", [True, False])
def test_a_model_out_of_replies_fails_and_does_not_hang(blocking: bool) -> None:
    replies: Iterator[str] = iter(())
    with pytest.raises(RuntimeError, match="StopIteration"):
        told(with_method("generate", lambda *_: next(replies)), blocking=blocking)


def added(retriever: Any, *, blocking: bool = True) -> Any:
    async def add() -> Any:
        with threads(1) as pool:
            return await Backend(retriever).add_document("A text.", {"page": 3}, Caller(pool, blocking))

    return asyncio.run(add())


class Adding:
    def retrieve(self, query: str) -> list[str]:
        return []


class AddsDocuments(Adding):
    def add_document(self, text: str, metadata: dict[str, Any]) -> Any:
        return ("added", text, metadata)


class AddsTexts(Adding):
    """As the RAG systems have it, which have no `add_document`."""

    def add_text(self, text: str, doc_id: str | None = None, metadata: dict[str, Any] | None = None) -> Any:
        return ("added", text, metadata) if doc_id is None else doc_id


class AddsBothWays(AddsDocuments):
    async def aadd_document(self, text: str, metadata: dict[str, Any]) -> Any:
        return ("awaited", text, metadata)


@pytest.mark.parametrize("retriever", [AddsDocuments(), AddsTexts()])
def test_a_document_is_handed_on_and_what_comes_back_returned(retriever: Any) -> None:
    assert added(retriever) == ("added", "A text.", {"page": 3})


def test_a_document_is_handed_on_by_awaiting_where_that_can_be() -> None:
    assert added(AddsBothWays(), blocking=False)[0] == "awaited"
    assert added(AddsBothWays())[0] == "added"


def test_a_retriever_that_takes_no_documents_says_so() -> None:
    with pytest.raises(InvalidInput, match="Adding has no method 'add_document'"):
        added(Adding())


def test_a_reply_that_is_no_text_is_told_by_its_type() -> None:
    with pytest.raises(LanguageModelFailed, match="must give a text, not NoneType"):
        told(with_method("generate", by_giving(None)))

"""`_call_llm`, `_retrieve_safe`, `_deduplicate` and `_doc_key` keep their old contracts."""

from __future__ import annotations

import asyncio
import hashlib
from types import SimpleNamespace
from typing import Any

import pytest
from users import Pauses, Shelf

import burnish
from burnish import (
    LLMCallError,
    RetrievalError,
    _call_llm,  # pyright: ignore[reportPrivateUsage] public by their old names
    _deduplicate,  # pyright: ignore[reportPrivateUsage]
    _doc_key,  # pyright: ignore[reportPrivateUsage]
    _retrieve_safe,  # pyright: ignore[reportPrivateUsage]
)


class Says:
    """A model that says or raises, in turn, what it is told."""

    def __init__(self, *said: Any) -> None:
        self.prompts: list[Any] = []
        self._said = list(said)

    def generate(self, prompt: Any) -> Any:
        self.prompts.append(prompt)
        said = self._said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


def test_a_call_gives_the_text_without_the_space_around_it() -> None:
    model = Says("  A text.\n")
    assert (_call_llm(model, "Say something."), model.prompts) == ("A text.", ["Say something."])


def test_a_call_is_tried_again_with_growing_pauses() -> None:
    pauses, model = Pauses(), Says(RuntimeError("once"), TimeoutError(), "A text.")
    assert _call_llm(model, "Say something.", 2, 0.5, sleep=pauses) == "A text."
    first, second = pauses.seconds
    assert 0.25 <= first <= 0.5 <= second <= 1.0


def test_a_call_that_always_fails_raises_with_the_models_own_words() -> None:
    pauses, model = Pauses(), Says(*[ConnectionError("no route")] * 4)
    with pytest.raises(LLMCallError, match="no route") as raised:
        _call_llm(model, "Say something.", retries=3, sleep=pauses)
    assert (len(model.prompts), len(pauses.seconds)) == (4, 3)
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert isinstance(raised.value, burnish.BurnishError)


@pytest.mark.parametrize("error", [TypeError("bad call"), ValueError("bad value"), PermissionError("bad key")])
def test_a_call_that_will_fail_again_is_not_tried_again(error: Exception) -> None:
    model = Says(error, "never reached")
    with pytest.raises(LLMCallError, match=str(error)):
        _call_llm(model, "Say something.")
    assert len(model.prompts) == 1


@pytest.mark.parametrize("said", [{"error": "bad key"}, "❌ Error: bad key", None, 5])
def test_what_is_no_text_is_an_error(said: Any) -> None:
    with pytest.raises(LLMCallError):
        _call_llm(Says(said), "Say something.")


def test_a_client_that_takes_messages_first_is_given_a_message() -> None:
    def generate(messages: Any = None, prompt: Any = None) -> str:
        return f"{messages[0]['role']}: {messages[0]['content']}"

    assert _call_llm(SimpleNamespace(generate=generate), "Say something.") == "user: Say something."


def test_a_call_works_inside_a_running_loop() -> None:
    async def inside() -> str:
        return _call_llm(Says("A text."), "Say something.")

    assert asyncio.run(inside()) == "A text."


@pytest.mark.parametrize("arguments", [(None, "p"), ("", "p"), (Says(), None), (Says(), "p", -1), (Says(), "p", 2, -1)])
def test_a_call_that_cannot_be_made_is_a_value_error(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be|has no method"):
        _call_llm(*arguments)


CHUNK = SimpleNamespace(text="A text.", chunk_id="c1", doc_id="d1", metadata={"page": 3})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([(CHUNK, 0.5)], {"text": "A text.", "score": 0.5, "source": "c1", "metadata": {"page": 3}}),
        ([{"text": "A text.", "score": 0.5}], {"text": "A text.", "score": 0.5}),
        ({"results": [{"text": "A text.", "own": 1}]}, {"text": "A text.", "own": 1}),
        ([CHUNK], {"text": "A text.", "score": 0.0, "source": "c1", "metadata": {"page": 3}}),
    ],
)
def test_what_is_found_comes_as_dicts(found: Any, expected: dict[str, Any]) -> None:
    assert _retrieve_safe(Shelf(finds=found), "a query") == [expected]


@pytest.mark.parametrize(
    "found", [[{"content": "A text."}], ["A text."], [("A text.", 0.5)], {"documents": ["A text."]}]
)
def test_what_used_to_lose_its_text_keeps_it(found: Any) -> None:
    assert [each["text"] for each in _retrieve_safe(Shelf(finds=found), "a query")] == ["A text."]


def test_as_many_are_found_as_asked_for() -> None:
    shelf = Shelf("One.", "Two.", "Three.")
    assert [each["text"] for each in _retrieve_safe(shelf, "a query", top_k=2)] == ["One.", "Two."]
    assert (shelf.queries, shelf.top_ks, _retrieve_safe(Shelf(), "a query")) == (["a query"], [2], [])


def test_a_search_that_breaks_raises_with_its_own_words() -> None:
    with pytest.raises(RetrievalError, match="no route") as raised:
        _retrieve_safe(Shelf(finds=ConnectionError("no route")), "a query")
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_a_shape_that_is_unknown_raises_and_is_not_empty() -> None:
    with pytest.raises(RetrievalError, match="cannot be read"):
        _retrieve_safe(Shelf(finds=[5]), "a query")


def test_the_key_of_a_document_is_that_of_its_beginning() -> None:
    text = "ا" * 119 + "bc"
    assert _doc_key({"text": text}) == hashlib.md5(text[:120].encode()).hexdigest() == _doc_key({"text": text + "d"})
    assert _doc_key({"text": "x" * 119 + "b"}) != _doc_key({"text": "x" * 119 + "c"})
    assert _doc_key({}) == _doc_key({"text": None}) == hashlib.md5(b"").hexdigest()


def test_of_documents_with_one_key_the_best_stays_in_the_place_of_the_first() -> None:
    docs = [{"text": "a", "score": 0.1}, {"text": "b", "score": 0.5}, {"text": "a", "score": 0.9, "own": 1}]
    assert _deduplicate(docs) == [docs[2], docs[1]]
    assert _deduplicate([]) == []


@pytest.mark.parametrize("score", [None, "0.2", "none", True, float("nan")])
def test_a_score_of_any_kind_can_be_compared(score: Any) -> None:
    docs: list[dict[str, Any]] = [{"text": "a", "score": score}, {"text": "a", "score": 0.5}, {"text": "a"}]
    assert _deduplicate(docs) == [docs[1]]

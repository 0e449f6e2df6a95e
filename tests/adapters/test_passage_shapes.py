"""What a retriever gives, of whatever shape, is read as passages; what cannot be read has a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from burnish.adapters.passages import FoundPassage, read_passages
from burnish.errors import RetrievalFailed, UnknownShape
from burnish.results import Passage

OURS = Passage("c1", "d1", "Title", "A text.", 10, 17, "en", 0.5)


class Pair(NamedTuple):
    text: str
    score: float


@dataclass
class Document:
    """As LangChain has it."""

    page_content: str | None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Chunk:
    """As the RAG systems have it."""

    text: str | None
    doc_id: str = "d7"
    chunk_id: str = "d7-0"
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


def generated() -> Iterator[str]:
    yield "A text."


READABLE: dict[str, Any] = {
    "texts": ["A text."],
    "one text": "A text.",
    "a tuple of texts": ("A text.",),
    "a generator": generated(),
    "an iterator": iter(["A text."]),
    "a set": {"A text."},
    "a mapping with text": [{"text": "A text."}],
    "a mapping with page_content": [{"page_content": "A text."}],
    "a mapping with content": [{"content": "A text."}],
    "a mapping alone": {"text": "A text."},
    "a text and its score": [("A text.", 0.9)],
    "a score and its text": [(0.9, "A text.")],
    "a pair as a list": [["A text.", 0.9]],
    "a mapping and its score": [({"text": "A text."}, 0.9)],
    "a score and its mapping": [(0.9, {"content": "A text."})],
    "a text, score and metadata": [("A text.", 0.9, {"page": 3})],
    "a text without a score": [("A text.", None)],
    "an object with text": [Chunk("A text.")],
    "an object with page_content": [Document("A text.")],
    "an object with content": [SimpleNamespace(content="A text.")],
    "an object alone": Document("A text."),
    "an object and its score": [(Chunk("A text."), 0.9)],
    "a score and its object": [(0.9, Document("A text."))],
    "three parts around an object": [(Document("A text."), 0.9, {"page": 3})],
    "a named tuple": [Pair("A text.", 0.9)],
    "results": {"results": [{"text": "A text."}]},
    "documents": {"documents": [Document("A text.")]},
    "results as a generator": {"results": generated()},
    "an object with documents": SimpleNamespace(documents=[Document("A text.")]),
    "a document within": [{"document": {"page_content": "A text."}, "score": 0.9}],
    "a node within": [SimpleNamespace(node=Chunk("A text."), score=0.9)],
    "a document within a pair": [({"document": "A text."}, 0.9)],
    "ours": [OURS],
    "ours and its score": [(OURS, 0.9)],
}

UNREADABLE: dict[str, Any] = {
    "nothing at all": None,
    "a number": 5,
    "bytes": b"A text.",
    "an object": object(),
    "a mapping of nothing known": {"count": 3},
    "numbers": [1, 2],
    "None in a list": [None],
    "two texts in a tuple": [("id", "A text.")],
    "a tuple of numbers": [(1, 0.5)],
    "an empty tuple": [()],
    "a text and an object": [("id", Document("A text."), 0.9)],
    "two mappings with texts": [({"text": "a"}, {"text": "b"})],
    "nested lists": [["one", "two"]],
    "a text that is none": [{"text": 5}],
    "a text that is bytes": [{"content": b"A text."}],
}


@pytest.mark.parametrize("found", READABLE.values(), ids=READABLE.keys())
def test_the_text_is_found_in_every_usual_shape(found: Any) -> None:
    assert [passage.text for passage in read_passages(found)] == ["A text."]


@pytest.mark.parametrize("found", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unknown_shape_is_a_loud_named_error_and_never_an_empty_context(found: Any) -> None:
    with pytest.raises(UnknownShape, match="give texts, mappings or objects"):
        read_passages(found)


def test_an_unknown_shape_is_told_by_its_type_and_not_by_what_it_holds() -> None:
    with pytest.raises(UnknownShape) as raised:
        read_passages([{"secret": "sk-SECRET"}])
    assert "dict" in str(raised.value)
    assert "SECRET" not in str(raised.value)
    assert isinstance(raised.value, RetrievalFailed)
    assert not raised.value.retryable


def test_an_error_in_place_of_passages_is_a_failure() -> None:
    with pytest.raises(RetrievalFailed, match="an error in place of passages"):
        read_passages({"error": "down"})


@pytest.mark.parametrize("found", [[], (), {"results": []}, iter(())])
def test_nothing_found_is_no_failure(found: Any) -> None:
    assert read_passages(found) == []


@pytest.mark.parametrize(
    "empty", [{"text": None}, {"text": " "}, Document(None), Chunk(""), "", ("", 0.5), {"document": {"text": ""}}]
)
def test_a_found_thing_without_a_text_is_left_out_and_the_others_stay(empty: Any) -> None:
    assert [passage.text for passage in read_passages([empty, "A text."])] == ["A text."]


@pytest.mark.parametrize(
    ("found", "score"),
    [
        ({"text": "a", "score": 0.9}, 0.9),
        ({"text": "a", "score": "0.9"}, 0.9),
        ({"text": "a", "similarity": 0.9}, 0.9),
        (("a", Decimal("0.9")), 0.9),
        (("a", 1), 1.0),
        ((Chunk("a"), None), 0.0),
        ({"text": "a", "score": None}, 0.0),
        ({"text": "a", "score": "best"}, 0.0),
        ({"text": "a", "score": True}, 0.0),
        (("a", float("nan")), 0.0),
        ((OURS, 0.9), 0.9),
    ],
)
def test_a_score_is_read_where_there_is_one(found: Any, score: float) -> None:
    assert [passage.score for passage in read_passages([found])] == [score]


def test_the_order_is_the_retrievers_own_whatever_its_scores() -> None:
    found = read_passages([("near", 0.1), ("far", 0.9)])
    assert [passage.text for passage in found] == ["near", "far"]


def test_a_passage_knows_its_document_its_title_and_what_was_said_of_it() -> None:
    [passage] = read_passages([{"text": "A text.", "metadata": {"source": "atlas", "page": 3}}])
    assert isinstance(passage, FoundPassage)
    assert (passage.document_id, passage.title, passage.metadata) == ("atlas", "atlas", {"source": "atlas", "page": 3})
    assert (passage.start, passage.end, passage.language) == (0, 7, "en")


@pytest.mark.parametrize(
    ("found", "document_id"),
    [
        (Chunk("a"), "d7"),
        ({"text": "a", "id": 5}, "5"),
        ({"text": "a", "doc_id": "x", "id": "y"}, "x"),
        (Document("a", {"doc_id": "m"}), "m"),
        (("a", 0.5, {"document_id": "t"}), "t"),
        ({"document": Document("a"), "id": "around"}, "around"),
    ],
)
def test_the_documents_id_is_taken_from_wherever_it_stands(found: Any, document_id: str) -> None:
    assert [passage.document_id for passage in read_passages([found])] == [document_id]


def test_without_an_id_equal_texts_are_one_document() -> None:
    one, same, other = read_passages(["A text.", " a  TEXT.", "Another."])
    assert one.document_id == same.document_id != other.document_id


def test_a_mapping_without_metadata_is_described_by_what_else_it_holds() -> None:
    [passage] = read_passages([{"text": "A text.", "score": 1, "page": 3}])
    assert isinstance(passage, FoundPassage)
    assert passage.metadata == {"page": 3}


def test_our_own_passages_stay_as_they_are() -> None:
    assert read_passages([OURS])[0] is OURS


def test_no_more_are_read_than_wanted() -> None:
    def endless() -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield f"Text {number}."

    assert [passage.text for passage in read_passages(endless(), 2)] == ["Text 1.", "Text 2."]


def test_a_generator_that_breaks_off_is_heard() -> None:
    def breaks() -> Iterator[str]:
        yield "A text."
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        read_passages(breaks())

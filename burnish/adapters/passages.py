"""What a retriever gave, read as passages.

It gives a list, a tuple, a generator or any other iterable of found things, best first, or a mapping or an object that
holds such a list as `results`, `documents`, `docs`, `hits`, `matches` or `passages`. A found thing is

* a text, or a Passage of ours;
* a mapping or an object with `text`, `page_content` or `content`, or with a `document`, `doc`, `chunk` or `node` that
  has one of those; beside it, perhaps, a score, an id, a title and `metadata`;
* a tuple of one of these with its score, and perhaps its metadata, in any order.

Anything else raises UnknownShape. A found thing whose text is empty or None has nothing to show and is left out. The
order is the retriever's own: whether a high score is near or far, it alone knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeGuard, cast

from burnish.adapters.reading import first_of, is_number, read_number
from burnish.errors import RetrievalFailed, UnknownShape
from burnish.results import Passage
from burnish.text.language import detect_language
from burnish.text.normalise import text_hash

TEXT_NAMES = ("text", "page_content", "content")
WITHIN_NAMES = ("document", "doc", "chunk", "node")
LIST_NAMES = ("results", "documents", "docs", "hits", "matches", "passages")
SCORE_NAMES = ("score", "similarity")
CHUNK_ID_NAMES = ("chunk_id", "id")
DOCUMENT_ID_NAMES = ("document_id", "doc_id", "id", "source")
NOTHING: Mapping[str, Any] = MappingProxyType({})
TITLE_NAMES = ("title", "source", "name")


@dataclass(frozen=True)
class FoundPassage(Passage):
    """A passage from somebody's retriever. metadata: what it said of it. origin: the found thing as it came."""

    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)
    origin: Any = field(default=None, compare=False, repr=False)


def read_passages(found: Any, limit: int | None = None) -> list[Passage]:
    """The passages of what a retriever gave, the first `limit` of them, in its order. Raises UnknownShape."""
    passages = (_passage(item) for item in _items(found))
    return list(islice((passage for passage in passages if passage is not None), limit))


def _items(found: Any) -> Iterable[Any]:
    if type(found) is list:
        return cast("list[Any]", found)
    if isinstance(found, str | Passage):
        return [found]
    held = next((held for name in LIST_NAMES if _is_list(held := first_of(found, (name,)))), None)
    if held is not None:
        return held
    if _carries_text(found):
        return [found]
    if first_of(found, ("error",)) is not None:
        raise RetrievalFailed("retrieve gave an error in place of passages")
    if _is_list(found):
        return found
    raise _unknown(type(found).__name__, "retrieve gave")


def _is_list(value: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)


def _passage(item: Any) -> Passage | None:
    if isinstance(item, Passage):
        return item if item.text.strip() else None
    if isinstance(item, str):
        return _made(item, item)
    if _carries_text(item):
        return _made(item, _text_of(item))
    if isinstance(item, tuple | list):
        return _of_parts(cast("Sequence[Any]", item))
    inner = first_of(item, WITHIN_NAMES)
    if inner is None or isinstance(inner, tuple | list):
        raise _unknown(type(item).__name__, "a found thing is")
    passage = _passage(inner)
    return passage and _with(passage, _score_of(item), _metadata_of(item), item)


def _of_parts(item: Sequence[Any]) -> Passage | None:
    """The one part that carries the text, scored and described by the others."""
    carriers = [part for part in item if isinstance(part, str | Passage) or _is_object_with_text(part)]
    carriers = carriers or [part for part in item if _carries_text(part) or first_of(part, WITHIN_NAMES) is not None]
    rest = [part for part in item if not any(part is carrier for carrier in carriers)]
    if len(carriers) != 1 or not all(part is None or is_number(part) or isinstance(part, Mapping) for part in rest):
        raise _unknown(", ".join(type(part).__name__ for part in item), "a found thing is a tuple of")
    passage = _passage(carriers[0])
    scores = [score for part in rest if (score := read_number(part)) is not None]
    described = [cast("Mapping[str, Any]", part) for part in rest if isinstance(part, Mapping)]
    return passage and _with(passage, next(iter(scores), None), next(iter(described), NOTHING), item)


def _made(item: Any, text: str) -> FoundPassage | None:
    if not text.strip():
        return None
    metadata = _metadata_of(item)
    chunk_id = _named(item, metadata, CHUNK_ID_NAMES) or text_hash(text)
    return FoundPassage(
        chunk_id=chunk_id,
        document_id=_named(item, metadata, DOCUMENT_ID_NAMES) or chunk_id,
        title=_named(item, metadata, TITLE_NAMES),
        text=text,
        start=0,
        end=len(text),
        language=detect_language(text),
        score=_score_of(item) or 0.0,
        metadata=metadata,
        origin=item,
    )


def _with(passage: Passage, score: float | None, metadata: Mapping[str, Any], origin: Any) -> Passage:
    """The passage with what the thing around it says of it."""
    scored = passage if score is None else replace(passage, score=score)
    if not isinstance(scored, FoundPassage):
        return scored
    described = {**scored.metadata, **metadata}
    document_id = _named({}, metadata, DOCUMENT_ID_NAMES) or scored.document_id
    title = scored.title or _named({}, metadata, TITLE_NAMES)
    return replace(scored, document_id=document_id, title=title, metadata=described, origin=origin)


def _carries_text(item: Any) -> bool:
    """Whether the mapping or object has a text, be it empty."""
    if isinstance(item, Mapping):
        return any(_is_text(cast("Mapping[str, Any]", item).get(name, 0)) for name in TEXT_NAMES)
    return _is_object_with_text(item)


def _is_object_with_text(item: Any) -> bool:
    plain = isinstance(item, Mapping | str | bytes | bytearray)
    return not plain and any(_is_text(getattr(item, name, 0)) for name in TEXT_NAMES)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _text_of(item: Any) -> str:
    text = first_of(item, TEXT_NAMES, str)
    return text or ""


def _metadata_of(item: Any) -> Mapping[str, Any]:
    """Its `metadata`; of a mapping without, whatever it holds beside the text."""
    held = first_of(item, ("metadata",), Mapping)
    if held is not None:
        return cast("Mapping[str, Any]", held)
    if not isinstance(item, Mapping):
        return {}
    known = (*TEXT_NAMES, *WITHIN_NAMES, *SCORE_NAMES)
    return {str(name): value for name, value in cast("Mapping[Any, Any]", item).items() if name not in known}


def _score_of(item: Any) -> float | None:
    return None if isinstance(item, str) else read_number(first_of(item, SCORE_NAMES))


def _named(item: Any, metadata: Mapping[str, Any], names: Sequence[str]) -> str:
    held = first_of(item, names) if not isinstance(item, str) else None
    held = first_of(metadata, names) if held is None else held
    return "" if held is None or callable(held) else str(held)


def _unknown(kind: str, what: str) -> UnknownShape:
    # By its type alone: what a found thing holds may be private, and the message goes into records.
    return UnknownShape(
        f"{what} {kind}, which cannot be read: give texts, mappings or objects with text, page_content or content, "
        "or tuples of one of these with its score"
    )

"""Cutting a document into passages that can be searched, quoted and shown to a model.

A chunk is a slice of the text, so a place in a chunk is a place in the document. Sentences are packed one after the
other until the next would pass a cap; the last one is repeated at the head of the next chunk, so that what a pronoun
points at is not lost. A heading opens a chunk and stays with the text under it. A paragraph that does not fit as a
whole opens one too, once the chunk is half full. Only a sentence longer than a whole chunk is cut inside, at a clause
mark or a space where there is one. Both caps are hard, since an embedding model does not read beyond its own.

Every character that is not white space lies in at least one chunk. The work grows with the length of the text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from burnish.errors import InvalidInput
from burnish.text.sentences import Opening, Sentence, sentences

MAX_WORDS = 110
MAX_CHARACTERS = 1000
_LONGEST_WORD = 40

# Han and kana are written without spaces: each character counts as a word, as it does for the embedding model. A run
# of more than 40 characters without a space counts as several.
_HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN_AND_KANA}]|[^\s{_HAN_AND_KANA}]{{1,{_LONGEST_WORD}}}")
_CLAUSE_END = frozenset(",;:،؛.!?؟\n")


@dataclass(frozen=True)
class Chunk:
    """A passage of a document: `text == document[start:end]`, in characters. `position` counts from 0."""

    position: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Unit:
    """What is never cut further: a sentence, or a piece of one that is longer than a chunk."""

    start: int
    end: int
    words: int
    opening: Opening


def split(
    text: str, *, max_words: int = MAX_WORDS, max_characters: int = MAX_CHARACTERS, overlap_sentences: int = 1
) -> tuple[Chunk, ...]:
    """The chunks of a text in their order; none for a text of white space only.

    A chunk holds no more than `max_words` words and `max_characters` characters. Overlap is kept to a third of a chunk
    and never crosses a heading.
    """
    if max_words < 1 or max_characters < _LONGEST_WORD or overlap_sentences < 0:
        raise InvalidInput(
            f"Cannot cut chunks of {max_words} words, {max_characters} characters, {overlap_sentences} sentences of "
            f"overlap: use at least 1 word, {_LONGEST_WORD} characters and no negative overlap"
        )
    packer = _Packer(max_words, max_characters, overlap_sentences)
    units = _with_no_heading_last(list(_units(text, sentences(text), max_words, max_characters)))
    return tuple(Chunk(n, start, end, text[start:end]) for n, (start, end) in enumerate(packer.pack(units)))


@dataclass(frozen=True)
class _Packer:
    max_words: int
    max_characters: int
    overlap_sentences: int

    def pack(self, units: Sequence[_Unit]) -> Iterator[tuple[int, int]]:
        chunk: list[_Unit] = []
        held = 0
        paragraphs = _paragraph_words(units)
        for unit, paragraph in zip(units, paragraphs, strict=True):
            if chunk and not self._belongs(unit, paragraph, chunk, held):
                yield chunk[0].start, chunk[-1].end
                chunk = self._overlap(chunk, unit)
                held = sum(repeated.words for repeated in chunk)
            chunk.append(unit)
            held += unit.words
        if chunk:
            yield chunk[0].start, chunk[-1].end

    def _belongs(self, unit: _Unit, paragraph: int, chunk: Sequence[_Unit], held: int) -> bool:
        if not self._fits(unit, chunk[0].start, held):
            return False
        if unit.opening is Opening.HEADING:
            return chunk[-1].opening is Opening.HEADING
        half_full = held >= self.max_words / 2 and chunk[-1].opening is not Opening.HEADING
        return unit.opening is Opening.NOTHING or not half_full or held + paragraph <= self.max_words

    def _fits(self, unit: _Unit, start: int, held: int) -> bool:
        return held + unit.words <= self.max_words and unit.end - start <= self.max_characters

    def _overlap(self, chunk: Sequence[_Unit], unit: _Unit) -> list[_Unit]:
        """The last sentences of a finished chunk, as far as they may stand before `unit` in the next one."""
        if unit.opening is Opening.HEADING:
            return []
        kept: list[_Unit] = []
        held = 0
        for earlier in reversed(chunk[1:][-self.overlap_sentences :] if self.overlap_sentences else []):
            held += earlier.words
            is_small = held <= self.max_words / 3 and unit.end - earlier.start <= self.max_characters
            if earlier.opening is Opening.HEADING or not is_small or held + unit.words > self.max_words:
                break
            kept.insert(0, earlier)
        return kept


def _paragraph_words(units: Sequence[_Unit]) -> list[int]:
    """For each unit, the words from it to the end of its paragraph."""
    remaining = [0] * len(units)
    for index in range(len(units) - 1, -1, -1):
        continues = index + 1 < len(units) and units[index + 1].opening is Opening.NOTHING
        remaining[index] = units[index].words + (remaining[index + 1] if continues else 0)
    return remaining


def _with_no_heading_last(units: list[_Unit]) -> list[_Unit]:
    """Headings that nothing follows are packed like a paragraph, or they would make a chunk of their own."""
    last_text = next((n for n in range(len(units) - 1, -1, -1) if units[n].opening is not Opening.HEADING), None)
    if last_text is None:
        return units
    return units[: last_text + 1] + [replace(unit, opening=Opening.PARAGRAPH) for unit in units[last_text + 1 :]]


def _units(text: str, parts: Iterable[Sentence], max_words: int, max_characters: int) -> Iterator[_Unit]:
    """The sentences, those that do not fit into a chunk, or not together with the headings before them, cut up."""
    headings_start, heading_words = None, 0
    for part in parts:
        found = list(_WORD.finditer(text, part.start, part.end))
        words, characters = max_words, max_characters
        if headings_start is not None and heading_words <= max_words / 2:
            words -= heading_words
            characters = max(_LONGEST_WORD, characters - (part.start - headings_start))
        yield from _cut(found, part.opening, _cuts(text, found, (words, characters), (max_words, max_characters)))
        if part.opening is Opening.HEADING:
            headings_start = part.start if headings_start is None else headings_start
            heading_words += len(found)
        else:
            headings_start, heading_words = None, 0


def _cut(found: Sequence[re.Match[str]], opening: Opening, cuts: Iterator[int]) -> Iterator[_Unit]:
    for first, beyond in pairwise(cuts):
        start, end = found[first].start(), found[beyond - 1].end()
        yield _Unit(start, end, beyond - first, opening if first == 0 else Opening.NOTHING)


def _cuts(text: str, found: Sequence[re.Match[str]], room: tuple[int, int], caps: tuple[int, int]) -> Iterator[int]:
    """The indices of the words at which a sentence is cut, its ends included; caps are (words, characters).

    `room` is what the first piece may take, `caps` what the others may.
    """
    first = 0
    yield first
    while first < len(found):
        max_words, max_characters = room if first == 0 else caps
        beyond = min(first + max_words, len(found))
        while found[beyond - 1].end() - found[first].start() > max_characters:
            beyond -= 1
        first = beyond if beyond == len(found) else _best_cut(text, found, first, beyond)
        yield first


def _best_cut(text: str, found: Sequence[re.Match[str]], first: int, beyond: int) -> int:
    """The last index in the second half of [first, beyond] before which a clause ends, or else a space stands."""
    candidates = range(beyond, first + (beyond - first) // 2, -1)
    spaced = [index for index in candidates if found[index].start() > found[index - 1].end()]
    clause = (
        index for index in spaced if _CLAUSE_END.intersection(text[found[index - 1].end() - 1 : found[index].start()])
    )
    return next(clause, spaced[0] if spaced else beyond)

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import InvalidInput
from burnish.text.chunking import Chunk, split
from burnish.text.sentences import sentences

PIECES = [
    "word ",
    "a. ",
    "Dr. ",
    "3.14 ",
    "\n",
    "\n\n",
    "# Head\n",
    "- item\n",
    "؟ ",
    "كلمة ",
    "漢字。",
    "x" * 90,
    "   ",
    "\u200f",
]
documents = st.one_of(st.lists(st.sampled_from(PIECES), max_size=80).map("".join), st.text(max_size=300))


def sentence_texts(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in sentences(text)]


def uncovered(text: str, chunks: tuple[Chunk, ...]) -> str:
    held = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
    return "".join(text[place] for place in range(len(text)) if place not in held).strip()


@given(documents, st.integers(1, 30), st.integers(40, 200), st.integers(0, 3))
def test_every_character_is_in_a_chunk_and_every_chunk_within_its_caps(
    text: str, max_words: int, max_characters: int, overlap: int
) -> None:
    chunks = split(text, max_words=max_words, max_characters=max_characters, overlap_sentences=overlap)
    assert uncovered(text, chunks) == ""
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert len(chunk.text) <= max_characters
        assert len(chunk.text.split()) <= max_words
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})
    assert [chunk.end for chunk in chunks] == sorted({chunk.end for chunk in chunks})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. J. K. Smith paid 3.14 dollars. He left!", ["Dr. J. K. Smith paid 3.14 dollars.", "He left!"]),
        ("Use tools, e.g. hammers. See Fig. 3 for more.", ["Use tools, e.g. hammers.", "See Fig. 3 for more."]),
        ("He said no. Then he left.", ["He said no.", "Then he left."]),
        ("She asked “Why?” He knew.", ["She asked “Why?”", "He knew."]),
        ("من هو؟ هو د. أحمد؛ طبيب. نعم", ["من هو؟", "هو د. أحمد؛", "طبيب.", "نعم"]),
        ("یہ جملہ ہے۔ دوسرا", ["یہ جملہ ہے۔", "دوسرا"]),
        ("これは文です。次の文。", ["これは文です。", "次の文。"]),
        ("1. First item\n2. Second item", ["1. First item", "2. Second item"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert sentence_texts(text) == expected


def test_a_line_wrapped_in_the_middle_of_a_sentence_does_not_end_it() -> None:
    wrapped = "This is the first line of a paragraph that a PDF has wrapped at the\nwidth of its page. And more."
    assert len(sentence_texts(wrapped)) == 2


def test_a_heading_stays_with_the_text_that_follows() -> None:
    text = "# One\n\n" + "Alpha beta gamma. " * 6 + "\n\n## Two\n\n" + "Delta epsilon zeta. " * 6
    first, second = split(text, max_words=25)
    assert first.text.startswith("# One")
    assert second.text.startswith("## Two\n\nDelta")


def test_a_heading_stays_with_a_sentence_that_only_just_fits_a_chunk() -> None:
    text = "# A heading\n\n" + " ".join(["word"] * 20) + "."
    chunks = split(text, max_words=20)
    assert chunks[0].text.startswith("# A heading\n\nword")
    assert uncovered(text, chunks) == ""


def test_a_heading_at_the_very_end_joins_the_text_before_it() -> None:
    assert [chunk.text for chunk in split("Some text.\n\n# Tail")] == ["Some text.\n\n# Tail"]


def test_neighbours_share_their_border_sentence() -> None:
    text = " ".join(f"Sentence number {n} says something." for n in range(12))
    chunks = split(text, max_words=20, overlap_sentences=1)
    assert all(right.start < left.end for left, right in pairwise(chunks))
    apart = split(text, max_words=20, overlap_sentences=0)
    assert all(right.start >= left.end for left, right in pairwise(apart))


def test_a_chunk_ends_with_its_paragraph_where_it_can() -> None:
    paragraph = "One two three four five six. " * 2
    text = "\n\n".join([paragraph.strip()] * 3)
    assert [chunk.text for chunk in split(text, max_words=20, overlap_sentences=0)] == [paragraph.strip()] * 3


def test_a_long_sentence_is_cut_after_a_clause() -> None:
    text = "one two three four five six, seven eight nine ten eleven twelve"
    assert split(text, max_words=8)[0].text == "one two three four five six,"


@pytest.mark.parametrize("run", ["a" * 100_000, "." * 100_000, '."' * 50_000, "漢" * 20_000, "(" * 50_000])
def test_a_run_without_spaces_is_cut_by_its_length(run: str) -> None:
    chunks = split(run)
    assert max(len(chunk.text) for chunk in chunks) <= 1000
    assert "".join(chunk.text for chunk in chunks) == run


def test_white_space_alone_gives_no_chunk() -> None:
    assert split(" \n\n\t ") == ()
    assert split("") == ()


def test_defaults_keep_ordinary_prose_near_a_hundred_words() -> None:
    text = " ".join(f"This is plain sentence number {n} with ten words here." for n in range(100))
    lengths = [len(chunk.text.split()) for chunk in split(text)]
    assert all(90 <= length <= 110 for length in lengths[:-1])


@pytest.mark.parametrize("bad", [{"max_words": 0}, {"max_characters": 5}, {"overlap_sentences": -1}])
def test_impossible_sizes_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="Cannot cut chunks"):
        split("text", **bad)

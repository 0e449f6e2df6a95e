"""A stream of bytes cut into lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from api.intake import MAX_LINE_BYTES, LineSplitter


def split(blocks: list[bytes]) -> list[tuple[int, bytes]]:
    splitter = LineSplitter()
    lines = [line for block in blocks for line in splitter.feed(block)]
    return [*lines, *splitter.finish()]


@given(st.lists(st.text(alphabet="ab \n\r\u2028é").map(str.encode), max_size=8))
def test_lines_and_their_numbers_do_not_depend_on_how_the_stream_was_cut(blocks: list[bytes]) -> None:
    whole = b"".join(blocks)
    expected = [(number, line) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]
    assert split(blocks) == expected
    assert split([whole[at : at + 1] for at in range(len(whole))]) == expected


def test_of_a_line_that_is_too_long_only_the_beginning_is_kept() -> None:
    blocks = [b"x" * MAX_LINE_BYTES, b"x" * MAX_LINE_BYTES, b"x\nshort"]
    (first, long), second = split(blocks)
    assert (first, len(long)) == (1, MAX_LINE_BYTES + 1)
    assert second == (2, b"short")

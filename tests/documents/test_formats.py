from __future__ import annotations

import codecs
import random
from collections.abc import Callable

import pytest
from building import empty_word, pdf, word, word_bomb
from hypothesis import given
from hypothesis import strategies as st

from burnish.world.documents import Document, read_bytes

Read = Callable[..., Document]
Refusal = Callable[..., str]

ARABIC = "القاهرة هي عاصمة مصر، وفيها نهر النيل."
FRENCH = "Le café est près de la gare, où l'été est très agréable."
RUSSIAN = "Москва является столицей России и крупнейшим городом страны."
OTHER_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


def test_plain_text_is_titled_by_its_name(read: Read) -> None:
    found = read(ARABIC.encode(), "notes/cairo.txt")
    assert found == Document("notes/cairo.txt", "cairo", ARABIC, "text/plain", "notes/cairo.txt", "ar", {})


def test_text_is_cleaned_on_the_way_in(read: Read) -> None:
    assert read(b"one\r\ntwo" + b" and more" * 20 + b"\x00", "a.txt").text == "one\ntwo" + " and more" * 20


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (codecs.BOM_UTF8 + ARABIC.encode(), ARABIC, None),
        (ARABIC.encode("utf-16"), ARABIC, "utf-16"),
        (codecs.BOM_UTF16_BE + ARABIC.encode("utf-16-be"), ARABIC, "utf-16"),
        (codecs.BOM_UTF32_LE + ARABIC.encode("utf-32-le"), ARABIC, "utf-32"),
        (ARABIC.encode("cp1256"), ARABIC, "windows-1256"),
        (f"Title in English\n{ARABIC}".encode("cp1256"), f"Title in English\n{ARABIC}", "windows-1256"),
        (FRENCH.encode("cp1252"), FRENCH, "windows-1252"),
        ("“Smart” – quotes".encode("cp1252"), "“Smart” – quotes", "windows-1252"),
        (b"in a caf\xe9 \x81", "in a café ", "iso-8859-1"),
    ],
)
def test_encodings_are_told_apart(read: Read, data: bytes, text: str, encoding: str | None) -> None:
    found = read(data, "a.txt")
    assert (found.text, found.metadata.get("encoding")) == (text, encoding)


def test_utf8_that_lost_a_byte_is_still_read_as_utf8(read: Read) -> None:
    data = ARABIC.encode()
    found = read(data[:21] + data[22:], "a.txt")
    assert found.text.count("\ufffd") == 1
    assert found.text.endswith("نهر النيل.")
    assert found.metadata == {"encoding": "utf-8, damaged"}


@pytest.mark.parametrize("data", [RUSSIAN.encode("cp1251"), "東京は日本の首都です".encode("shift-jis")])
def test_an_encoding_that_cannot_be_told_is_refused_and_not_guessed(refusal: Refusal, data: bytes) -> None:
    assert "save it as UTF-8" in refusal(data, "a.txt")


def test_binary_data_named_as_text_is_refused(refusal: Refusal) -> None:
    assert "binary data" in refusal(random.Random(1).randbytes(5000), "a.txt")
    assert "binary data" in refusal(b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a.md")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.docx", "a.jsonl"])
@pytest.mark.parametrize("data", [b"", b" \n\t\n"])
def test_an_empty_file_is_reported_as_empty(refusal: Refusal, data: bytes, name: str) -> None:
    assert "empty" in refusal(data, name)


def test_an_unknown_kind_of_file_is_refused_with_the_kinds_that_are_read(refusal: Refusal) -> None:
    reason = refusal(b"x", "a.xlsx")
    assert ".xlsx" in reason
    assert ".docx" in reason
    assert "no suffix" in refusal(b"x", "README")


def test_the_suffix_goes_before_the_declared_media_type(read: Read) -> None:
    assert read(b"# T", "a.md", "text/plain").media_type == "text/markdown"
    assert read(b"<p>x</p>", "upload", "text/html; charset=utf-8").media_type == "text/html"


def test_a_file_over_the_limit_is_refused_with_both_sizes(refusal: Refusal) -> None:
    reason = refusal(b"a" * 2_000_001, "a.txt", max_megabytes=1.5)
    assert "2.0 MB" in reason
    assert "1.5" in reason


def test_markdown_is_kept_and_titled_by_its_first_heading(read: Read) -> None:
    text = "intro\n\n```sh\n# no heading\n```\n\n## The **title** ##\n\ntext"
    found = read(text.encode(), "a.md")
    assert (found.text, found.title) == (text, "The **title**")
    assert read(b"Title\n=====\ntext", "a.md").title == "Title"
    assert read(b"no heading\n#hashtag\n---\n# ", "a.md").title == "a"


def test_front_matter_goes_into_the_metadata(read: Read) -> None:
    found = read(b"---\ntitle: 'Hours'\ntags:\n  - a\n  - b\ndate: 2024-01-02\n---\n# Heading\ntext", "a.md")
    assert found.text == "# Heading\ntext"
    assert found.title == "Hours"
    assert found.metadata == {"title": "Hours", "tags": "- a\n- b", "date": "2024-01-02"}


def test_a_rule_at_the_top_is_no_front_matter(read: Read) -> None:
    assert read(b"---\njust text\n---\nmore", "a.md").text == "---\njust text\n---\nmore"
    assert read(b"---\nkey: open ended", "a.md").text == "---\nkey: open ended"


PAGE = """<!DOCTYPE html><html><head><title> The
 page </title><style>p {color: red}</style></head><body><nav><a href="/">Home</a></nav>
<h1>Hours &amp; days</h1><p>Open  from
 <b>nine</b> to five.</p><!-- a comment --><script>alert(1)</script>
<ul><li>Monday</li><li>Tuesday<ul><li>early</li></ul></li></ul>
<table><tr><th>Day</th><th>From</th></tr><tr><td>Sunday</td><td>ten</td></tr></table>
<pre>a
  b</pre>one<br>two</body></html>"""


def test_html_gives_what_a_reader_sees_with_its_structure(read: Read) -> None:
    found = read(PAGE.encode(), "a.html")
    assert found.title == "The page"
    assert found.text == (
        "# Hours & days\n\nOpen from nine to five.\n\n- Monday\n- Tuesday\n\n- early\n\n"
        "Day | From\nSunday | ten\n\na\nb\n\none\ntwo"
    )


def test_html_without_a_title_is_titled_by_its_heading(read: Read) -> None:
    assert read(b"<h1>Hours <i>now</i></h1><p>x</p>", "a.htm").title == "Hours now"
    assert read(b"<p>x</p>", "a.htm").title == "a"


def test_html_is_read_in_the_encoding_it_declares_unless_that_is_wrong(read: Read) -> None:
    page = f'<meta charset="windows-1251"><p>{RUSSIAN}</p>'
    assert read(page.encode("cp1251"), "a.html").text == RUSSIAN
    wrong = f'<meta charset="windows-1251"><p>{ARABIC}</p>'
    assert read(wrong.encode("utf-8"), "a.html").text == ARABIC
    xhtml = f'<?xml version="1.0" encoding="windows-1251"?><html xmlns="http://www.w3.org/1999/xhtml"><p>{ARABIC}</p>'
    assert read(xhtml.encode("utf-8"), "a.html").text == ARABIC
    unknown = f'<meta charset="no-such"><p>{ARABIC}</p>'
    assert read(unknown.encode("cp1256"), "a.html").text == ARABIC


@pytest.mark.parametrize(
    "page", [b"<script>app()</script>", b"<html><head><title>T</title></head></html>", b"<![foo bar]>"]
)
def test_html_without_text_is_refused(refusal: Refusal, page: bytes) -> None:
    assert refusal(page, "a.html")


def test_html_nested_without_bound_is_read(read: Read) -> None:
    depth = 5000
    assert read(b"<div>" * depth + b"deep" + b"</div>" * depth, "a.html").text == "deep"


@pytest.mark.parametrize("piece", [b"<a ", b"<!--", b"<?", b"<![CDATA[", b"</a ", b"<", b"&", b"<i> </i>", b"<tr><td>"])
def test_html_broken_over_and_over_gives_an_end(piece: bytes) -> None:
    assert len(read_bytes(piece * 20_000, "a.html")) == 1


def test_pdf_pages_are_read_in_order(read: Read) -> None:
    found = read(pdf("First page", "", "Third page", title="Report"), "a.pdf")
    assert found.text == "First page\n\nThird page"
    assert (found.title, found.metadata, found.language) == ("Report", {"pages": 3}, "en")


def test_a_locked_pdf_says_so_and_one_that_only_forbids_printing_is_read(refusal: Refusal, read: Read) -> None:
    assert "password" in refusal(pdf("Secret", password="x"), "a.pdf")
    assert read(pdf("Read me", owner_password="x"), "a.pdf").text == "Read me"


def test_a_pdf_of_images_asks_for_text_recognition(refusal: Refusal) -> None:
    assert "OCR" in refusal(pdf("", ""), "a.pdf")


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4\nnothing", pdf("Text")[:200], b"no pdf at all", pdf("T").replace(b"Kids", b"Kibs")]
)
def test_a_damaged_pdf_is_refused(refusal: Refusal, data: bytes) -> None:
    assert "PDF" in refusal(data, "a.pdf")


def test_word_paragraphs_headings_lists_and_tables_are_read_in_order(read: Read) -> None:
    found = read(word(title="Library", table=True), "a.docx")
    assert found.title == "Library"
    assert found.text == (
        "## Opening hours\n\nThe library opens at nine.\n\n- Closed on Friday\n\n"
        "Day | From | To\nMonday | all day\n\nتفتح المكتبة في التاسعة."
    )


def test_a_word_file_without_a_title_is_titled_by_its_name(read: Read) -> None:
    assert read(word(), "hours.docx").title == "hours"


def test_a_word_bomb_is_refused_before_it_is_unpacked(refusal: Refusal) -> None:
    bomb = word_bomb(megabytes=30)
    assert len(bomb) < 100_000
    assert "unpacks to more than" in refusal(bomb, "a.docx", max_megabytes=5)


@pytest.mark.parametrize("data", [b"PK\x03\x04 broken", b"no zip", word()[:3000], word_bomb(1)])
def test_a_damaged_word_file_is_refused(refusal: Refusal, data: bytes) -> None:
    assert "damaged" in refusal(data, "a.docx")


def test_word_files_that_are_locked_or_without_text_are_refused(refusal: Refusal) -> None:
    assert "password" in refusal(OTHER_OFFICE, "a.docx")
    assert "no text" in refusal(empty_word(), "a.docx")


@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.md", "a.html", "a.pdf", "a.docx", "a.jsonl", "a", "a.b"]))
def test_no_bytes_make_reading_raise(data: bytes, name: str) -> None:
    found = read_bytes(data, name)
    assert found
    assert all(item.text.strip() if isinstance(item, Document) else item.reason for item in found)

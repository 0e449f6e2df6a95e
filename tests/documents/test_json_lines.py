from __future__ import annotations

import json
from pathlib import Path

from burnish.world.documents import Document, UnreadableFile, read_bytes, read_path


def reasons(found: list[Document | UnreadableFile]) -> dict[str, str]:
    return {item.source: item.reason for item in found if isinstance(item, UnreadableFile)}


def test_each_line_is_a_document_with_its_own_id_title_language_and_metadata() -> None:
    line = {"id": "d1", "text": "Guten Tag", "title": "Gruß", "language": "DE", "metadata": {"year": 2020}}
    assert read_bytes(json.dumps(line).encode(), "a.jsonl") == [
        Document("d1", "Gruß", "Guten Tag", "application/jsonl", "a.jsonl:1", "de", {"year": 2020})
    ]


def test_other_spellings_of_the_keys_are_read_and_null_is_absent() -> None:
    lines = [{"doc_id": 7, "content": "one", "lang": "en"}, {"id": None, "document_id": "x", "text": "مرحبا بكم"}]
    found = read_bytes("\n".join(map(json.dumps, lines)).encode(), "a.jsonl")
    assert [(item.document_id, item.text, item.language) for item in found if isinstance(item, Document)] == [
        ("7", "one", "en"),
        ("x", "مرحبا بكم", "ar"),
    ]


def test_a_line_without_an_id_is_named_by_file_and_line() -> None:
    [found] = read_bytes(b'\xef\xbb\xbf\n\n{"text": "hello"}\n', "set/a.jsonl")
    assert isinstance(found, Document)
    assert found.document_id == "set/a.jsonl#3"


def test_a_bad_line_is_told_of_by_number_and_the_rest_goes_on() -> None:
    lines = [
        b'{"text": "good"}',
        b"not json",
        b"[1]",
        b'{"text": 5.5}',
        b'{"id": "x"}',
        b'{"text": " "}',
        b'{"text": "x", "metadata": 3}',
        b'{"id": true, "text": "x"}',
        b'{"text": "\xff"}',
        b"[" * 100_000,
        b'{"text": "x", "n": ' + b"9" * 5000 + b"}",
        b'{"text": "last\\u0000\\ud800"}',
    ]
    found = read_bytes(b"\n".join(lines), "a.jsonl")
    assert [item.text for item in found if isinstance(item, Document)] == ["good", "last"]
    told = reasons(found)
    assert list(told) == [f"a.jsonl:{n}" for n in range(2, 12)]
    for number, words in [(2, "not JSON"), (3, "object"), (4, '"text"'), (5, "no text"), (7, "metadata"), (9, "UTF-8")]:
        assert words in told[f"a.jsonl:{number}"]


def test_a_line_over_the_limit_is_left_out_without_its_neighbours(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "one"}\n{"text": "' + "a" * 5000 + '"}\n{"text": "three"}\n')
    found = list(read_path(file, max_megabytes=0.001))
    assert [item.text for item in found if isinstance(item, Document)] == ["one", "three"]
    assert "1,000 bytes" in reasons(found)["a.jsonl:2"]


def test_a_file_that_is_no_jsonl_at_all_is_given_up_after_twenty_lines() -> None:
    found = read_bytes(b"plain prose\n" * 1000, "a.jsonl")
    assert len(found) == 21
    assert isinstance(found[-1], UnreadableFile)
    assert "rest of the file" in found[-1].reason

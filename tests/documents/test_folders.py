from __future__ import annotations

import os
from pathlib import Path

import pytest
from building import pdf

from burnish.world.documents import Document, UnreadableFile, read_path


def names(folder: Path) -> list[str]:
    return [item.document_id for item in read_path(folder) if isinstance(item, Document)]


def reasons(folder: Path) -> dict[str, str]:
    return {item.source: item.reason for item in read_path(folder) if isinstance(item, UnreadableFile)}


def test_a_folder_is_read_with_its_folders_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ["b.txt", "a/z.md", "a/c/d.html", "e.jsonl", "A.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"id": "own", "text": "text"}')
    assert names(tmp_path) == ["A.txt", "a/c/d.html", "a/z.md", "b.txt", "own"]


def test_a_single_file_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    [found] = read_path(str(tmp_path / "a.txt"))
    assert isinstance(found, Document)
    assert found.document_id == found.source == "a.txt"


def test_a_bad_file_is_told_of_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("Locked", password="x"))
    (tmp_path / "b.png").write_bytes(b"\x89PNG")
    (tmp_path / "c.txt").write_text("good")
    (tmp_path / "d.txt").write_text("")
    assert names(tmp_path) == ["c.txt"]
    assert list(reasons(tmp_path)) == ["a.pdf", "b.png", "d.txt"]


def test_hidden_files_and_office_locks_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in [".git/a.txt", ".env.txt", "~$report.docx"]:
        (tmp_path / name).write_text("secret")
    assert list(read_path(tmp_path)) == []


def test_links_neither_loop_nor_lead_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_text("text")
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (root / "sub" / "loop").symlink_to(root, target_is_directory=True)
    (root / "sub" / "again.txt").symlink_to(root / "sub" / "a.txt")
    (root / "out.txt").symlink_to(outside)
    (root / "out").symlink_to(tmp_path, target_is_directory=True)
    (root / "broken.txt").symlink_to(root / "nowhere.txt")
    (root / "self.txt").symlink_to(root / "self.txt")
    assert names(root) == ["sub/a.txt", "sub/again.txt"]
    told = reasons(root)
    assert list(told) == ["broken.txt", "out", "out.txt", "self.txt"]
    assert "leads out" in told["out"]
    assert "leads out" in told["out.txt"]


def test_a_folder_reached_through_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert names(tmp_path / "link") == ["a.txt"]


def test_a_pipe_does_not_hang_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "b.jsonl")
    assert list(reasons(tmp_path)) == ["a.txt", "b.jsonl"]


@pytest.mark.parametrize("name", ["missing.txt", "missing"])
def test_a_path_that_is_not_there_is_told_of(tmp_path: Path, name: str) -> None:
    [found] = read_path(tmp_path / name)
    assert isinstance(found, UnreadableFile)
    assert found.source == name


def test_a_file_name_that_is_no_text_gives_an_id_that_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    [name] = names(tmp_path)
    assert name.encode("utf-8")
    assert name.startswith("caf")


def test_a_large_file_is_not_opened(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(10**12)
    assert "limit is 50" in reasons(tmp_path)["a.txt"]

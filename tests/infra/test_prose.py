"""The documents hang together: links lead somewhere, decisions have their form, and files that are named exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NAMED_FILE = re.compile(r"`((?:burnish|api|workers|migrations|infra|docs)/[\w./]+)`")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_within_the_repository_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_of_the_code_that_is_named_exists(page: Path) -> None:
    named = [name for name in NAMED_FILE.findall(page.read_text("utf-8")) if "yours" not in name]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_has_its_number_its_status_and_its_three_parts(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert lines[0].startswith(f"# {page.name[:4]} ")
    assert lines[2].startswith("Status: ")
    parts = [line for line in lines if line.startswith("## ")]
    assert parts == ["## What a newcomer would do", "## What we do, and why", "## Consequences"]


def test_the_index_lists_every_decision_by_its_title() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8")
    listed = re.findall(r"\| \[(\d{4})\]\((\S+)\) \| (.+?) \|", index)
    titles = [(page.name[:4], page.name, page.read_text("utf-8").splitlines()[0][7:]) for page in DECISIONS]
    assert listed == titles

"""The programs of README and of the page on RAGSystem run, one after the other, and come to what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.classic.users import Speaker
from tests.rag_system.parts import Model
from tests.world.word_embedder import WordEmbedder

ROOT = Path(__file__).resolve().parents[2]


def programs_of(page: str) -> list[Any]:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    return [compile(program, page, "exec") for program in programs]


def test_the_programs_of_the_readme_run() -> None:
    programs = programs_of("README.md")
    known: dict[str, Any] = {"llm": Speaker()}
    for program in programs:
        exec(program, known)
    assert len(programs) == 2
    assert known["result"].answer == "The Danube is 2,850 km long."
    assert known["answer"].trace["chosen"] == "self_irag"


def test_the_programs_of_the_page_run(database_url: str, tmp_path: Path) -> None:
    programs = programs_of("docs/rag_system.md")
    known: dict[str, Any] = {
        "llm": Model("14 days."),
        "embedder": WordEmbedder(),
        "database_url": database_url,
        "folder": str(tmp_path / "saved"),
    }
    first, on_postgres, *others = programs
    for program in (first, *others, on_postgres):
        exec(program, known)
    assert len(programs) == 5
    assert known["rag"].add_text("Refunds are made within 14 days.") == 1
    assert known["rag"].ask("How long do refunds take?").startswith("14 days.")

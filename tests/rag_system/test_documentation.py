"""The page on RAGSystem: its programs run, one after the other, and come to what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.rag_system.parts import Model
from tests.world.word_embedder import WordEmbedder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rag_system.md"


def test_the_programs_of_the_page_run(database_url: str, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    known: dict[str, Any] = {
        "llm": Model("14 days."),
        "embedder": WordEmbedder(),
        "database_url": database_url,
        "folder": str(tmp_path / "saved"),
    }
    first, on_postgres, *others = programs
    for program in (first, *others, on_postgres):
        exec(compile(program, str(PAGE), "exec"), known)
    assert len(programs) == 5
    assert known["rag"].add_text("Refunds are made within 14 days.") == 1
    assert known["rag"].ask("How long do refunds take?").startswith("14 days.")

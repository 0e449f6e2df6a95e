"""A RAG system on disk: a folder with what the vector database wrote, `stats.json` and `documents.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from burnish.rag_system.errors import RAGError, VectorDBPersistenceError

VECTOR_DB = "vector_db"
STATS = "stats.json"
DOCUMENTS = "documents.json"


@dataclass(frozen=True)
class Saved:
    """stats: counts by name. chunks: the number of chunks of each document. versions: see DocumentVersionManager."""

    stats: Mapping[str, int] = field(default_factory=dict[str, int])
    chunks: Mapping[str, int] = field(default_factory=dict[str, int])
    versions: Mapping[str, Any] = field(default_factory=dict[str, Any])


def save_system(path: str, vector_db: Any, saved: Saved) -> None:
    """Raises VectorDBPersistenceError where the vector database cannot be saved."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        vector_db.save(folder / VECTOR_DB)
    except Exception as error:
        raise VectorDBPersistenceError("save", str(folder / VECTOR_DB), type(error).__name__) from error
    _write(folder / DOCUMENTS, {"chunks": saved.chunks, "versions": saved.versions})
    _write(folder / STATS, saved.stats)


def load_vector_db(path: str, vector_db: Any) -> Any:
    """The vector database with what was saved: itself, or the new one that its `load` gives.

    Raises FileNotFoundError where there is no such folder, VectorDBPersistenceError where loading fails.
    """
    folder = Path(path)
    if not folder.exists():
        raise FileNotFoundError(f"there is no saved system at {path}")
    try:
        loaded = vector_db.load(folder / VECTOR_DB)
    except Exception as error:
        raise VectorDBPersistenceError("load", str(folder / VECTOR_DB), type(error).__name__) from error
    return loaded if hasattr(loaded, "search") and hasattr(loaded, "add") else vector_db


def load_saved(path: str) -> Saved:
    """What stands beside the vector database; what is missing is empty. Raises RAGError for a damaged file."""
    stats, documents = (_read(Path(path) / name) for name in (STATS, DOCUMENTS))
    return Saved(_numbers(stats), _numbers(documents.get("chunks")), documents.get("versions") or {})


def _numbers(held: Any) -> dict[str, int]:
    named = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
    return {name: value for name, value in named.items() if isinstance(value, int)}


def _write(path: Path, content: Any) -> None:
    """In one step: a crash leaves the old file or the new one."""
    beside = path.with_name(f"{path.name}.{uuid4().hex}")
    beside.write_text(json.dumps(content, ensure_ascii=False, indent=2), "utf-8", errors="replace")
    beside.replace(path)


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        if not isinstance(content, dict):
            raise TypeError
    except (OSError, ValueError, TypeError) as error:
        raise RAGError(f"{path} is damaged: delete it to go on without what it holds", type(error).__name__) from error
    return cast("dict[str, Any]", content)

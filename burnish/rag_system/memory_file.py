"""The one file in which an in-memory store is saved: vectors and, as JSON, their chunks. Nothing in it is executed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from burnish.errors import InvalidInput
from burnish.rag_system.chunks import DocumentChunk
from burnish.text.storable import storable
from burnish.world.embeddings import Vectors

FILE_NAME = "store.npz"
FORMAT = 1


def write_rows(folder: Path, chunks: Sequence[DocumentChunk], vectors: Vectors, model: str) -> None:
    """Write the file anew beside the old one and put it in its place: a crash leaves the one or the other whole."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "model": model, "chunks": [_plain(chunk) for chunk in chunks]}
    encoded = np.frombuffer(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"), np.uint8)
    beside = folder / f"{FILE_NAME}.{uuid4().hex}"
    try:
        with beside.open("wb") as file:
            np.savez(file, vectors=vectors, content=encoded)
        beside.replace(folder / FILE_NAME)
    finally:
        beside.unlink(missing_ok=True)


def read_rows(folder: Path) -> tuple[list[DocumentChunk], Vectors, str]:
    """The chunks, their vectors and the model that embedded them. Raises InvalidInput for a damaged file."""
    path = folder / FILE_NAME
    try:
        with np.load(path, allow_pickle=False) as held:
            vectors = np.asarray(held["vectors"], np.float32)
            content: Any = json.loads(held["content"].tobytes().decode("utf-8", "surrogatepass"))
        chunks = [DocumentChunk(**chunk) for chunk in content["chunks"]]
        model, version = str(content["model"]), content["format"]
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError) as error:
        raise InvalidInput(f"{path} is missing or damaged ({type(error).__name__}): it holds no saved store") from error
    if version != FORMAT or vectors.ndim != 2 or len(vectors) != len(chunks):
        raise InvalidInput(f"{path} is damaged or of another format than {FORMAT}: it holds no saved store")
    return chunks, vectors, model


def _plain(chunk: DocumentChunk) -> dict[str, Any]:
    return {**asdict(chunk), "metadata": storable(dict(chunk.metadata))}

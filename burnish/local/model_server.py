"""The language model's own process: serves a GGUF file over HTTP as OpenAI's API, on 127.0.0.1.

It is a process of its own because the runtime's threads do not survive a fork, its memory would be paid once per
worker, and a native crash would take the worker with it.

    python -m burnish.local.model_server MODEL.gguf --port 20123 --key-file KEY

Threads: ggml's threads spin at barriers, so more threads than cores that we may really use is the worst case.
Slots and caches: see the constants, chosen by measurement on two cores.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOTS = 4  # decoding is shared by the slots (four decode twice as fast as one); reading a prompt is not, so no more
CONTEXT_PER_SLOT = 4096
# Five kinds of prompt in turn over four slots: with this cache in RAM a prompt's fixed beginning is found again twice
# as often as without (34 % of all prompt tokens against 16 %), for three quarters of the processor time. A prompt
# takes about 28 kB per token, so this holds some twenty, and memory grows to it only as they come.
PROMPT_CACHE_MIB = 512
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NICENESS = 5  # workers and Postgres go first: they are short, and the model waits for nobody else


@dataclass(frozen=True)
class Serving:
    """What to serve and how: `context` is in tokens per slot, `cache_mib` the RAM for prompts that left their slot."""

    model: Path
    port: int
    key: str
    slots: int = SLOTS
    context: int = CONTEXT_PER_SLOT
    threads: int = 1
    cache_mib: int = PROMPT_CACHE_MIB


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """How many cores this process may keep busy: those it is bound to, within the container's quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, _quota(cgroup)))


def _quota(cgroup: Path) -> int:
    """Whole cores of the container's CPU quota (cgroup v2, then v1); a large number when there is none."""
    for read in (_quota_v2, _quota_v1):
        try:
            quota, period = read(cgroup)
            if quota > 0 and period > 0:
                return max(1, quota // period)
        except (OSError, ValueError):
            continue
    return 1024


def _quota_v2(cgroup: Path) -> tuple[int, int]:
    quota, period = (cgroup / "cpu.max").read_text().split()
    return int(quota), int(period)


def _quota_v1(cgroup: Path) -> tuple[int, int]:
    folder = cgroup / "cpu"
    return int((folder / "cpu.cfs_quota_us").read_text()), int((folder / "cpu.cfs_period_us").read_text())


def serve(serving: Serving) -> None:
    """Serve until SIGTERM or SIGINT."""
    # Blocked before the runtime makes its threads, which inherit that: none of them may die of the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    native: Any = importlib.import_module("xllamacpp")  # a C extension without types, which only this process loads
    params = native.CommonParams()
    params.model.path = str(serving.model)
    params.model_alias = {serving.model.stem}  # else replies would name the file with its whole path
    params.hostnames = ["127.0.0.1"]
    params.port = serving.port
    params.api_keys = [serving.key]
    params.n_parallel = serving.slots
    params.n_ctx = serving.slots * serving.context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = serving.threads
    params.cache_ram_mib = serving.cache_mib
    params.ui = params.endpoint_slots = False
    params.cors_origins = ""
    params.verbosity = 1
    server = native.Server(params)
    signal.sigwait(_STOP_SIGNALS)
    del server


def _parsed(argv: Sequence[str]) -> Serving:
    parser = argparse.ArgumentParser(prog="python -m burnish.local.model_server")
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--slots", type=int, default=SLOTS)
    parser.add_argument("--context", type=int, default=CONTEXT_PER_SLOT)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--cache-mib", type=int, default=PROMPT_CACHE_MIB)
    given = parser.parse_args(argv)
    return Serving(
        given.model, given.port, given.key_file.read_text(), given.slots, given.context, given.threads, given.cache_mib
    )


def main(argv: Sequence[str]) -> int:
    os.nice(_NICENESS)
    serve(_parsed(argv))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Throughput, retrieval and side by side, or the benchmarks named.

    python -m benchmarks [throughput] [retrieval] [side_by_side] [answers] [expansions]

Without names, side by side runs where the package that it runs beside burnish is installed. Answers and expansions are
asked for by name only: a real model takes an hour or more over answers, and embedding corpora as long for expansions.
Retrieval, answers and expansions keep their database, so that a second run only searches: on the server of
BURNISH_DATABASE_URL, or else on the embedded one of the data folder, which is left running (`burnish down` stops it).
"""

from __future__ import annotations

import os
import sys

from benchmarks import answers, expansions, retrieval, side_by_side, throughput
from burnish.commands.deployment import home_of, read_settings
from burnish.local.servers import start_servers

DEFAULT = ("throughput", "retrieval", *(("side_by_side",) if side_by_side.is_installed() else ()))
BENCHMARKS = ("throughput", "retrieval", "side_by_side", "answers", "expansions")


def main() -> int:
    chosen = sys.argv[1:] or list(DEFAULT)
    if unknown := set(chosen).difference(BENCHMARKS):
        print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
        return 2
    sys.argv[1:] = []
    if "throughput" in chosen:
        throughput.main()
    code = 0
    if {"retrieval", "expansions"}.intersection(chosen):
        os.environ["BURNISH_DATABASE_URL"] = database_url()
    if "retrieval" in chosen:
        code = retrieval.main()
    if "expansions" in chosen:
        code = expansions.main() or code
    if "answers" in chosen:
        code = answers.main() or code
    if "side_by_side" in chosen:
        code = side_by_side.main() or code
    return code


def database_url() -> str:
    """The server of the settings, or the embedded one in the data folder in which `burnish down` looks."""
    settings = read_settings()
    if settings.database_url:
        return settings.database_url
    servers = start_servers(home_of(settings), model=False, model_path=None, report=print, broker=False)
    print("PostgreSQL stays up; `burnish down` stops it")
    return servers.database_url


if __name__ == "__main__":
    sys.exit(main())

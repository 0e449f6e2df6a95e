"""All benchmarks, or those named: `python -m benchmarks [throughput] [retrieval]`.

Retrieval keeps its database, so that a second run only searches: on the server of BURNISH_DATABASE_URL, or else on the
embedded one of the data folder, which is left running (`burnish down` stops it).
"""

from __future__ import annotations

import os
import sys

from benchmarks import retrieval, throughput
from burnish.commands.deployment import home_of, read_settings
from burnish.local.servers import start_servers

BENCHMARKS = ("throughput", "retrieval")


def main() -> int:
    chosen = sys.argv[1:] or list(BENCHMARKS)
    if unknown := set(chosen).difference(BENCHMARKS):
        print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
        return 2
    sys.argv[1:] = []
    if "throughput" in chosen:
        throughput.main()
    if "retrieval" not in chosen:
        return 0
    os.environ["BURNISH_DATABASE_URL"] = database_url()
    return retrieval.main()


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

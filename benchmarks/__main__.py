"""All benchmarks, or those named: `python -m benchmarks [throughput] [retrieval]`.

Retrieval keeps its database, so that a second run only searches: on the server of BURNISH_DATABASE_URL, or else on the
embedded one of the data folder, which is left running (`burnish down` stops it).
"""

from __future__ import annotations

import os
import sys

from benchmarks import retrieval, throughput
from burnish.local.home import data_folder
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
    if "BURNISH_DATABASE_URL" not in os.environ:
        servers = start_servers(data_folder(os.environ), model=False, model_path=None, report=print)
        os.environ["BURNISH_DATABASE_URL"] = servers.database_url
    return retrieval.main()


if __name__ == "__main__":
    sys.exit(main())

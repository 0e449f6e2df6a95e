"""The health checks of docker-compose.yml. Exit code 0: healthy; 1, with a line that says why: not.

    python health.py http URL        it answers with a status below 400
    python health.py reconciler      it made a pass over the database not long ago

The reconciler is looked for where everybody can see it: in Postgres, among the connections from this address.
A worker needs no check of its own: see liveness.py for the file that grows old when it stops.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence

PATIENCE_SECONDS = 60.0
TIMEOUT_SECONDS = 5

_PASSES = """
    SELECT extract(epoch FROM min(clock_timestamp() - state_change))::float8
    FROM pg_stat_activity
    WHERE application_name = 'burnish-reconciler' AND client_addr = inet_client_addr()
"""


def http(url: str) -> str | None:
    """What is wrong with the server at `url`; None if nothing is."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS):  # noqa: S310 (the URL stands in the compose file)
            return None
    except urllib.error.HTTPError as error:
        return f"{url} answers with {error.code}"
    except OSError as error:
        return f"{url} does not answer: {error}"


def reconciler(database_url: str) -> str | None:
    """What is wrong with this container's reconciler; None if nothing is."""
    import psycopg

    try:
        with psycopg.connect(database_url.replace("+psycopg", ""), connect_timeout=TIMEOUT_SECONDS) as connection:
            row = connection.execute(_PASSES).fetchone()
    except psycopg.OperationalError as error:
        return f"the database does not answer: {error}"
    age = row[0] if row else None
    if age is None:
        return "no reconciler at this address is connected to the database"
    return f"the reconciler's last pass was {age:.0f} s ago" if age > PATIENCE_SECONDS else None


def main(argv: Sequence[str]) -> int:
    match list(argv):
        case ["http", url]:
            fault = http(url)
        case ["reconciler"]:
            fault = reconciler(os.environ["BURNISH_DATABASE_URL"])
        case _:
            fault = f"usage: {__doc__}"
    if fault:
        sys.stdout.write(fault + "\n")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

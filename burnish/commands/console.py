"""Where the commands write: results to `out`, progress and complaints to `err`, so that a pipe holds results alone."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

_WIDTH_IN_A_FILE = 120


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _WIDTH_IN_A_FILE, highlight=False)


out = _console(stderr=False)
err = _console(stderr=True)


def say(text: str, style: str = "") -> None:
    """One line of a result, exactly as it stands: nothing in it is markup."""
    out.print(Text(text, style=style), soft_wrap=True)


def remark(text: str, style: str = "dim") -> None:
    """One line beside the result, for whoever watches."""
    err.print(Text(text, style=style), soft_wrap=True)


def bar(what: str) -> Progress:
    """A progress bar that counts; it leaves its last state behind."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(what.lower()))
    return Progress(*columns, TimeElapsedColumn(), console=err)

"""`burnish fetch-model`: the embedded language model's weights, with a progress bar."""

from __future__ import annotations

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from burnish.commands.console import err, remark, say
from burnish.commands.deployment import home_of, read_settings
from burnish.commands.plan import needs_of
from burnish.local.home import prepare
from burnish.local.weights import QWEN_CODER_1_5B, fetch_weights, weights_path


def fetch() -> None:
    """Fetch the weights where they are needed and missing, and say where they are."""
    settings = read_settings()
    if not needs_of(settings).model or settings.model_path:
        say("Another language model is set, so there is nothing to fetch.")
        return
    home = home_of(settings)
    prepare(home)
    if not weights_path(home).exists():
        remark(f"{QWEN_CODER_1_5B.name} ({QWEN_CODER_1_5B.licence}), fetched once")
        columns = (TextColumn("Fetching"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err) as progress:
            task = progress.add_task("", total=QWEN_CODER_1_5B.size)
            fetch_weights(home, on_progress=lambda done, total: progress.update(task, completed=done, total=total))
    say(f"The language model is in {weights_path(home)}")

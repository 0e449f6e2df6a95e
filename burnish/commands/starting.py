"""`burnish up` and `burnish down` as a person sees them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from rich.table import Table
from rich.text import Text

from burnish.commands.console import err, out, remark
from burnish.commands.deployment import Deployment, home_of, read_settings
from burnish.commands.up import down, start, wait_until_ready


def bring_up() -> None:
    """Start what is missing, wait until it answers, and say where."""
    deployment = start(remark)
    wait_visibly(deployment)
    out.print(addresses(deployment, home_of(read_settings())))


def wait_visibly(deployment: Deployment) -> None:
    waiting = err.status("Waiting for the API and the workers") if err.is_terminal else nullcontext()
    with waiting:
        wait_until_ready(home_of(read_settings()), deployment)
    remark("The API and the workers answer")


def take_down() -> bool:
    """Stop everything; whether there was anything to stop."""
    return down(remark)


def addresses(deployment: Deployment, home: Path) -> Table:
    """Where a person finds what runs."""
    table = Table.grid(padding=(0, 2))
    rows = {
        "API": f"{deployment.api_url}/docs",
        "Flower": f"{deployment.flower_url}  (user {deployment.flower_user}, password {deployment.flower_password})",
        "Data and logs": str(home),
        "To stop it": "burnish down",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    return table

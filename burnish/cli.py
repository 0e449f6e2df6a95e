"""The command line. What a command does is imported when it runs, so that `burnish --help` loads next to nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from burnish.errors import BurnishError
from burnish.strategies.registry import STRATEGY_NAMES

SOME_FAILED = 2


class Commands(click.Group):
    """Commands in the order in which they are written, and burnish's errors as one red line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BurnishError as error:
            if ctx.params.get("debug"):
                raise
            click.secho(f"burnish: {error}", fg="red", err=True)
            for fault in getattr(error, "errors", ()):
                if fault.get("line"):
                    click.secho(f"  line {fault['line']}: {fault['message']}", fg="red", err=True)
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show a traceback where something goes wrong.")
@click.version_option(package_name="burnish")
def main(debug: bool) -> None:
    """Answer questions over your own documents, check the answers against the evidence, and keep the proof.

    Begin with `burnish up`, then `burnish ingest FOLDER` and `burnish ask "..."`.
    """
    del debug  # read by Commands


def _config(_context: click.Context, _parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        config = json.loads(value)
    except json.JSONDecodeError as error:
        raise click.BadParameter(f"it is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise click.BadParameter('it must be a JSON object such as {"search": {"top_k": 3}}')
    return cast("dict[str, Any]", config)


_strategy = click.option("--strategy", help=f"One of {', '.join(STRATEGY_NAMES)}.")
_collection = click.option("--collection", default=None, help="Which documents to answer from.")
_config_option = click.option("--config", callback=_config, help="A strategy's settings, as JSON.")


@main.command()
def up() -> None:
    """Start everything: database, broker, model, API, workers, Flower. What runs already is left alone."""
    from burnish.commands.starting import bring_up

    bring_up()


@main.command()
def down() -> None:
    """Stop everything that `up` started. The data stay."""
    from burnish.commands.console import say
    from burnish.commands.starting import take_down

    say("Everything has stopped; the data are kept." if take_down() else "Nothing was running.")


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--collection", default="default", show_default=True, help="The collection to store them in.")
def ingest(paths: Sequence[Path], collection: str) -> None:
    """Read files and folders (text, Markdown, HTML, PDF, DOCX, JSONL) into a collection."""
    from burnish.commands.console import remark, say
    from burnish.commands.ingesting import in_words, ingest_paths, was_useful

    report = ingest_paths(paths, collection)
    for source, reason in report.failed:
        remark(f"{source}: {reason}", "yellow")
    say(in_words(report, collection))
    sys.exit(0 if was_useful(report) else 1)


@main.command()
@click.argument("question")
@_strategy
@_collection
@_config_option
@click.option("--steps", "with_steps", is_flag=True, help="Show the audit of the answer below it.")
def ask(
    question: str, strategy: str | None, collection: str | None, config: dict[str, Any] | None, with_steps: bool
) -> None:
    """Ask one question and wait for its answer."""
    from burnish.commands.asking import Asked, ask_one

    ask_one(Asked(question, strategy, collection, config), with_steps=with_steps)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Results, as JSONL."
)
@click.option("--name", help="A name for the job.")
@_strategy
@_collection
@_config_option
def batch(
    file: Path,
    output: Path,
    name: str | None,
    strategy: str | None,
    collection: str | None,
    config: dict[str, Any] | None,
) -> None:
    """Ask all questions of FILE as one job: JSONL with a "question" in each line, or .txt with one a line."""
    from burnish.commands.batches import Batch, run_batch

    ended_well = run_batch(Batch(file, name, strategy, collection, config), output)
    sys.exit(0 if ended_well else SOME_FAILED)


@main.command()
@click.argument("job_id")
@click.option("--watch", is_flag=True, help="Go on showing it until it has ended.")
def job(job_id: str, watch: bool) -> None:
    """How far a job has come."""
    from burnish.commands.batches import show_job

    show_job(job_id, watch_it=watch)


@main.command()
@click.argument("job_id")
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Results, as JSONL."
)
def results(job_id: str, output: Path) -> None:
    """Write the answers that a job has come to so far."""
    from burnish.commands.batches import fetch_results

    fetch_results(job_id, output)


@main.command()
@click.argument("answer_id")
@click.option("--full", is_flag=True, help="Every prompt and reply uncut, as JSON.")
def steps(answer_id: str, full: bool) -> None:
    """The audit of an answer: every step, with what it cost, as a tree."""
    from burnish.commands.asking import show_steps

    show_steps(answer_id, full=full)


@main.command()
@click.argument("job_or_answer_id")
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    default=("failed",),
    show_default=True,
    type=click.Choice(("failed", "cancelled", "expired", "budget_exceeded")),
    help="Which questions of a job, by how they ended. May be given several times.",
)
def retry(job_or_answer_id: str, outcomes: Sequence[str]) -> None:
    """Ask again what failed in a job, or one answer. What was recorded is not done twice.

    Of a job, what was cancelled or reached its cap is left alone unless --outcome names it. The cap still holds then:
    a question that reached it ends so again.
    """
    from burnish.commands.batches import retry_any

    retry_any(job_or_answer_id, outcomes)


@main.command()
@click.argument("job_id")
def cancel(job_id: str) -> None:
    """Stop a job: what waits ends at once, what runs ends before its next step."""
    from burnish.commands.batches import cancel_job

    cancel_job(job_id)


@main.command()
@click.option("--all", "ask_all", is_flag=True, help="Ask every question of the examples.")
@click.option("--again", is_flag=True, help="Ask anew what has been answered before.")
def demo(ask_all: bool, again: bool) -> None:
    """Start everything, read the examples and ask questions about them."""
    from burnish.commands.demo import run_demo

    run_demo(ask_all=ask_all, again=again)


@main.command()
def doctor() -> None:
    """Check that everything is in order, and say how to mend what is not."""
    from burnish.commands.doctor import run_doctor

    sys.exit(0 if run_doctor() else 1)


@main.command("fetch-model")
def fetch_model() -> None:
    """Fetch the embedded language model (1.1 GB) if it is not there yet."""
    from burnish.commands.fetching import fetch

    fetch()


if __name__ == "__main__":
    main()

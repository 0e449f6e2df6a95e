"""`burnish ingest`: files into a collection, embedded in this process on every core."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.exc import OperationalError

from burnish.commands.console import bar, err
from burnish.commands.deployment import home_of, keys_in_file, read_settings, require_database, settings_in_effect
from burnish.errors import Unavailable
from burnish.local.model_server import usable_cores
from burnish.settings import Settings
from burnish.store.database import make_engine
from burnish.world.assemble import embedder_from
from burnish.world.documents import Document, UnreadableFile, read_path
from burnish.world.ingestion import IngestReport, ingest


def ingest_paths(paths: Sequence[Path], collection: str) -> IngestReport:
    """Read the paths, store what can be read, show how far it is. Raises Unavailable without a database."""
    user = read_settings()
    settings = settings_in_effect(home_of(user), user)
    require_database(settings)
    os.environ.update(keys_in_file(os.environ))  # a provider's client looks nowhere else
    with err.status("Reading the files"):
        found = [item for path in paths for item in read_path(path, max_megabytes=settings.max_document_megabytes)]
    return _store(settings, collection, found)


def _store(settings: Settings, collection: str, found: Sequence[Document | UnreadableFile]) -> IngestReport:
    engine = make_engine(str(settings.database_url), application="burnish-ingest")
    embedder = embedder_from(settings, threads=usable_cores())
    try:
        with bar("Documents") as progress:
            task = progress.add_task("Embedding and storing", total=len(found))
            return ingest(
                engine,
                embedder,
                collection,
                found,
                on_progress=lambda report: progress.update(task, completed=_seen(report)),
            )
    except OperationalError as error:
        raise Unavailable(f"the database does not answer ({str(error.orig).strip()}); see `burnish doctor`") from error
    finally:
        engine.dispose()


def _seen(report: IngestReport) -> int:
    return report.added + report.updated + report.unchanged + len(report.failed)


def was_useful(report: IngestReport) -> bool:
    """Whether anything could be read at all."""
    return report.added + report.updated + report.unchanged > 0


def in_words(report: IngestReport, collection: str) -> str:
    counts = f"{report.added} new, {report.updated} changed, {report.unchanged} unchanged"
    return f"{counts} in collection {collection!r}; {report.chunks} passages written"

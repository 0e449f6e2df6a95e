"""Whether the API lives, and whether it could do its work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from api.dependencies import Backing, Behind
from api.openapi import problems
from api.schemas import Health
from burnish.errors import Unavailable

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health, summary="Whether the process lives")
async def healthz() -> Any:
    return {"status": "alive"}


@router.get("/readyz", response_model=Health, summary="Whether questions can be taken", responses=problems(503))
def readyz(behind: Behind) -> Any:
    """503 says which server is missing, or that the database's tables are not those of this version."""
    missing = "; ".join(_missing(behind))
    if missing:
        raise Unavailable(missing)
    return {"status": "ready"}


def _missing(behind: Backing) -> Iterator[str]:
    try:
        with behind.database.begin() as connection:
            found = connection.scalar(text("SELECT version_num FROM alembic_version"))
        if found != newest_migration():
            yield "the database is not migrated to this version: run `alembic upgrade head`"
    except ProgrammingError:
        yield "the database has no tables: run `alembic upgrade head`"
    except SQLAlchemyError:
        yield "the database does not answer"
    try:
        behind.check_broker()
    except Unavailable:
        yield "the broker does not answer"


@lru_cache(maxsize=1)
def newest_migration() -> str | None:
    """The revision that this version of the code needs."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(MIGRATIONS).get_current_head()

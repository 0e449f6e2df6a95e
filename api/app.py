"""The application: `uvicorn --factory api.app:create_app`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from api import answers, documents, health, jobs
from api.dependencies import Backing
from api.errors import add_error_handlers
from api.openapi import DESCRIPTION, describe
from burnish.settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """The API over the servers that the settings name; without settings they are read from the environment.

    Raises InvalidInput where they name none.
    """
    app = build_app()
    app.state.backing = Backing(settings or Settings())
    return app


def build_app() -> FastAPI:
    """The API with nothing behind it, enough to be described."""
    app = FastAPI(title="burnish", version=version("burnish"), description=DESCRIPTION, lifespan=_lifespan)
    add_error_handlers(app)
    for part in (answers, jobs, documents, health):
        app.include_router(part.router)
    app.openapi = lambda: describe(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    yield
    app.state.backing.close()

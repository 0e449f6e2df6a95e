"""What stands behind the API, and how endpoints come by it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import redis
from fastapi import Depends, Request
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from api.intake import Limits
from burnish.config import StrategyConfig
from burnish.errors import InvalidInput, Unavailable
from burnish.settings import Settings
from burnish.store.catalogue import collection_ids
from burnish.store.database import make_engine
from burnish.store.questions import admit
from burnish.task_queue import make_app, publish

if TYPE_CHECKING:
    from burnish.world.embeddings import Embedder

logger = logging.getLogger(__name__)

DATABASE_CONNECTIONS = 10
BROKER_SECONDS = 2.0


def checked_defaults(settings: Settings) -> Mapping[str, Any]:
    """The strategies' settings that hold where a question says nothing. Raises InvalidInput for unusable ones."""
    try:
        StrategyConfig.from_mapping(settings.strategy_defaults)
    except InvalidInput as error:
        raise InvalidInput(f"BURNISH_STRATEGY_DEFAULTS cannot be used: {error}") from error
    return settings.strategy_defaults


class Backing:
    """The database, the broker and the settings. Nothing is connected to before it is needed."""

    def __init__(self, settings: Settings) -> None:
        if not settings.database_url or not settings.redis_url:
            raise InvalidInput("set BURNISH_DATABASE_URL and BURNISH_REDIS_URL, or start the API with `burnish up`")
        self.settings = settings
        self.strategy_defaults = checked_defaults(settings)
        self.database = make_engine(settings.database_url, pool_size=DATABASE_CONNECTIONS, application="burnish-api")
        self._celery = make_app(settings.redis_url)
        client: Any = redis.Redis
        self._broker: Any = client.from_url(
            settings.redis_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
        )
        self._loading = threading.Lock()

    def close(self) -> None:
        self.database.dispose()
        self._broker.close()
        self._celery.close()

    def check_broker(self) -> None:
        """Raises Unavailable where the broker does not answer."""
        try:
            self._broker.ping()
        except RedisError:
            raise Unavailable("the broker does not answer: try again when it does, nothing was changed") from None

    def limits(self) -> Limits:
        """What a question is checked against, as things stand in the database now."""
        with self.database.begin() as connection:
            found: Mapping[str, UUID] = collection_ids(connection)
        return Limits(found, self.settings.max_question_characters, self.settings.max_batch_questions)

    def start(self, lane: str) -> None:
        """Let accepted questions in and send what is ready. Where that fails now, the reconciler does it later."""
        try:
            with self.database.begin() as connection:
                messages = admit(connection, lane, self.settings.questions_in_flight)
            publish(self._celery, messages)
        except (SQLAlchemyError, BrokerError, RedisError) as error:
            logger.warning("questions wait for the reconciler: %s", type(error).__name__)

    def embedder(self) -> Embedder:
        """The embedding model, loaded when documents first need it and not before."""
        with self._loading:
            return self._embedder

    @cached_property
    def _embedder(self) -> Embedder:
        from burnish.world.assemble import embedder_from

        return embedder_from(self.settings)


def backing_of(request: Request) -> Backing:
    return request.app.state.backing


Behind = Annotated[Backing, Depends(backing_of)]


async def read_body(request: Request, most_bytes: int) -> bytes:
    """The request's body. 413 where it is larger than that."""
    body = bytearray()
    async for block in request.stream():
        body += block
        check_size(len(body), most_bytes)
    return bytes(body)


def check_size(size: int, most_bytes: int) -> None:
    """413 where something is too large."""
    if size > most_bytes:
        raise HTTPException(413, f"the request is larger than {most_bytes / 1e6:g} MB: send it in parts")


def media_type_of(request: Request) -> str:
    """The media type of the body, without its parameters; "" where none is given."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()

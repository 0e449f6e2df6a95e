"""From settings to a world that works: which models, where, and under which cap."""

from __future__ import annotations

from sqlalchemy import Engine

from burnish.settings import EMBEDDED_EMBEDDING_MODEL, Settings
from burnish.world.embeddings import EmbeddedE5, Embedder
from burnish.world.gate import Gate, LocalGate, SharedGate, Slots
from burnish.world.language_model import LanguageModel
from burnish.world.loop import LoopThread
from burnish.world.perform import World
from burnish.world.providers import ModelOptions
from burnish.world.remote_embeddings import RemoteEmbedder


def world_from(settings: Settings, database: Engine) -> World:
    """The world that the settings describe. Nothing is loaded or called before it is needed."""
    loop = LoopThread()
    return World(database, embedder_from(settings, loop), language_model_from(settings, loop))


def language_model_from(settings: Settings, loop: LoopThread) -> LanguageModel:
    options = ModelOptions(
        model=settings.model,
        url=settings.model_url,
        key=settings.model_key.get_secret_value() if settings.model_key else None,
        timeout=settings.model_timeout,
        retries=settings.model_retries,
        structured=settings.model_structured,
        probabilities=settings.model_probabilities,
        price_in=settings.model_price_in,
        price_out=settings.model_price_out,
    )
    return LanguageModel(options, _gate_from(settings), loop)


def _gate_from(settings: Settings) -> Gate:
    slots = Slots(settings.model_calls_in_flight, settings.model_calls_reserved)
    return SharedGate(settings.redis_url, settings.model, slots) if settings.redis_url else LocalGate(slots)


def embedder_from(settings: Settings, loop: LoopThread | None = None, *, threads: int = 1) -> Embedder:
    """threads: cores that the embedded model may use for one call."""
    if settings.embedding_model == EMBEDDED_EMBEDDING_MODEL:
        return EmbeddedE5(threads=threads)
    options = ModelOptions(
        model=settings.embedding_model,
        url=settings.embedding_url,
        key=settings.embedding_key.get_secret_value() if settings.embedding_key else None,
        timeout=settings.model_timeout,
        retries=settings.model_retries,
    )
    languages = _languages(settings.embedding_languages)
    return RemoteEmbedder(options, settings.embedding_dimension, languages, loop or LoopThread())


def _languages(listed: str) -> frozenset[str] | None:
    names = frozenset(name.strip().lower() for name in listed.split(",") if name.strip())
    return None if not names or "*" in names else names

"""All settings, read from the environment (prefix BURNISH_) and `.env`, at the doors only.

The embedded servers write what they chose (addresses, passwords) to the environment of the processes they start, so
that a process never needs to know whether its servers are embedded or real.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

EMBEDDED_MODEL = "openai/qwen2.5-coder-1.5b-instruct"
EMBEDDED_EMBEDDING_MODEL = "embedded/multilingual-e5-small"


class Settings(BaseSettings):
    """See `.env.example` for each setting in words."""

    model_config = SettingsConfigDict(env_prefix="BURNISH_", env_file=".env", extra="ignore", protected_namespaces=())

    home: Path | None = None
    database_url: str | None = None
    redis_url: str | None = None

    model: str = EMBEDDED_MODEL
    model_url: str | None = None
    model_key: SecretStr | None = None
    model_path: Path | None = None
    model_timeout: float = Field(default=300.0, gt=0)
    model_retries: int = Field(default=4, ge=0, le=20)
    model_calls_in_flight: int = Field(default=4, ge=1)
    model_calls_reserved: int = Field(default=1, ge=0)
    model_structured: bool = True
    model_probabilities: bool = True
    model_price_in: float | None = Field(default=None, ge=0)
    model_price_out: float | None = Field(default=None, ge=0)

    embedding_model: str = EMBEDDED_EMBEDDING_MODEL
    embedding_url: str | None = None
    embedding_key: SecretStr | None = None
    embedding_dimension: int = Field(default=384, ge=1, le=4000)
    embedding_languages: str = "*"

    strategy_defaults: dict[str, Any] = Field(default_factory=dict[str, Any])
    questions_in_flight: int = Field(default=256, ge=1)
    worker_threads: int = Field(default=100, ge=1)
    lease_seconds: float = Field(default=30.0, gt=1)
    max_attempts: int = Field(default=5, ge=1)
    max_question_characters: int = Field(default=8_000, ge=1)
    max_batch_questions: int = Field(default=100_000, ge=1)
    max_document_megabytes: int = Field(default=50, ge=1)

    api_host: str = "127.0.0.1"
    api_port: int = 8321
    flower_port: int = 8322
    flower_user: str = "burnish"
    flower_password: SecretStr | None = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

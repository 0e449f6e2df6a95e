"""What may be sent: checked by these models after its texts were cleaned, and described by them in the OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from burnish.strategies.registry import STRATEGY_NAMES

MAX_ID_CHARACTERS = 256


class QuestionRequest(BaseModel):
    """A question. What it does not say is said by the defaults of its job; other fields are kept as metadata."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        json_schema_extra={
            "examples": [
                {"question": "How long is the Danube?"},
                {
                    "custom_id": "q7",
                    "question": "How long is the Danube, and how does it compare with the Rhine?",
                    "strategy": "recursive",
                    "collection": "rivers",
                    "config": {"recursive": {"max_depth": 2}, "max_calls": 40},
                    "gold": {"answers": ["2,850 km; more than twice as long"]},
                    "metadata": {"asked_by": "geography"},
                },
            ]
        },
    )

    question: str = Field(description="at most BURNISH_MAX_QUESTION_CHARACTERS characters (8,000 unless set)")
    custom_id: str | int | None = Field(
        default=None, description='your name for it, unique in its job; "line-<n>" where missing'
    )
    strategy: str | None = Field(default=None, description=f"{', '.join(STRATEGY_NAMES)}; self_irag by default")
    collection: str | None = Field(default=None, description='the documents to answer from; "default" by default')
    config: dict[str, Any] | None = Field(default=None, description="settings of the strategies, over the defaults")
    gold: str | list[str] | dict[str, Any] | None = Field(
        default=None, description="the right answer or answers, kept for evaluation and never shown to a model"
    )
    metadata: dict[str, Any] | None = Field(default=None, description="anything; it comes back with the answer")


class JobRequest(BaseModel):
    """Questions asked together, with defaults for what a question does not say."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "rivers",
                    "strategy": "hyde",
                    "questions": [
                        {"custom_id": "q1", "question": "How long is the Danube?"},
                        {"custom_id": "q2", "question": "كم يبلغ طول نهر الراين؟", "strategy": "direct"},
                    ],
                }
            ]
        },
    )

    questions: list[Any] = Field(json_schema_extra={"items": {"$ref": "#/components/schemas/QuestionRequest"}})
    name: str | None = Field(default=None, max_length=MAX_ID_CHARACTERS)
    strategy: str | None = None
    collection: str | None = None
    config: dict[str, Any] | None = None


class DocumentRequest(BaseModel):
    """A text to answer from. It takes the place of the document with its id."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    text: str
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class DocumentsRequest(BaseModel):
    """Texts to ingest into a collection, which is made at first use."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "collection": "rivers",
                    "documents": [
                        {"id": "danube", "title": "Rivers", "text": "The Danube is 2,850 km long.", "metadata": {}}
                    ],
                }
            ]
        },
    )

    documents: list[Any] = Field(json_schema_extra={"items": {"$ref": "#/components/schemas/DocumentRequest"}})
    collection: str = "default"


class RetryRequest(BaseModel):
    """Which questions of a job to ask again, by how they ended."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"outcomes": ["failed", "cancelled"]}]}
    )

    outcomes: list[str] = Field(default=["failed"], min_length=1)

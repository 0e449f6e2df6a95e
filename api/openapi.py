"""The OpenAPI description: what FastAPI finds out by itself, and what bodies that are read by hand add to it.

`python -m api.openapi` writes it to `docs/openapi.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.requests import DocumentRequest, DocumentsRequest, JobRequest, QuestionRequest, RetryRequest
from api.schemas import AcceptedJob, Answer, Ingested, Job, Problem, RejectedLine

WRITTEN = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"
DESCRIPTION = """Question answering over your own documents with self-improving RAG, every step audited.

Ask one question at `/v1/answers`, or up to 100,000 at `/v1/jobs`; read how each answer came about at
`/v1/answers/{id}/steps`. Errors are problems as in RFC 9457 (`application/problem+json`)."""
TAGS = [
    {"name": "answers", "description": "One question, its answer and its audit tree"},
    {"name": "jobs", "description": "Many questions as one job"},
    {"name": "documents", "description": "What is searched"},
    {"name": "health", "description": "For those who keep the API running"},
]
_MEANINGS = {
    404: "There is none of that id",
    409: "It does not stand so that this could be done",
    413: "The body is too large",
    422: "What was sent cannot be used; the detail says what to change",
    503: "The database or the broker does not answer; nothing was changed",
}
_REF = "#/components/schemas/{model}"


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that an endpoint may come back with; 422 is always among them."""
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in sorted({422, *statuses})}


def body_of(model: str, *, lines: str = "", file: bool = False, required: bool = True) -> dict[str, Any]:
    """A body that is a JSON object of the model; or JSONL of another; or a file."""
    content: dict[str, Any] = {"application/json": {"schema": _ref(model)}}
    if lines:
        example = '{"custom_id": "q1", "question": "How long is the Danube?"}\n{"question": "And the Rhine?"}\n'
        content["application/jsonl"] = {"schema": {"type": "string"}, "itemSchema": _ref(lines), "example": example}
    if file:
        content["*/*"] = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": required, "content": content}}


def lines_of(model: str, description: str) -> dict[str, Any]:
    """A response of JSONL."""
    schema = {"type": "string", "description": "JSON objects, each on a line"}
    return {
        "description": description,
        "content": {"application/jsonl": {"schema": schema, "itemSchema": _ref(model)}},
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the app, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
        )
        schemas = document["components"]["schemas"]
        schemas.update(_read_by_hand())
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["schemas"] = dict(sorted(schemas.items()))
        app.openapi_schema = document
    return app.openapi_schema


def _read_by_hand() -> dict[str, Any]:
    """The schemas that FastAPI does not see, and those from whose examples it would drop what is null."""
    received = (QuestionRequest, JobRequest, DocumentRequest, DocumentsRequest, RetryRequest)
    wanted: list[tuple[Any, Any]] = [(model, "validation") for model in received]
    wanted += [(model, "serialization") for model in (Answer, AcceptedJob, Job, Ingested, RejectedLine, Problem)]
    return models_json_schema(wanted, ref_template=_REF)[1]["$defs"]


def _ref(model: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=model)}


def render() -> str:
    """The document as it is written to `docs/openapi.json`."""
    from api.app import build_app

    return json.dumps(describe(build_app()), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    WRITTEN.write_text(render(), encoding="utf-8")

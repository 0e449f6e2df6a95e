"""The description of the API: complete, valid, and as it is written down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from api.openapi import WRITTEN, render

METHODS = ("get", "post")


def operations(document: Any) -> Iterator[tuple[str, Any]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method} {path}", item[method]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType] - any JSON
            if name == "$ref":
                yield str(inner)  # pyright: ignore[reportUnknownArgumentType]
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from references(inner)


def test_what_is_written_down_is_up_to_date() -> None:
    assert WRITTEN.read_text("utf-8") == render(), "run `python -m api.openapi`"


def test_every_endpoint_is_summed_up_and_its_errors_are_problems() -> None:
    document = json.loads(render())
    for name, operation in operations(document):
        assert operation["summary"], name
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"], f"{name} {status}"


def test_every_reference_leads_somewhere() -> None:
    document = json.loads(render())
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known
    assert "#/components/schemas/HTTPValidationError" not in known


def test_every_example_fits_its_schema() -> None:
    document = json.loads(render())
    schemas = document["components"]["schemas"]
    count = 0
    for schema in schemas.values():
        for example in schema.get("examples", ()):
            validator: Any = Draft202012Validator({**schema, "components": {"schemas": schemas}})
            validator.validate(example)
            count += 1
    assert count >= 9

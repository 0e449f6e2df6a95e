"""Documents in, as texts or as files; and what each collection holds."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from burnish.settings import Settings
from burnish.store.models import Collection, Document

RIVERS = {"id": "rivers", "title": "Rivers", "text": "The Danube is 2,850 km long. The Rhine is 1,230 km long."}


def post(api: TestClient, documents: list[Any], collection: str = "default") -> Any:
    return api.post("/v1/documents", json={"collection": collection, "documents": documents})


def test_texts_are_stored_once_and_replaced_when_they_change(api: TestClient, database: Engine) -> None:
    first = post(api, [RIVERS, {"id": "hills", "text": "Hills are low.", "metadata": {"year": 2024}}])
    assert first.status_code == 200
    assert first.json() == {"added": 2, "updated": 0, "unchanged": 0, "failed": [], "chunks": 2}
    second = post(api, [RIVERS, {"id": "hills", "text": "Hills are not high."}])
    assert second.json() == {"added": 0, "updated": 1, "unchanged": 1, "failed": [], "chunks": 1}
    with database.begin() as connection:
        titles = connection.scalars(select(Document.title).order_by(Document.external_id)).all()
    assert titles == ["hills", "Rivers"]


def test_what_cannot_be_read_is_listed_and_the_others_are_stored(api: TestClient) -> None:
    bad: list[Any] = [{"id": "a"}, {"id": "b", "text": 3}, "text", {"id": "c", "text": " "}, {"id": "", "text": "x"}]
    report = post(api, [*bad, RIVERS]).json()
    assert report["added"] == 1
    assert [each["source"] for each in report["failed"][:3]] == ["documents[0]", "documents[1]", "documents[2]"]
    assert len(report["failed"]) == 5
    assert all(each["reason"] for each in report["failed"])


def test_a_file_is_read_by_its_name_and_a_bad_line_of_it_told_by_its_number(api: TestClient, database: Engine) -> None:
    page = b"<html><head><title>Seas</title></head><body><p>The Black Sea is a sea.</p></body></html>"
    assert api.post("/v1/documents", params={"name": "seas.html"}, content=page).json()["added"] == 1
    lines = b'{"id": "a", "text": "Lakes are wet."}\nnonsense\n'
    report = api.post("/v1/documents", params={"name": "lakes.jsonl", "collection": "lakes"}, content=lines).json()
    assert (report["added"], report["failed"][0]["source"]) == (1, "lakes.jsonl:2")
    with database.begin() as connection:
        found = connection.execute(
            select(Collection.name, Document.external_id).join(Document, Document.collection_id == Collection.id)
        ).all()
    assert sorted(tuple(row) for row in found) == [("default", "seas.html"), ("lakes", "a")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("scan.pdf", b"%PDF-1.7 cut off"),
        ("letter.docx", b"PK\x03\x04 no archive"),
        ("empty.txt", b""),
        ("music.mp3", b"ID3"),
        ("", b"text"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason_and_makes_no_collection(
    api: TestClient, database: Engine, name: str, data: bytes
) -> None:
    response = api.post("/v1/documents", params={"name": name, "collection": "new"}, content=data)
    assert response.status_code == 422
    assert response.json()["errors"][0]["code"] == "unreadable_document"
    with database.begin() as connection:
        assert connection.scalars(select(Collection.name)).all() == ["default"]


@pytest.mark.parametrize(
    "body", [{}, {"documents": []}, {"documents": "all"}, [], {"documents": [{"id": "a", "text": ""}]}, {"files": []}]
)
def test_a_body_without_a_document_is_refused(api: TestClient, body: Any) -> None:
    assert api.post("/v1/documents", json=body).status_code == 422


def test_a_file_that_is_too_large_is_refused(api: TestClient, settings: Settings) -> None:
    settings.max_document_megabytes = 1
    response = api.post("/v1/documents", params={"name": "long.txt"}, content=b"word " * 200_001)
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_a_collection_of_another_model_is_refused(api: TestClient, settings: Settings) -> None:
    settings.embedding_dimension = 8
    response = post(api, [RIVERS])
    assert response.status_code == 422
    assert "384" in response.json()["detail"]


def test_a_name_that_no_collection_can_bear_is_refused(api: TestClient) -> None:
    for name in ("", " ", "x" * 501):
        assert post(api, [RIVERS], name).status_code == 422


def test_collections_are_listed_with_what_they_hold(api: TestClient) -> None:
    post(api, [RIVERS], "rivers")
    listed = api.get("/v1/collections").json()["collections"]
    assert [(each["name"], each["documents"], each["chunks"]) for each in listed] == [
        ("default", 0, 0),
        ("rivers", 1, 1),
    ]
    assert listed[1]["embedding_model"] == "openai/simulated-embedding"
    assert listed[1]["dimension"] == 384


def test_a_model_that_does_not_answer_is_told_as_such(api: TestClient, settings: Settings) -> None:
    from tests.processes import free_port

    settings.embedding_url = f"http://127.0.0.1:{free_port()}/v1"
    settings.model_retries = 0
    response = post(api, [RIVERS])
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")

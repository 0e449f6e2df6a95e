"""Every error as a problem (RFC 9457), its status from one table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from burnish.errors import (
    BurnishError,
    EffectFailed,
    InvalidInput,
    LanguageModelUnavailable,
    NotFound,
    Unavailable,
)

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5

# An error has the status of its nearest ancestor in this table.
STATUS: Mapping[type[Exception], HTTPStatus] = {
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    NotFound: HTTPStatus.NOT_FOUND,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    LanguageModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    EffectFailed: HTTPStatus.BAD_GATEWAY,
    BurnishError: HTTPStatus.INTERNAL_SERVER_ERROR,
    OperationalError: HTTPStatus.SERVICE_UNAVAILABLE,
    InterfaceError: HTTPStatus.SERVICE_UNAVAILABLE,
    PoolTimeout: HTTPStatus.SERVICE_UNAVAILABLE,
    BrokerError: HTTPStatus.SERVICE_UNAVAILABLE,
    RedisError: HTTPStatus.SERVICE_UNAVAILABLE,
}
_CODES = {413: "too_large", 422: "invalid_input", 500: "internal_error", 502: "model_failed", 503: "unavailable"}
_UNSAID = "an unexpected fault; what happened stands in the log of the API"
_SERVER_DOWN = "the database or the broker does not answer at this moment: try again, nothing was changed"


def add_error_handlers(app: FastAPI) -> None:
    """Let every error leave as a problem."""
    for kind in STATUS:
        app.add_exception_handler(kind, _on_known)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_unexpected)


def problem(
    request: Request,
    status: int,
    detail: str,
    errors: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem as a response. 503 says when to come back."""
    found = HTTPStatus(status)
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": found.phrase,
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "code": _CODES.get(status, found.name.lower()),
        "errors": list(errors),
    }
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)} if found is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return JSONResponse(body, status, {**(headers or {}), **retry}, MEDIA_TYPE)


def status_of(error: Exception) -> HTTPStatus:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


async def _on_known(request: Request, error: Exception) -> JSONResponse:
    status = status_of(error)
    if not isinstance(error, BurnishError):
        logger.warning("%s %s: %s", request.method, request.url.path, type(error).__name__)
        return problem(request, status, _SERVER_DOWN)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(request, status, _UNSAID)
    errors = error.errors if isinstance(error, InvalidInput) else ()
    return problem(request, status, str(error), errors)


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    found: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    errors = [
        {"code": "wrong_field", "field": ".".join(map(str, each["loc"])), "message": str(each["msg"])} for each in found
    ]
    detail = "; ".join(f"{each['field']}: {each['message']}" for each in errors)
    return problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors)


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    return problem(request, error.status_code, str(error.detail), headers=error.headers)


async def _on_unexpected(request: Request, error: Exception) -> JSONResponse:
    del error  # the server logs it with its trace
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, _UNSAID)

"""Errors as RFC 9457 problem+json, made at one place from the kernel's tree.

A route raises what happened and declares it with `responses`; the generated client then
knows which codes to expect. What is not of the tree is a 500 that tells nothing but a
request's id: an internal message may hold what the reader must not see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.exceptions import HTTPException

from controlplane.kernel.errors import FleetwardError, InvalidInput, NotAllowed
from controlplane.model.base import Model

MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger(__name__)


class SignedOut(NotAllowed):
    """Nobody is signed in, or no longer; the console offers to sign in."""

    code = "signed_out"
    status = 401


class FieldError(Model):
    """One field of the request that is wrong."""

    field: str
    message: str


class Problem(Model):
    """A refusal or a failure. ``code`` is stable; ``detail`` and ``hint`` are for people."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None
    errors: tuple[FieldError, ...] = Field(default=(), description="for invalid input: field by field")


class ProblemResponse(JSONResponse):
    """A problem on the wire."""

    media_type = MEDIA_TYPE

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        content = problem.model_dump(mode="json", by_alias=True)
        super().__init__(content, status_code=problem.status, headers=headers)


def responses(*errors: type[FleetwardError]) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses=`` of a route that may raise ``errors``."""
    by_status: dict[int, list[type[FleetwardError]]] = {}
    for error in errors:
        by_status.setdefault(error.status, []).append(error)
    return {
        status: {
            "model": Problem,
            "description": ", ".join(f"`{error.code}`" for error in group),
            "content": {MEDIA_TYPE: {}},
        }
        for status, group in by_status.items()
    }


def render(error: FleetwardError) -> ProblemResponse:
    """Return the answer for an error of the tree."""
    problem = Problem(
        title=HTTPStatus(error.status).phrase,
        status=error.status,
        detail=error.message,
        code=error.code,
        hint=error.hint,
    )
    headers = {"WWW-Authenticate": "Bearer"} if error.status == HTTPStatus.UNAUTHORIZED else None
    return ProblemResponse(problem, headers)


async def _fleetward(_: Request, error: Exception) -> Response:
    assert isinstance(error, FleetwardError)  # noqa: S101  registered for this type alone
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request failed", code=error.code, error=str(error))
    return render(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  registered for this type alone
    errors = tuple(
        FieldError(field=".".join(str(part) for part in each["loc"]), message=each["msg"])
        for each in error.errors()
    )
    detail = "; ".join(f"{each.field}: {each.message}" for each in errors)
    return ProblemResponse(
        Problem(
            title=HTTPStatus.UNPROCESSABLE_ENTITY.phrase,
            status=InvalidInput.status,
            detail=detail,
            code=InvalidInput.code,
            errors=errors,
        )
    )


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for this type alone
    status = HTTPStatus(error.status_code)
    problem = Problem(
        title=status.phrase,
        status=status,
        detail=str(error.detail),
        code=status.name.lower(),
    )
    return ProblemResponse(problem, error.headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("unexpected error", path=request.url.path, exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    detail = "Something went wrong inside the API; its log has the details."
    return ProblemResponse(Problem(title=status.phrase, status=status, detail=detail, code="internal"))


Handler = Callable[[Request, Exception], Awaitable[Response]]


def install(app: FastAPI) -> None:
    """Let ``app`` render every error as a problem."""
    handlers: dict[type[Exception], Handler] = {
        FleetwardError: _fleetward,
        RequestValidationError: _invalid,
        HTTPException: _http,
        Exception: _unexpected,
    }
    for error, handler in handlers.items():
        app.add_exception_handler(error, handler)

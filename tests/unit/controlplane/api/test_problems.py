"""Every failure is a problem+json with a stable code; an unexpected one tells nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from structlog.testing import capture_logs

from controlplane.api import problems
from controlplane.kernel import errors
from controlplane.kernel.errors import FleetwardError, InvalidInput


def tree(root: type[FleetwardError] = FleetwardError) -> Iterator[type[FleetwardError]]:
    for child in root.__subclasses__():
        if child.__module__ in {errors.__name__, problems.__name__}:
            yield child
            yield from tree(child)


def app_that_raises(error: Exception) -> TestClient:
    app = FastAPI()
    problems.install(app)

    @app.get("/")
    def fail() -> None:
        raise error

    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("kind", [kind for kind in tree() if kind is not errors.InvalidDocuments])
def test_each_error_of_the_tree_is_rendered_with_its_code_and_status(kind: type[FleetwardError]) -> None:
    answer = app_that_raises(kind("it went wrong", hint="do this")).get("/")
    assert answer.status_code == kind.status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["code"], body["status"], body["detail"], body["hint"]) == (
        kind.code, kind.status, "it went wrong", "do this",
    )  # fmt: skip


def test_an_unexpected_error_tells_nothing_of_itself() -> None:
    with capture_logs() as logs:
        answer = app_that_raises(RuntimeError("password=hunter2")).get("/")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "hunter2" not in answer.text
    assert [line["event"] for line in logs] == ["unexpected error"]


def test_a_wrong_field_is_named(client: TestClient, bearer: dict[str, str]) -> None:
    answer = client.post("/api/v1/halts", json={"reason": "x", "fro": "1h"}, headers=bearer)
    assert answer.status_code == InvalidInput.status
    assert {each["field"] for each in answer.json()["errors"]} == {"body.reason", "body.fro"}


def test_a_wrong_method_is_a_problem_too(client: TestClient) -> None:
    answer = client.put("/api/v1/halts")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_a_route_declares_what_it_may_answer() -> None:
    declared = problems.responses(errors.NotFound, errors.VersionConflict, errors.Refused)
    assert set(declared) == {404, 409}
    assert declared[409]["description"] == "`version_conflict`, `refused`"

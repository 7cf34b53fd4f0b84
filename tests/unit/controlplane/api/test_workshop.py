"""Writing playbooks over the API: new ones, the layout, what is wrong with them together, their tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.app import create_app
from controlplane.api.services import Services
from controlplane.cli import workshop
from controlplane.cli.workshop import Workshop

BASE = "http://127.0.0.1:8700"


@pytest.fixture
def client(services: Services, bearer: dict[str, str]) -> Iterator[TestClient]:
    app = create_app(replace(services, author=Workshop()))
    with TestClient(app, base_url=BASE, headers=bearer) as made:
        yield made


@pytest.fixture
def begun(client: TestClient) -> list[dict[str, Any]]:
    """The two files of a new playbook."""
    answer = client.get("/api/v1/playbooks/new", params={"name": "leave-zone"})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def test_a_new_playbook_is_valid_and_its_test_passes(client: TestClient, begun: list[dict[str, Any]]) -> None:
    assert [each["file"] for each in begun] == ["leave-zone.yaml", "leave-zone.test.yaml"]
    assert client.post("/api/v1/playbooks/lint", json={"files": begun}).json()["valid"]
    result = client.post("/api/v1/playbooks/test", json={"files": begun}).json()
    assert (result["valid"], result["failed"]) == (True, 0)
    assert result["passed"] == len(result["cases"]) > 0


def test_a_name_that_is_none_is_refused(client: TestClient) -> None:
    answer = client.get("/api/v1/playbooks/new", params={"name": "Leave Zone"})
    assert (answer.status_code, answer.json()["hint"]) == (422, "write lower case letters, digits and dashes")


def test_a_test_that_expects_otherwise_fails_with_the_difference(
    client: TestClient, begun: list[dict[str, Any]]
) -> None:
    begun[1]["text"] = begun[1]["text"].replace("state: succeeded", "state: cancelled", 1)
    result = client.post("/api/v1/playbooks/test", json={"files": begun}).json()
    assert result["failed"] >= 1
    bad = next(each for each in result["cases"] if not each["passed"])
    assert any("cancelled" in line for line in bad["difference"])


def test_files_with_a_mistake_are_not_played(client: TestClient, begun: list[dict[str, Any]]) -> None:
    begun[0]["text"] = begun[0]["text"].replace("spec:", "spec:\n  colour: red", 1)
    result = client.post("/api/v1/playbooks/test", json={"files": begun}).json()
    assert (result["valid"], result["cases"]) == (False, [])
    assert any("colour" in each["message"] for each in result["diagnostics"])


def test_files_are_looked_at_together(client: TestClient, begun: list[dict[str, Any]]) -> None:
    twice = [begun[0], {**begun[0], "file": "other.yaml"}]
    found = client.post("/api/v1/playbooks/lint", json={"files": twice}).json()
    assert [each["file"] for each in found["diagnostics"] if "twice" in each["message"]] == ["other.yaml"]
    assert not found["valid"]


def test_more_cases_than_one_request_may_ask_for_are_for_the_command_line(
    client: TestClient, begun: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workshop, "MOST_CASES", 0)
    answer = client.post("/api/v1/playbooks/test", json={"files": begun})
    assert answer.status_code == 422
    assert "fleetward playbook test" in answer.json()["hint"]


def test_only_who_may_operate_may_have_tests_played(services: Services, begun: list[dict[str, Any]]) -> None:
    app = create_app(replace(services, author=Workshop()))
    with TestClient(app, base_url=BASE) as stranger:
        assert stranger.post("/api/v1/playbooks/test", json={"files": begun}).status_code == 401


def test_the_layout_is_that_of_the_command_line(client: TestClient) -> None:
    text = "kind: Playbook\napiVersion: fleetward.dev/v1\n"
    answer = client.post("/api/v1/playbooks/fmt", json={"text": text}).json()
    assert answer == {"text": "apiVersion: fleetward.dev/v1\nkind: Playbook\n", "changed": True}
    assert not client.post("/api/v1/playbooks/fmt", json={"text": answer["text"]}).json()["changed"]

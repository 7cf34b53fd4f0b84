"""How objectives stand, over the API and on the command line: what the controller left, nothing made up."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from controlplane.store.database import Database
from tests.support.standing import leave


@pytest.fixture
def told() -> bool:
    return False


def test_what_the_controller_left_is_listed_by_service(client: TestClient, database: Database) -> None:
    assert client.get("/api/v1/slos").json() == {"items": []}
    leave(database)
    listed = client.get("/api/v1/slos").json()["items"]
    assert [each["name"] for each in listed[0]["objectives"]] == ["chat-success", "chat-few", "chat-ttft"]
    one = client.get("/api/v1/slos/chat-success").json()
    assert (one["budgetLeft"], one["timeToExhaustion"], one["state"]) == (0.25, 90000.0, "bad")


def test_an_unknown_one_is_not_found_and_the_nearest_is_named(client: TestClient, database: Database) -> None:
    leave(database)
    answer = client.get("/api/v1/slos/chat-sucess")
    assert answer.status_code == 404
    assert "chat-success" in answer.text

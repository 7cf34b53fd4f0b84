"""Advice over the API: from what the controller left, for a Service that is in force."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from controlplane.model.advice import INDICATORS, IndicatorsSnapshot
from controlplane.store.database import Database
from tests.support.standing import AT, leave


@pytest.fixture
def told() -> bool:
    return False


def test_it_rests_on_what_was_last_measured(client: TestClient, database: Database) -> None:
    leave(database)
    assert client.get("/api/v1/services/chat/advice").json()["evaluatedAt"] is None
    snapshot = IndicatorsSnapshot(at=AT, evaluated_at=AT, values={"queue": 30.0, "queue_share": 0.8})
    with database.transaction() as tx:
        body = snapshot.model_dump(mode="json", by_alias=True)
        tx.snapshots.put(INDICATORS, body, service="chat", at=AT)
    found = client.get("/api/v1/services/chat/advice").json()
    assert [each["name"] for each in found["indicators"][:2]] == ["success", "queue"]
    (scale,) = [each for each in found["indicators"][1]["levers"] if each["name"] == "scale-out"]
    assert (scale["verdict"], scale["playbook"], scale["loaded"]) == ("for", "scale-out", False)
    assert scale["said"][0]["measured"] == {"queue_share": 0.8}


def test_a_service_that_is_not_in_force_is_not_found(client: TestClient, database: Database) -> None:
    leave(database)
    answer = client.get("/api/v1/services/chad/advice")
    assert answer.status_code == 404
    assert "did you mean `chat`" in answer.text

"""Alertmanager's webhook: who may send, and that the same said twice is one alert."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.auth import issue_alert_token
from controlplane.api.views.alerts import fingerprint
from controlplane.store.database import Database

LABELS = {"alertname": "TargetDown", "service": "chat", "zone": "zone-a", "severity": "page"}


@pytest.fixture
def token(database: Database) -> str:
    with database.transaction() as tx:
        return issue_alert_token(tx)


def alert(**more: Any) -> dict[str, Any]:
    """One alert as Alertmanager 0.28 writes it."""
    return {
        "status": "firing",
        "labels": LABELS,
        "annotations": {"summary": "zone-a is down"},
        "startsAt": "2026-01-01T00:00:00.123Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus/graph",
        "fingerprint": "a1b2c3d4e5f60718",
        **more,
    }


def message(*alerts: dict[str, Any], status: str = "firing") -> dict[str, Any]:
    return {
        "version": "4",
        "groupKey": '{}:{alertname="TargetDown"}',
        "truncatedAlerts": 0,
        "status": status,
        "receiver": "fleetward",
        "groupLabels": {"alertname": "TargetDown"},
        "commonLabels": LABELS,
        "commonAnnotations": {},
        "externalURL": "http://alertmanager:9093",
        "notification_reason": "new",
        "alerts": list(alerts),
    }


def send(client: TestClient, token: str, *alerts: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = client.post(
        "/api/v1/alerts", json=message(*alerts, **more), headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def kept(client: TestClient) -> list[tuple[str, str]]:
    return [(each["startsAt"][:19], each["status"]) for each in client.get("/api/v1/alerts").json()]


def test_the_same_message_twice_is_one_alert(client: TestClient, token: str) -> None:
    assert send(client, token, alert()) == {"received": 1, "changed": 1}
    assert send(client, token, alert()) == {"received": 1, "changed": 0}
    assert kept(client) == [("2026-01-01T00:00:00", "firing")]


def test_an_alert_ends_once_and_a_late_message_does_not_bring_it_back(client: TestClient, token: str) -> None:
    over = alert(status="resolved", endsAt="2026-01-01T00:00:00.900Z")
    assert send(client, token, over, status="resolved") == {"received": 1, "changed": 1}
    assert send(client, token, alert()) == {"received": 1, "changed": 0}
    assert kept(client) == [("2026-01-01T00:00:00", "resolved")]
    again = alert(startsAt="2026-01-01T01:00:00Z")
    assert send(client, token, again) == {"received": 1, "changed": 1}
    assert kept(client)[0] == ("2026-01-01T01:00:00", "firing")


def test_a_batch_may_hold_both_and_older_versions_leave_things_out(client: TestClient, token: str) -> None:
    old = alert(labels={**LABELS, "zone": "zone-b"})
    del old["status"], old["fingerprint"], old["endsAt"]
    over = alert(status="resolved", endsAt="2026-01-01T00:00:01Z")
    assert send(client, token, old, over)["changed"] == 2
    found = {each["fingerprint"]: each["status"] for each in client.get("/api/v1/alerts").json()}
    assert found == {fingerprint(old["labels"]): "firing", "a1b2c3d4e5f60718": "resolved"}


def test_a_set_of_labels_is_called_as_alertmanager_calls_it() -> None:
    assert fingerprint({}) == "cbf29ce484222325"
    assert fingerprint({"b": "2", "a": "1"}) == fingerprint({"a": "1", "b": "2"})
    assert fingerprint({"a": "1"}) != fingerprint({"a": "2"})


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"alertmanager:{password}".encode()).decode()


def test_basic_auth_carries_the_token_as_its_password(client: TestClient, token: str) -> None:
    headers = {"Authorization": basic(token)}
    assert client.post("/api/v1/alerts", json=message(alert()), headers=headers).status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer wrong", basic("wrong"), "Basic !!!", "Basic", "Digest x"])
def test_whoever_has_no_token_sends_nothing(client: TestClient, token: str, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    answer = client.post("/api/v1/alerts", json=message(alert()), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")
    assert kept(client) == []


def test_the_token_for_alerts_opens_nothing_else_and_no_other_opens_this(
    client: TestClient, token: str, bearer: dict[str, str]
) -> None:
    mine = {"Authorization": f"Bearer {token}"}
    assert client.post("/api/v1/halts", json={"reason": "because"}, headers=mine).status_code == 401
    assert client.post("/api/v1/auth/exchange", json={"token": token}).status_code == 401
    assert client.post("/api/v1/alerts", json=message(alert()), headers=bearer).status_code == 401


@pytest.mark.parametrize(
    "broken",
    [
        {"startsAt": "yesterday"},
        {"startsAt": "2026-01-01T00:00:00"},
        {"labels": ["a"]},
        {"labels": {"a": 1}},
        {"status": "odd"},
        {"fingerprint": "not hex"},
    ],
)
def test_what_is_no_alert_is_refused_whole(client: TestClient, token: str, broken: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.post("/api/v1/alerts", json=message(alert(), alert(**broken)), headers=headers)
    assert answer.status_code == 422
    assert kept(client) == []

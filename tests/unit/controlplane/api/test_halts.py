"""Halting and lifting: with a reason, in a scope, for a time, by somebody."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.kernel.clock import VirtualClock


def in_force(client: TestClient) -> list[dict[str, Any]]:
    return list(client.get("/api/v1/halts").json())


def test_a_halt_is_in_force_until_its_time_is_over(
    client: TestClient, bearer: dict[str, str], clock: VirtualClock
) -> None:
    body = {"service": "chat", "zone": "zone-a", "for": "15m", "reason": "switch replacement"}
    made = client.post("/api/v1/halts", json=body, headers=bearer).json()
    assert (made["service"], made["zone"], made["by"]) == ("chat", "zone-a", "admin")
    assert in_force(client) == [made]
    clock.advance(15 * 60 + 1)
    assert in_force(client) == []


def test_a_halt_without_a_time_stands_until_lifted(
    client: TestClient, bearer: dict[str, str], clock: VirtualClock
) -> None:
    made = client.post("/api/v1/halts", json={"reason": "something is odd"}, headers=bearer).json()
    clock.advance(30 * 86_400)
    assert [each["id"] for each in in_force(client)] == [made["id"]]
    lifted = client.delete(f"/api/v1/halts/{made['id']}", headers=bearer)
    assert lifted.json()["liftedAt"] is not None
    assert in_force(client) == []


def test_lifting_twice_changes_nothing_the_second_time(
    client: TestClient, bearer: dict[str, str], clock: VirtualClock
) -> None:
    made = client.post("/api/v1/halts", json={"reason": "something is odd"}, headers=bearer).json()
    first = client.delete(f"/api/v1/halts/{made['id']}", headers=bearer).json()
    clock.advance(10)
    assert client.delete(f"/api/v1/halts/{made['id']}", headers=bearer).json() == first


def test_lifting_what_is_not_there_is_not_found(client: TestClient, bearer: dict[str, str]) -> None:
    assert client.delete("/api/v1/halts/halt-none", headers=bearer).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason": ""},
        {"reason": "   "},
        {"reason": "no unit", "for": "15"},
        {"reason": "two scopes", "target": "chat/local/zone-a", "zone": "zone-a"},
        {"reason": "not a target", "target": "chat//zone-a"},
        {"reason": "unknown key", "scope": "all"},
    ],
)
def test_a_halt_that_says_nothing_or_too_much_is_refused(
    client: TestClient, bearer: dict[str, str], body: dict[str, Any]
) -> None:
    assert client.post("/api/v1/halts", json=body, headers=bearer).status_code == 422
    assert in_force(client) == []

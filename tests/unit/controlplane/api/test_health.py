"""Probes and scrapes: alive without the database, ready only with it, and metrics either way."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from controlplane.store.database import Database
from tests.support.console_fleet import FAILOVER


@pytest.fixture
def told() -> bool:
    return True


@pytest.mark.parametrize("prefix", ["", "/api/v1"])
def test_it_is_alive_and_ready(client: TestClient, prefix: str) -> None:
    assert client.get(f"{prefix}/healthz").json() == {"status": "alive"}
    assert client.get(f"{prefix}/readyz").json() == {"status": "ready"}


def test_another_schema_is_alive_but_not_ready(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        tx.connection.execute(text("update alembic_version set version_num = '0000'"))
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_requests_are_counted_by_route_not_by_path(client: TestClient) -> None:
    client.get(f"/api/v1/runs/{FAILOVER}")
    body = client.get("/metrics").text
    assert 'fleetward_api_requests_total{method="GET",route="/runs/{run_id}",status="200"} 1.0' in body
    assert FAILOVER not in body

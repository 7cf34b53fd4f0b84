"""Fleetward's own metrics, and that its dashboard and alerts speak of what there is, and of all of it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML
from sqlalchemy import text

from controlplane.kernel.clock import VirtualClock
from controlplane.model.overview import OVERVIEW, Overview
from controlplane.store.database import Database

CHARTS = Path(__file__).parents[4] / "charts" / "observability"
NAME = re.compile(r"\bfleetward_[a-z_]+")


@pytest.fixture
def told() -> bool:
    return True


def samples(client: TestClient) -> dict[str, dict[tuple[str, ...], float]]:
    """Every sample of a scrape: by name, then by the labels' values."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def expressions() -> list[str]:
    """Every expression of the dashboard and of the alerts."""
    dashboard = json.loads((CHARTS / "dashboard.json").read_text("utf-8"))
    rules = YAML(typ="safe", pure=True).load((CHARTS / "alerts.yaml").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]
    return asked + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def test_the_fleets_state_is_told(client: TestClient) -> None:
    found = samples(client)
    assert sum(found["fleetward_incidents_open"].values()) == 3
    assert found["fleetward_incidents_open"]["chat", "mitigated"] == 1
    assert found["fleetward_runs_active"] == {("playbook",): 1, ("drill",): 1}
    assert found["fleetward_out_of_service"] == {(): 1}
    assert found["fleetward_tick_age_seconds"] == {("chat",): 0}
    assert found["fleetward_zone_weight"]["chat", "zone-b"] == 0
    assert found["fleetward_effective_tokens_per_minute"]["chat",] > 0
    assert found["fleetward_database_up"] == {(): 1}


def test_each_service_has_an_age_of_its_own(
    client: TestClient, database: Database, clock: VirtualClock
) -> None:
    clock.advance(40)
    now = clock.now()
    other = Overview(service="search", cluster="local", tick_at=now, evaluated_at=now)
    with database.transaction() as tx:
        tx.snapshots.put(OVERVIEW, other.model_dump(mode="json", by_alias=True), service="search", at=now)
    found = samples(client)
    assert found["fleetward_tick_age_seconds"] == {("chat",): 40, ("search",): 0}
    assert ("search",) not in found["fleetward_effective_tokens_per_minute"]


def test_a_source_that_is_not_fresh_is_told_as_such(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        body: dict[str, Any] = tx.snapshots.get(OVERVIEW, service="chat") or {}
        body["sources"] = [{"name": "prometheus", "state": "stale"}, {"name": "platform", "state": "fresh"}]
        tx.snapshots.put(OVERVIEW, body, service="chat")
    assert samples(client)["fleetward_source_fresh"] == {("chat", "prometheus"): 0, ("chat", "platform"): 1}


def test_a_run_that_is_due_and_that_nobody_takes_is_overdue(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        late = {"late": tx.now - timedelta(seconds=31), "soon": tx.now - timedelta(seconds=29)}
        due = "update runs set due_at = :at, lease_until = null where id = :id"
        runs = [run.id for run in tx.runs.list(limit=2)]
    for run, when in zip(runs, late.values(), strict=True):
        _execute(database, due, at=when, id=run)
    assert samples(client)["fleetward_runs_overdue"] == {(): 1}


def test_without_the_database_nothing_is_told_but_that(client: TestClient, database: Database) -> None:
    _execute(database, "drop table incidents")
    found = samples(client)
    assert found["fleetward_database_up"] == {(): 0}
    assert "fleetward_runs_active" not in found


def test_dashboard_and_alerts_ask_for_what_there_is_and_for_all_of_it(client: TestClient) -> None:
    client.get("/api/v1/overview")
    there = {name for name in samples(client) if name.startswith("fleetward_")}
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    assert asked - there == set()
    made_of = re.compile(r"_(created|sum|count)$")
    assert {name for name in there if not made_of.search(name)} - asked == set()


def test_panels_have_ids_and_places_of_their_own() -> None:
    panels = json.loads((CHARTS / "dashboard.json").read_text("utf-8"))["panels"]
    places = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def _execute(database: Database, statement: str, **values: Any) -> None:
    with database.transaction() as tx:
        tx.connection.execute(text(statement), values)

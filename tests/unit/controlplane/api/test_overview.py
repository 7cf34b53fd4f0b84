"""The overview: the controller's last picture, and what needs attention now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.kernel.errors import Problem
from controlplane.model.overview import OVERVIEW
from controlplane.model.policy import Policy
from controlplane.model.states import FaultState
from controlplane.store.database import Database
from controlplane.store.tables import faults
from tests.support import console_story
from tests.support.console_drills import DRILL, PASSED
from tests.support.console_fleet import FAILOVER


@pytest.fixture
def told() -> bool:
    return True


def overview(client: TestClient) -> dict[str, Any]:
    answer = client.get("/api/v1/overview")
    assert answer.status_code == 200
    return dict(answer.json())


def test_it_shows_the_fleet_as_the_controller_saw_it(client: TestClient) -> None:
    shown = overview(client)
    assert [zone["name"] for zone in shown["zones"]] == ["zone-a", "zone-b", "zone-c"]
    gray = shown["zones"][1]
    assert (gray["health"], gray["weight"], gray["holder"]) == ("suspended", 0, FAILOVER)
    assert gray["readings"]["successRate"] is None
    assert len(gray["nodes"]) == 2
    assert shown["headline"]["ttftP95"] == 0.412
    assert (shown["service"], shown["environment"], shown["version"]) == ("chat", "lab", "1.2.3")


def test_it_lists_what_is_open_and_what_runs(client: TestClient) -> None:
    shown = overview(client)
    assert {each["state"] for each in shown["openIncidents"]} == {"firing", "mitigated"}
    assert {each["id"] for each in shown["activeRuns"]} == {FAILOVER, DRILL}
    assert shown["activeDrill"]["run"]["id"] == DRILL
    assert [each["state"] for each in shown["activeDrill"]["faults"]] == ["verified"]
    assert [each["target"] for each in shown["outOfService"]] == ["chat/local/zone-b"]


def test_a_drills_band_reaches_from_its_injection_to_its_clearing(client: TestClient) -> None:
    spans = {span["run"]: span for span in overview(client)["drills"]}
    assert set(spans) == {DRILL, PASSED}
    assert spans[DRILL]["endedAt"] is None
    assert spans[PASSED]["endedAt"] is not None


def test_a_drill_that_ended_with_its_fault_standing_keeps_no_open_band(
    client: TestClient, database: Database
) -> None:
    with database.transaction() as tx:
        stuck = faults.update().where(faults.c.run == PASSED)
        tx.write(stuck.values(state=FaultState.STUCK.value, cleared_at=None))
        ended = tx.runs.get(PASSED).ended_at
    span = next(span for span in overview(client)["drills"] if span["run"] == PASSED)
    assert ended is not None
    assert span["endedAt"] == ended.isoformat().replace("+00:00", "Z")


def test_the_mode_is_the_strictest_in_force(client: TestClient, database: Database) -> None:
    assert overview(client)["mode"] == "auto"
    envelope = {"apiVersion": "fleetward.dev/v1", "kind": "Policy", "metadata": {"name": "policy"}}
    with database.transaction() as tx:
        tx.documents.put(Policy.model_validate({**envelope, "spec": {"mode": "observe"}}))
    assert overview(client)["mode"] == "observe"


def test_a_halt_shows_until_it_expires(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        console_story.halt(tx, tx.now)
    assert [each["zone"] for each in overview(client)["halts"]] == ["zone-c"]
    database.clock.sleep(timedelta(hours=1).total_seconds())
    assert overview(client)["halts"] == []


def test_files_that_could_not_be_read_show(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        tx.documents.replace_problems([Problem("zone.yaml", 3, 5, "spec", "unknown key `stpes`", "steps")])
    assert overview(client)["problems"] == [
        {
            "file": "zone.yaml",
            "line": 3,
            "column": 5,
            "path": "spec",
            "message": "unknown key `stpes`",
            "suggestion": "steps",
        }
    ]


@pytest.mark.parametrize("body", [None, {"from": "another version"}])
def test_without_a_picture_nothing_measured_is_shown(
    client: TestClient, database: Database, body: dict[str, Any] | None
) -> None:
    with database.transaction() as tx:
        tx.snapshots.put(OVERVIEW, body or {}, service="chat")
    shown = overview(client)
    assert (shown["tickAt"], shown["zones"], shown["headline"]["etpm"]) == (None, [], None)
    assert shown["openIncidents"] != []

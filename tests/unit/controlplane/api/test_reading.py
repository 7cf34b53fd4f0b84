"""Lists and details: what is asked for, newest first, with everything that explains it."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.model.report import report_name
from controlplane.store.database import Database
from tests.support.console_drills import DRILL, FAILED, PASSED
from tests.support.console_fleet import FAILOVER
from tests.support.console_story import CHILD, FIRING, MITIGATED, RESOLVED


@pytest.fixture
def told() -> bool:
    return True


def get(client: TestClient, path: str) -> Any:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(listed: dict[str, Any]) -> list[str]:
    return [item["id"] for item in listed["items"]]


# ── Incidents ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [FIRING, MITIGATED, CHILD, RESOLVED]),
        ("?state=open", [FIRING, MITIGATED, CHILD]),
        ("?state=firing", [FIRING, CHILD]),
        ("?state=resolved", [RESOLVED]),
        ("?state=unknown", []),
        ("?target=chat/local/zone-a", [RESOLVED]),
    ],
)
def test_incidents_are_filtered_and_newest_first(client: TestClient, query: str, expected: list[str]) -> None:
    listed = get(client, f"/incidents{query}")
    assert sorted(ids(listed)) == sorted(expected)
    assert listed["total"] == len(expected)
    opened = [item["openedAt"] for item in listed["items"]]
    assert opened == sorted(opened, reverse=True)


def test_a_limit_leaves_the_total_true(client: TestClient) -> None:
    listed = get(client, "/incidents?limit=2")
    assert (len(listed["items"]), listed["total"]) == (2, 4)


def test_an_incidents_timeline_tells_states_decisions_runs_and_folds_in_order(client: TestClient) -> None:
    detail = get(client, f"/incidents/{MITIGATED}")
    told = [(entry["kind"], entry["state"]) for entry in detail["timeline"]]
    assert set(told) == {
        ("state", "pending"),
        ("state", "firing"),
        ("state", "mitigated"),
        ("decision", "run"),
        ("decision", "refused"),
        ("run", "running"),
        ("fold", "firing"),
    }
    times = [entry["at"] for entry in detail["timeline"]]
    assert times == sorted(times)
    assert [child["id"] for child in detail["children"]] == [CHILD]
    assert [run["id"] for run in detail["runs"]] == [FAILOVER]


def test_a_decision_not_to_act_says_which_guard_and_on_what_values(client: TestClient) -> None:
    detail = get(client, f"/incidents/{MITIGATED}")
    refused = next(each for each in detail["decisions"] if each["outcome"] == "refused")
    throttle = next(guard for guard in refused["guards"] if guard["verdict"] == "refuse")
    assert throttle["values"] == {"onceWithin": "10m"}
    entry = next(each for each in detail["timeline"] if each["ref"] == refused["id"])
    assert entry["detail"] == "throttle: zone-failover ran 6 s ago; once within 10 m"


# ── Runs ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ("", 22),
        ("?state=active", 2),
        ("?state=ended", 20),
        ("?state=failed", 4),
        ("?kind=drill", 6),
        ("?kind=drill&state=active", 1),
        (f"?incident={MITIGATED}", 1),
        ("?name=zone-failover", 1),
    ],
)
def test_runs_are_filtered(client: TestClient, query: str, total: int) -> None:
    listed = get(client, f"/runs{query}")
    assert (listed["total"], len(listed["items"])) == (total, total)


def test_a_run_explains_itself(client: TestClient) -> None:
    detail = get(client, f"/runs/{FAILOVER}")
    assert [step["state"] for step in detail["steps"]] == ["succeeded", "succeeded", "waiting", "pending"]
    assert detail["attempts"][0]["key"] == f"{FAILOVER}/headroom/1"
    assert [(each["before"], each["intended"], each["applied"]) for each in detail["undo"]] == [(100, 0, 0)]
    assert detail["decision"]["run"] == FAILOVER
    assert detail["incident"]["id"] == MITIGATED
    assert [each["target"] for each in detail["outOfService"]] == ["chat/local/zone-b"]
    assert detail["journal"] != []
    assert detail["faults"] == []


def test_a_drills_run_shows_its_ledger_of_faults(client: TestClient) -> None:
    detail = get(client, f"/runs/{DRILL}")
    assert [(each["kind"], each["state"]) for each in detail["faults"]] == [("zone.gray", "verified")]


# ── Drills ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_drills_are_listed_with_verdict_and_targets(client: TestClient) -> None:
    listed = get(client, "/drills")
    verdicts = {item["id"]: item["verdict"] for item in listed["items"]}
    assert (verdicts[DRILL], verdicts[PASSED], verdicts[FAILED]) == (None, "passed", "failed")
    assert listed["items"][0]["targets"] == ["chat/local/zone-b"]


def test_a_report_comes_as_data_as_a_page_and_for_a_pipeline(client: TestClient) -> None:
    path = f"/api/v1/drills/{PASSED}/report"
    data, page, junit = (client.get(f"{path}?format={each}") for each in ("json", "html", "junit"))
    assert (data.json()["verdict"], data.json()["tokens"]["kept"]) == ("passed", 0.942)
    assert page.headers["content-type"].startswith("text/html")
    assert junit.headers["content-type"].startswith("application/xml")
    assert junit.headers["content-disposition"] == f'attachment; filename="{PASSED}.xml"'


def test_a_drill_that_runs_has_no_report_yet(client: TestClient) -> None:
    answer = client.get(f"/api/v1/drills/{DRILL}/report")
    assert answer.status_code == 404
    assert answer.json()["hint"] == "it is running; a report is written at the end"


def test_a_report_of_another_version_is_a_problem_not_a_crash(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        tx.snapshots.put(report_name(PASSED), {"report": {}, "html": "", "junit": ""})
    assert client.get(f"/api/v1/drills/{PASSED}/report").status_code == 404


# ── Everything ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["/incidents/none", "/runs/none", "/drills/none/report", f"/drills/{FAILOVER}/report"]
)
def test_what_does_not_exist_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/v1{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "path", ["/incidents?state=bad", "/runs?limit=0", "/runs?kind=x", "/drills?limit=501"]
)
def test_a_wrong_question_says_what_is_wrong(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/v1{path}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


def test_decisions_are_filtered(client: TestClient) -> None:
    assert get(client, "/decisions")["total"] == 2
    assert get(client, f"/decisions?run={FAILOVER}")["total"] == 1
    assert get(client, "/decisions?target=chat/local/zone-a")["total"] == 0

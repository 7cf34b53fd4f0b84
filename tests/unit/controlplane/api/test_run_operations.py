"""What people do with a run over the API: who it was is written down, nonsense is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.api.auth import issue_api_token
from controlplane.model.action import Change
from controlplane.model.approval import Question
from controlplane.model.identity import Role
from controlplane.model.records import Run
from controlplane.model.states import RunState
from controlplane.model.target import Target
from controlplane.store.database import Database
from controlplane.store.transitions import move
from tests.support.steps import SERVICE

PLAN = RunPlan.model_validate({"steps": [{"id": "first", "uses": "query.wait"}]})
Start = Callable[..., Run]


@pytest.fixture
def start(database: Database) -> Start:
    """Start a run, and move it to its end if one is given."""

    def start(*states: RunState, **more: Any) -> Run:
        with database.transaction() as tx:
            pins = {"Service": tx.documents.put(SERVICE)}
            values: dict[str, Any] = {"kind": "playbook", "name": "zone-failover", **more}
            run = start_run(tx, StartRequest(service="chat", plan=PLAN, pins=pins, **values))
            for state in states:
                run = move(tx, run, state)
            return run

    return start


def journal(database: Database, run: Run) -> list[str]:
    with database.reading() as tx:
        return [line.message for line in tx.journal.list(run.id)]


def test_a_run_is_cancelled_paused_and_continued_in_the_callers_name(
    client: TestClient, bearer: dict[str, str], start: Start, database: Database
) -> None:
    run = start()
    paused = client.post(f"/api/v1/runs/{run.id}/pause", json={"reason": "a look"}, headers=bearer).json()
    assert paused["paused"] == "paused by admin: a look"
    going = client.post(f"/api/v1/runs/{run.id}/continue", json={}, headers=bearer).json()
    assert going["paused"] is None
    body = {"reason": "wrong zone", "undo": False}
    stopped = client.post(f"/api/v1/runs/{run.id}/cancel", json=body, headers=bearer).json()
    assert (stopped["stop"], stopped["stopReason"]) == ("cancel", "cancelled by admin: wrong zone")
    assert journal(database, run)[1:] == [
        "paused by admin: a look",
        "admin lets it go on",
        "cancelled by admin: wrong zone",
    ]


def test_a_failed_run_is_retried_as_a_new_one(
    client: TestClient, bearer: dict[str, str], start: Start
) -> None:
    run = start(RunState.RUNNING, RunState.FAILED)
    made = client.post(f"/api/v1/runs/{run.id}/retry", json={}, headers=bearer)
    assert made.status_code == 200
    assert (made.json()["retryOf"], made.json()["startedBy"]) == (run.id, "admin")
    again = client.post(f"/api/v1/runs/{run.id}/retry", json={}, headers=bearer)
    assert again.json()["id"] == made.json()["id"]


def test_what_an_ended_run_left_is_taken_back_by_a_new_one(
    client: TestClient, bearer: dict[str, str], start: Start, database: Database
) -> None:
    run = start(RunState.RUNNING)
    with database.transaction() as tx:
        tx.undo.intend(run.id, "first", Change(Target("chat", "local", "zone-a"), "weight", 100, 0))
        move(tx, run, RunState.FAILED)
    made = client.post(f"/api/v1/runs/{run.id}/undo", json={"reason": "no use"}, headers=bearer).json()
    assert (made["undoOf"], made["startedBy"], made["trigger"]) == (run.id, "admin", "undo")
    again = client.post(f"/api/v1/runs/{run.id}/undo", json={}, headers=bearer).json()
    assert again["id"] == made["id"]


@pytest.mark.parametrize(
    ("operation", "states"),
    [
        ("cancel", (RunState.RUNNING, RunState.FAILED)),
        ("pause", (RunState.RUNNING, RunState.FAILED)),
        ("continue", (RunState.RUNNING, RunState.FAILED)),
        ("retry", (RunState.RUNNING,)),
        ("undo", (RunState.RUNNING,)),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_state(
    client: TestClient, bearer: dict[str, str], start: Start, operation: str, states: tuple[RunState, ...]
) -> None:
    run = start(*states)
    answer = client.post(f"/api/v1/runs/{run.id}/{operation}", json={}, headers=bearer)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert states[-1].value in answer.json()["detail"]


@pytest.mark.parametrize("operation", ["cancel", "pause", "continue", "retry", "undo"])
def test_a_run_that_is_not_there_is_not_found(
    client: TestClient, bearer: dict[str, str], operation: str
) -> None:
    assert client.post(f"/api/v1/runs/run-none/{operation}", json={}, headers=bearer).status_code == 404


@pytest.fixture
def asked(start: Start, database: Database) -> Run:
    """A run that the admin started, and that waits for an approver."""
    run = start(started_by="admin")
    with database.transaction() as tx:
        tx.approvals.ask(run.id, None, Question(text="may it run?", timeout=300), {"steps": []})
    return run


def token(database: Database, name: str, role: Role) -> dict[str, str]:
    with database.transaction() as tx:
        secret = issue_api_token(tx, name, role, tx.now + timedelta(hours=1), by="admin")
    return {"Authorization": f"Bearer {secret}"}


def test_an_approver_decides_and_an_operator_or_the_starter_does_not(
    client: TestClient, bearer: dict[str, str], asked: Run, database: Database
) -> None:
    path = f"/api/v1/runs/{asked.id}/approve"
    operator = client.post(path, json={}, headers=token(database, "olga", Role.OPERATOR))
    starter = client.post(path, json={}, headers=bearer)
    assert (operator.status_code, starter.status_code) == (403, 403)
    assert "somebody else must approve it" in starter.json()["detail"]
    ada = token(database, "ada", Role.APPROVER)
    done = client.post(path, json={"comment": "go"}, headers=ada).json()
    assert (done["decision"], done["decidedBy"], done["comment"]) == ("approved", "ada", "go")
    assert client.post(path, json={}, headers=ada).json() == done
    assert client.post(f"/api/v1/runs/{asked.id}/reject", json={}, headers=ada).status_code == 409


def test_what_waits_is_on_the_run_and_on_the_overview(client: TestClient, asked: Run) -> None:
    (found,) = client.get(f"/api/v1/runs/{asked.id}").json()["approvals"]
    assert (found["text"], found["roles"], found["decision"]) == ("may it run?", ["approver"], None)
    assert [each["id"] for each in client.get("/api/v1/overview").json()["approvals"]] == [found["id"]]


def test_a_run_that_asks_nobody_cannot_be_approved(
    client: TestClient, bearer: dict[str, str], start: Start
) -> None:
    answer = client.post(f"/api/v1/runs/{start().id}/approve", json={}, headers=bearer)
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith("waits for nobody's decision")

"""`fleetward runs`: what ran, and what people do with it, on the database alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound
from controlplane.model.approval import Question
from controlplane.model.records import Run
from controlplane.model.states import RunState
from controlplane.store.database import Database
from controlplane.store.transitions import move
from tests.support.steps import SERVICE
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
Start = Callable[..., Run]
pytestmark = pytest.mark.timeout(30)  # a whole command line and a database, several times a test
PLAN = RunPlan.model_validate({"steps": [{"id": "first", "uses": "query.wait"}]})


@pytest.fixture
def start(fleetward: Fleetward, tmp_path: Path) -> Start:
    """Start a run in the command line's database, and move it on."""
    fleetward("runs")

    def start(*states: RunState, **more: Any) -> Run:
        database = Database(f"sqlite:///{tmp_path / 'state' / 'fleetward.db'}", SystemClock())
        try:
            with database.transaction() as tx:
                pins = {"Service": tx.documents.put(SERVICE)}
                values: dict[str, Any] = {"kind": "playbook", "name": "zone-failover", **more}
                run = start_run(tx, StartRequest(service="chat", plan=PLAN, pins=pins, **values))
                for state in states:
                    run = move(tx, run, state)
                return run
        finally:
            database.close()

    return start


def test_the_short_spelling_lists_as_the_long_one_does(fleetward: Fleetward, start: Start) -> None:
    run = start()
    short, long = fleetward("runs", "-o", "json").json(), fleetward("runs", "list", "-o", "json").json()
    assert [each["id"] for each in short] == [run.id]
    assert short == long
    assert fleetward("runs", "list", "--active", "-o", "json").json() == long


def test_the_journal_is_shown_from_where_one_has_read(fleetward: Fleetward, start: Start) -> None:
    run = start()
    fleetward("runs", "pause", run.id)
    lines = fleetward("runs", "logs", run.id, "-o", "json").json()
    assert [line["event"] for line in lines] == ["run.queued", "run.paused"]
    newer = fleetward("runs", "logs", run.id, "--after", lines[0]["id"], "-o", "json").json()
    assert newer == lines[1:]
    assert fleetward("runs", "logs", run.id, "--step", "first", "-o", "json").json() == []


def test_who_did_it_is_this_user_or_who_they_say_they_are(fleetward: Fleetward, start: Start) -> None:
    run = start()
    paused = fleetward("runs", "pause", run.id, "--as", "ada", "--reason", "a look", "-o", "json").json()
    assert paused["paused"] == "paused by cli:ada: a look"
    assert fleetward("runs", "continue", run.id, "-o", "json").json()["paused"] is None
    stopped = fleetward("runs", "cancel", run.id, "--keep", "-o", "json").json()
    assert stopped["stopReason"].startswith("cancelled by cli")
    assert "cli:ada" not in stopped["stopReason"]
    assert isinstance(fleetward("runs", "pause", run.id, "--as", " ").error, InvalidInput)


def test_a_failed_run_is_retried(fleetward: Fleetward, start: Start) -> None:
    run = start(RunState.RUNNING, RunState.FAILED)
    made = fleetward("runs", "retry", run.id, "-o", "json").json()
    assert made["retryOf"] == run.id
    assert f"retries {run.id}. It is queued." in fleetward("runs", "retry", run.id).text


def test_what_makes_no_sense_is_refused(fleetward: Fleetward, start: Start) -> None:
    run = start(RunState.RUNNING, RunState.SUPERSEDED)
    for command in ("cancel", "pause", "continue", "retry", "undo"):
        assert isinstance(fleetward("runs", command, run.id).error, Conflict)
        assert isinstance(fleetward("runs", command, "run-none").error, NotFound)


def test_somebody_else_approves_what_one_started(fleetward: Fleetward, start: Start, tmp_path: Path) -> None:
    run = start(started_by="cli:ada")
    database = Database(f"sqlite:///{tmp_path / 'state' / 'fleetward.db'}", SystemClock())
    with database.transaction() as tx:
        tx.approvals.ask(run.id, None, Question(text="may it run?", timeout=300), {})
    database.close()
    assert isinstance(fleetward("runs", "approve", run.id, "--as", "ada").error, NotAllowed)
    done = fleetward("runs", "approve", run.id, "--as", "bob", "--comment", "go", "-o", "json").json()
    assert (done["decision"], done["decidedBy"]) == ("approved", "cli:bob")
    assert isinstance(fleetward("runs", "reject", run.id, "--as", "eve").error, Conflict)
    assert "may it run?" in fleetward("runs", "show", run.id).text

"""One function moves states: what is allowed is moved and told, everything else is refused."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from sqlalchemy import delete, update

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict
from controlplane.model.records import FaultRecord
from controlplane.model.states import (
    FAULT_MOVES,
    INCIDENT_MOVES,
    RUN_MOVES,
    STEP_MOVES,
    FaultState,
    IncidentState,
    RunState,
    State,
    StepState,
    is_final,
)
from controlplane.store import tables
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction
from controlplane.store.transitions import move
from tests.unit.controlplane.store.test_repositories import new_incident, new_run

Make = Callable[[Transaction, VirtualClock, Any], Any]


def a_run(tx: Transaction, clock: VirtualClock, state: RunState) -> Any:
    return tx.runs.add(new_run(clock, state=state), {})


def a_step(tx: Transaction, clock: VirtualClock, state: StepState) -> Any:
    tx.runs.add(new_run(clock, state=RunState.RUNNING), {})
    tx.steps.add("run-1", [("one", "first")])
    born_so = update(tables.steps).values({tables.steps.c["state"]: state.value})
    tx.write(born_so)
    return tx.steps.list("run-1")[0]


def an_incident(tx: Transaction, clock: VirtualClock, state: IncidentState) -> Any:
    return tx.incidents.add(new_incident(clock, state=state))


def a_fault(tx: Transaction, clock: VirtualClock, state: FaultState) -> Any:
    return tx.faults.add(
        FaultRecord(
            id="fault-1",
            kind="zone.gray",
            drill="gray",
            service="chat",
            targets=(),
            state=state,
            expires_at=clock.now() + timedelta(seconds=60),
            created_at=clock.now(),
        )
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("make", "states", "allowed"),
    [
        (a_run, RunState, RUN_MOVES),
        (a_step, StepState, STEP_MOVES),
        (an_incident, IncidentState, INCIDENT_MOVES),
        (a_fault, FaultState, FAULT_MOVES),
    ],
)
def test_exactly_the_allowed_moves_are_made(
    database: Database, clock: VirtualClock, make: Make, states: type[State], allowed: Any
) -> None:
    for number, (old, new) in enumerate(product(states, states)):
        with database.transaction() as tx:
            for table in (tables.runs, tables.incidents, tables.faults):
                tx.write(delete(table))
            record = make(tx, clock, old)
            if new in allowed[old]:
                assert move(tx, record, new, "because").state == new
                assert tx.events.bounds()[1] > number
            else:
                with pytest.raises(Conflict):
                    move(tx, record, new, "because")


def test_a_record_that_has_moved_since_it_was_read_is_refused(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        stale = a_run(tx, clock, RunState.QUEUED)
        move(tx, stale, RunState.RUNNING)
        with pytest.raises(Conflict, match="no longer queued"):
            move(tx, stale, RunState.CANCELLED)


def test_a_run_cannot_succeed_over_open_steps(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        run = a_run(tx, clock, RunState.RUNNING)
        tx.steps.add("run-1", [("one", "first"), ("two", "first")])
        for state in (RunState.SUCCEEDED, RunState.VERIFYING):
            with pytest.raises(Conflict, match="2 of its steps are not over"):
                move(tx, run, state)


def test_a_step_starts_only_in_a_running_run(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        a_run(tx, clock, RunState.QUEUED)
        tx.steps.add("run-1", [("one", "first")])
        with pytest.raises(Conflict, match="its run is queued"):
            move(tx, tx.steps.list("run-1")[0], StepState.RUNNING)


@pytest.mark.parametrize("end", [state for state in RunState if is_final(state) and state != "succeeded"])
def test_with_its_run_every_open_step_ends_and_nothing_is_due(
    database: Database, clock: VirtualClock, end: RunState
) -> None:
    with database.transaction() as tx:
        run = a_run(tx, clock, RunState.RUNNING)
        tx.steps.add("run-1", [("one", "first"), ("two", "first")])
        move(tx, tx.steps.list("run-1")[0], StepState.RUNNING)
        ended = move(tx, run, end, "because")
        assert [step.state for step in tx.steps.list("run-1")] == [StepState.CANCELLED] * 2
        assert (ended.due_at, ended.lease_owner, ended.ended_at) == (None, None, clock.now())
        assert ended.reason == "because"


def test_the_end_of_a_run_wakes_the_next_of_its_group(database: Database, clock: VirtualClock) -> None:
    later = clock.now() + timedelta(seconds=60)
    with database.transaction() as tx:
        first = tx.runs.add(new_run(clock, "run-1", group="g"), {})
        tx.runs.add(new_run(clock, "run-2", group="g", due_at=later), {})
        tx.runs.add(new_run(clock, "run-3", group="other", due_at=later), {})
        move(tx, first, RunState.CANCELLED)
        assert [tx.runs.get(id_).due_at for id_ in ("run-2", "run-3")] == [clock.now(), later]


def test_a_moved_record_is_as_it_would_be_read_back(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        a_run(tx, clock, RunState.RUNNING)
        tx.steps.add("run-1", [("one", "first")])
        parameters = {"at": clock.now(), "pair": (1, 2), "far": float("inf")}
        step = move(tx, tx.steps.list("run-1")[0], StepState.RUNNING, parameters=parameters, attempt=1)
        assert step == tx.steps.list("run-1")[0]
        assert step.parameters == {"at": "2026-01-01T00:00:00Z", "pair": [1, 2], "far": None}
        ended = move(tx, tx.runs.get("run-1"), RunState.FAILED, "because")
        assert ended == tx.runs.get("run-1")


def test_every_move_of_runs_and_steps_is_in_the_journal(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        run = move(tx, a_run(tx, clock, RunState.QUEUED), RunState.RUNNING, "worker-1 starts it")
        tx.steps.add("run-1", [("one", "first")])
        step = move(tx, tx.steps.list("run-1")[0], StepState.RUNNING, "first starts")
        step = move(tx, step, StepState.WAITING, "not yet", due_at=clock.now())
        step = move(tx, step, StepState.RUNNING, quiet=True)
        move(tx, step, StepState.FAILED, "no use")
        move(tx, run, RunState.FAILED, "step one failed")
        lines = [(line.event, line.step, line.message) for line in tx.journal.list("run-1")]
        assert tx.steps.list("run-1")[0].error == "no use"
    assert lines == [
        ("run.running", None, "worker-1 starts it"),
        ("step.running", "one", "first starts"),
        ("step.waiting", "one", "not yet"),
        ("step.failed", "one", "no use"),
        ("run.failed", None, "step one failed"),
    ]

"""What a playbook's budget counts: runs that did something, or were about to, as its throttle."""

from typing import Any

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.model.playbook import Playbook
from controlplane.model.states import RunState
from controlplane.store.budgets import NOTICE, spent
from controlplane.store.database import Database
from controlplane.store.transitions import move
from tests.unit.controlplane.store.test_repositories import new_run

LIMITED = Playbook.model_validate(
    {
        "kind": "Playbook",
        "metadata": {"name": "failover"},
        "spec": {
            "steps": [{"id": "look", "uses": "capacity.check"}],
            "budget": {"maxRuns": 2, "window": "1h", "then": "notify"},
        },
    }
)


def used(database: Database, clock: VirtualClock, moves: list[RunState], **more: Any) -> int:
    """Return what a run has used of the budget that has gone through these states."""
    with database.transaction() as tx:
        run = tx.runs.add(new_run(clock, **more), {})
        for state in moves:
            run = move(tx, run, state, "so it is")
    with database.reading() as tx:
        assert run.never_began == (moves == [RunState.SUPERSEDED])
        return spent(tx, LIMITED, "chat")


@pytest.mark.parametrize(
    ("moves", "uses"),
    [
        ([], 1),
        ([RunState.RUNNING], 1),
        ([RunState.RUNNING, RunState.SUPERSEDED], 1),
        ([RunState.RUNNING, RunState.FAILED], 1),
        ([RunState.CANCELLED], 1),
        ([RunState.SUPERSEDED], 0),
    ],
)
def test_all_runs_count_but_those_that_gave_way_in_their_queue(
    database: Database, clock: VirtualClock, moves: list[RunState], uses: int
) -> None:
    assert used(database, clock, moves) == uses


@pytest.mark.parametrize("moves", [[], [RunState.SUPERSEDED]])
def test_a_notice_that_the_budget_is_used_up_uses_nothing(
    database: Database, clock: VirtualClock, moves: list[RunState]
) -> None:
    assert used(database, clock, moves, trigger=NOTICE) == 0


def test_what_is_older_than_the_window_or_another_services_does_not_count(
    database: Database, clock: VirtualClock
) -> None:
    assert used(database, clock, [], service="other") == 0
    assert used(database, clock, [], id_="run-2") == 1
    clock.advance(3601)
    with database.reading() as tx:
        assert spent(tx, LIMITED, "chat") == 0

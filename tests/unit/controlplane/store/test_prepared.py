"""Prepared statements mean what SQLAlchemy means by them: values, defaults, errors."""

from datetime import timedelta

import pytest
from sqlalchemy import bindparam, select, update

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.store.database import Database
from controlplane.store.tables import decisions, runs, steps
from tests.unit.controlplane.store.test_repositories import new_run

_OF_RUN = select(steps).where(steps.c.run == bindparam("b_run")).order_by(steps.c.position)
_LET_GO = (
    update(runs)
    .where(runs.c.id == bindparam("b_id"))
    .values(lease_owner=None, fence=runs.c.fence + 1, reason="gone", due_at=bindparam("b_due"))
    .returning(runs.c.id, runs.c.fence, runs.c.due_at, runs.c.inputs)
)


def test_values_go_in_and_come_out_as_their_columns_have_them(
    database: Database, clock: VirtualClock
) -> None:
    later = clock.now() + timedelta(seconds=1)
    with database.transaction() as tx:
        tx.runs.add(new_run(clock, inputs={"ramp": "5s"}, lease_owner="one"), {})
        found = tx.row(_LET_GO, {"b_id": "run-1", "b_due": later})
        assert found == {"id": "run-1", "fence": 1, "due_at": later, "inputs": {"ramp": "5s"}}
        assert tx.row(_LET_GO, {"b_id": "nobody", "b_due": None}) is None
        run = tx.runs.get("run-1")
    assert (run.lease_owner, run.reason, run.due_at) == (None, "gone", later)


def test_what_a_new_row_does_not_give_is_its_columns_default(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        for name in ("one", "two"):
            tx.add(steps, run="run-1", id=name, position=0, uses="first", state="pending")
        one, two = tx.rows(_OF_RUN, {"b_run": "run-1"})
    assert (one["attempt"], one["error"], one["outputs"], one["due_at"]) == (0, "", {}, None)
    assert one["outputs"] is not two["outputs"]


def test_what_the_database_refuses_is_a_conflict_and_nothing_of_it_stays(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
    with pytest.raises(Conflict, match="UNIQUE"), database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
    with pytest.raises(Conflict, match="FOREIGN KEY"), database.transaction() as tx:
        tx.journal.write("run-of-nobody", "note", "is written with the commit")
    with database.reading() as tx:
        assert len(tx.runs.list()) == 1
        assert tx.journal.list("run-of-nobody") == []


def test_what_the_database_does_not_know_makes_it_unavailable(database: Database) -> None:
    with database.transaction() as tx:
        tx.connection.exec_driver_sql("DROP TABLE decisions")
    with pytest.raises(Unavailable, match="no such table"), database.transaction() as tx:
        tx.change(decisions, {"id": "d"}, {"count": 2})

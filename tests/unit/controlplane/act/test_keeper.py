"""A lease is renewed while a call lasts, and no longer."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.act.keeper import LeaseKeeper
from controlplane.kernel.clock import VirtualClock
from controlplane.store.database import Database
from tests.support.rig import fresh_database
from tests.unit.controlplane.store.test_repositories import new_run

LEASE = 0.06
"""Seconds: renewed every 20 ms of the machine's time."""


class Watched(Database):
    """A database that says when it has committed."""

    committed: threading.Event

    def _commit(self, unit: object) -> None:
        super()._commit(unit)
        self.committed.set()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Watched]:
    clock = VirtualClock()
    fresh_database(tmp_path, clock).close()
    found = Watched(f"sqlite:///{tmp_path / 'fleetward.db'}", clock)
    found.committed = threading.Event()
    with found.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        tx.runs.take("run-1", "one")
    clock.advance(10.0)
    yield found
    found.close()


def test_a_call_that_lasts_keeps_its_lease(database: Watched) -> None:
    database.committed.clear()
    with LeaseKeeper(database, LEASE).keeping("run-1", 1):
        assert database.committed.wait(4.0)
    with database.reading() as tx:
        run = tx.runs.get("run-1")
    assert run.lease_until is not None
    assert run.lease_until.second == 10


def test_a_call_that_has_ended_keeps_nothing(database: Watched) -> None:
    keeper = LeaseKeeper(database, LEASE)
    with keeper.keeping("run-1", 1):
        pass
    database.committed.clear()
    assert not database.committed.wait(0.2)


def test_a_lease_that_was_lost_is_not_won_back(database: Watched) -> None:
    with database.transaction() as tx:
        tx.runs.release("run-1", 1, tx.now)
        assert tx.runs.take("run-1", "two") is not None
    database.committed.clear()
    with LeaseKeeper(database, LEASE).keeping("run-1", 1):
        assert not database.committed.wait(0.2)
    with database.reading() as tx:
        assert tx.runs.get("run-1").lease_owner == "two"

"""The database of rehearsals: today's schema, emptied at once, its own clock each time."""

from collections.abc import Iterator

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict
from controlplane.model.records import Halt
from controlplane.store.memory import MemoryDatabase


@pytest.fixture(scope="module")
def database() -> Iterator[MemoryDatabase]:
    made = MemoryDatabase(VirtualClock())
    yield made
    made.close()


def test_it_has_todays_schema_and_forgets_all_else(database: MemoryDatabase) -> None:
    halt = Halt(id="halt-1", reason="r", by="b", created_at=database.now())
    with database.transaction() as tx:
        tx.halts.add(halt)
    with database.reading() as tx:
        assert tx.halts.list() == [halt]
    database.clear(VirtualClock())
    database.ping()
    with database.reading() as tx:
        assert tx.halts.list() == []


def test_what_raises_is_rolled_back(database: MemoryDatabase) -> None:
    halt = Halt(id="halt-2", reason="r", by="b", created_at=database.now())
    with pytest.raises(Conflict), database.transaction() as tx:
        tx.halts.add(tx.halts.add(halt))
    with database.reading() as tx:
        assert [each.id for each in tx.halts.list()] == []


def test_it_goes_on_with_the_clock_it_is_given(database: MemoryDatabase) -> None:
    clock = VirtualClock()
    clock.advance(5)
    database.clear(clock)
    assert database.now() == clock.now()

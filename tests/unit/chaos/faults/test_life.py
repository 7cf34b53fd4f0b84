"""A fault's life: armed before it is injected, and ended by whoever comes."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from chaos.drivers.memory import USERS, MemoryDriver
from chaos.drivers.port import PROMETHEUS
from chaos.faults.base import FaultRegistry
from chaos.faults.life import STUCK_AFTER, FaultLife
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict, Refused
from controlplane.model.action import Dimension
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState as F
from controlplane.store.database import Database


class Crash(BaseException):
    """The process dies here: nothing after it happens, not even an `except Exception`."""


class Mortal:
    """A driver whose caller dies at the ``at``-th call: just before it takes effect, or just after."""

    def __init__(self, driver: MemoryDriver, at: int, *, after: bool) -> None:
        self._driver, self._left, self._after = driver, at, after

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._driver, name)
        return self._counted(attribute) if callable(attribute) else attribute

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Crash
            result = call(*args, **options)
            if self._left == 0:
                raise Crash
            return result

        return counted


class MortalDatabase(Database):
    """Dies at the ``left``-th commit, before or after it."""

    left = 0
    after = False

    def _commit(self, unit: Any) -> None:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        super()._commit(unit)
        if self.left == 0:
            raise Crash


def live_through(life: FaultLife, planned: FaultRecord, clock: VirtualClock) -> None:
    """What a worker does, as far as it gets."""
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    for _ in range(3):
        if life.verify(planned.id).yes:
            return
        clock.advance(1)


def end(life: FaultLife, fault_id: str, clock: VirtualClock, seconds: int = 20) -> F:
    state = F.PLANNED
    for _ in range(seconds):
        state = life.revert(fault_id, "over").state
        if state is F.VERIFIED_CLEAR:
            break
        clock.advance(1)
    return state


def assert_nothing_left(database: Database, driver: MemoryDriver) -> None:
    nodes = [target.name for target in driver.targets() if target.level == "node"]
    status = [driver.status(node) for node in nodes]
    assert [one.node for one in status if one.faults] == []
    assert {replica.state for one in status for replica in one.replicas} == {"ready"}
    with database.reading() as tx:
        assert tx.ledger.list() == []
        assert tx.faults.list(open=True) == []


def takes_out(planned: FaultRecord, faults: FaultRegistry) -> bool:
    return faults.get(planned.kind).dimension is not Dimension.NOTHING


def test_a_fault_is_seen_in_effect_and_seen_gone(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry,
) -> None:  # fmt: skip
    live_through(life, planned, clock)
    with database.reading() as tx:
        fault = tx.faults.get(planned.id)
        claims = tx.ledger.list()
    assert fault.state is F.VERIFIED
    expected = [(planned.targets[0], "fault:fault-1")] if takes_out(planned, faults) else []
    assert [(claim.target, claim.holder) for claim in claims] == expected
    assert end(life, planned.id, clock) is F.VERIFIED_CLEAR
    assert_nothing_left(database, driver)


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_at_any_call_to_the_target_leaves_nothing_that_another_cannot_take_back(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry, after: bool,
) -> None:  # fmt: skip
    crashes = 0
    for at in itertools.count(1):
        one = planned.model_copy(update={"id": f"fault-{at}", "expires_at": clock.now().replace(year=2030)})
        mortal: Any = Mortal(driver, at, after=after)
        try:
            live_through(FaultLife(database, faults, mortal), one, clock)
            break
        except Crash:
            crashes += 1
        assert end(life, one.id, clock) is F.VERIFIED_CLEAR
        assert_nothing_left(database, driver)
    assert crashes >= 4


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_at_any_commit_leaves_nothing_that_another_cannot_take_back(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry, after: bool,
) -> None:  # fmt: skip
    crashes = 0
    for at in itertools.count(1):
        one = planned.model_copy(update={"id": f"fault-{at}", "expires_at": clock.now().replace(year=2030)})
        mortal = MortalDatabase(str(database.engine.url), clock)
        mortal.left, mortal.after = at, after
        try:
            live_through(FaultLife(mortal, faults, driver), one, clock)
            break
        except Crash:
            crashes += 1
        finally:
            mortal.close()
        with database.reading() as tx:
            written = tx.faults.find(one.id)
        assert written is None or end(life, one.id, clock) is F.VERIFIED_CLEAR
        assert_nothing_left(database, driver)
    assert crashes == 5


def test_a_worker_that_comes_back_after_a_crash_injects_the_same_fault_once(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver
) -> None:
    for _ in range(2):
        live_through(life, planned, clock)
    assert end(life, planned.id, clock) is F.VERIFIED_CLEAR
    assert_nothing_left(database, driver)


def test_two_parties_that_revert_at_once_do_no_harm(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry,
) -> None:  # fmt: skip
    live_through(life, planned, clock)
    other = FaultLife(database, faults, driver)
    for _ in range(10):
        life.revert(planned.id, "the drill is over")
        other.revert(planned.id, "expired")
        clock.advance(1)
    assert_nothing_left(database, driver)


def test_an_injection_that_is_overtaken_by_a_revert_takes_itself_back(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry,
) -> None:  # fmt: skip
    """The reaper reverts between the worker's decision to inject and the effect."""

    class Overtaken:
        def __getattr__(self, name: str) -> Any:
            if name in {"kill", "pause", "put_fault", "put_surge"}:
                end(life, planned.id, clock)
            return getattr(driver, name)

    late: Any = Overtaken()
    worker = FaultLife(database, faults, late)
    worker.plan(planned)
    worker.arm(planned.id)
    with pytest.raises(Conflict, match="taken back while it was injected"):
        worker.inject(planned.id)
    clock.advance(10)
    assert_nothing_left(database, driver)


def test_a_second_injection_does_not_kill_what_was_started_since(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver, faults: FaultRegistry
) -> None:
    live_through(life, planned, clock)
    if planned.kind == "zone.outage":
        driver.respawn("node-b1")
        life.inject(planned.id)
        assert driver.incarnation("node-b1") is not None
        assert driver.incarnation("node-b2") is None


def test_an_expired_fault_is_never_injected(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    clock.advance(61)
    with pytest.raises(Refused, match="expired"):
        life.inject(planned.id)
    assert end(life, planned.id, clock) is F.VERIFIED_CLEAR
    assert_nothing_left(database, driver)


def test_a_target_that_never_answers_makes_the_fault_stuck_and_a_later_revert_ends_it(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, database: Database, driver: MemoryDriver,
    faults: FaultRegistry,
) -> None:  # fmt: skip
    live_through(life, planned, clock)
    driver.unreachable = {"node-b1", "node-b2", PROMETHEUS, USERS}
    assert end(life, planned.id, clock, seconds=round(STUCK_AFTER) + 1) is F.STUCK
    with database.reading() as tx:
        assert "does not answer" in tx.faults.get(planned.id).detail
        assert len(tx.ledger.list()) == takes_out(planned, faults)
    driver.unreachable = set()
    assert end(life, planned.id, clock) is F.VERIFIED_CLEAR
    assert_nothing_left(database, driver)


def test_a_fault_ends_in_its_target_when_nobody_comes_back_for_it(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    live_through(life, planned, clock)
    clock.advance(61)
    if planned.kind not in {"zone.outage", "node.kill"}:
        assert [driver.status(node).faults for node in ("node-b1", "node-b2")] == [(), ()]

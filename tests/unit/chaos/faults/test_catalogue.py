"""The catalogue of faults declares what a drill must know before it starts."""

import pytest

from chaos.drivers.memory import MemoryDriver
from chaos.drivers.port import PROMETHEUS
from chaos.faults.base import FaultRegistry, read_parameters
from chaos.faults.life import FaultLife
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict, InvalidInput
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState
from controlplane.model.target import Target
from tests.unit.chaos.faults.conftest import TARGETS

HUNG = Target.parse(TARGETS["engine.hang"])


def test_every_fault_says_what_it_does_hits_and_needs(faults: FaultRegistry, driver: MemoryDriver) -> None:
    for fault in faults:
        assert fault.__class__.__doc__
        assert fault.name in TARGETS
        assert fault.level == Target.parse(TARGETS[fault.name]).level
        assert fault.needs <= driver.capabilities
        assert all(info.description for info in fault.parameters.model_fields.values())


def test_a_wrong_parameter_is_named_with_what_is_valid(faults: FaultRegistry) -> None:
    with pytest.raises(InvalidInput, match=r"factr: .*valid: factor"):
        read_parameters(faults.get("zone.gray"), {"factr": 3})
    with pytest.raises(InvalidInput, match=r"factor: .*less than or equal to 20"):
        read_parameters(faults.get("zone.gray"), {"factor": 100})


@pytest.mark.parametrize("planned", ["engine.hang"], indirect=True)
def test_a_restart_cures_a_hang_and_the_next_incarnation_is_never_hung(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    driver.restart(HUNG)
    clock.advance(5)
    life.inject(planned.id)
    assert driver.ask([HUNG], tokens=2, timeout=1.0)[0].ok
    assert "was restarted" in life.verify(planned.id).detail


@pytest.mark.parametrize("planned", ["engine.hang"], indirect=True)
def test_a_hang_without_effect_is_not_taken_for_one(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    driver.delete_fault("node-b1", planned.id)
    assert not life.verify(planned.id).yes


@pytest.mark.parametrize("planned", ["zone.gray"], indirect=True)
def test_a_gray_zone_that_is_listed_but_not_slow_is_not_taken_for_gray(
    life: FaultLife, planned: FaultRecord, driver: MemoryDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    monkeypatch.setattr(driver, "_pace", lambda *_: 1.0)
    assert life.verify(planned.id).detail == "time per token is 1.00 times what it was"
    assert not life.verify(planned.id).yes


@pytest.mark.parametrize("planned", ["engine.crash"], indirect=True)
def test_a_replacement_is_not_taken_for_a_crash(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    driver.restart(HUNG)
    clock.advance(5)
    life.inject(planned.id)
    assert "was replaced" in life.verify(planned.id).detail
    assert driver.is_live(HUNG)


@pytest.mark.parametrize("planned", ["engine.crash"], indirect=True)
def test_a_server_that_outlives_its_engine_is_seen_by_its_health(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    life.plan(planned.model_copy(update={"parameters": {"keepAlive": True}}))
    life.arm(planned.id)
    life.inject(planned.id)
    clock.advance(30)
    assert not driver.is_live(HUNG)
    assert life.verify(planned.id).detail == "the engine is dead and the server is left without its engine"


@pytest.mark.parametrize("planned", ["engine.crash-loop"], indirect=True)
def test_a_crash_loop_survives_a_restart_and_ends_with_its_fault(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    clock.advance(10)
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    assert life.verify(planned.id).yes
    driver.restart(HUNG)
    clock.advance(6)
    driver.status("node-b1")
    clock.advance(6)
    replica = driver.status("node-b1").replica(HUNG.name)
    assert replica is not None
    assert (replica.restarts, replica.backoff) == (2, True)
    life.revert(planned.id, "over")
    clock.advance(5)
    assert life.revert(planned.id, "over").state is FaultState.VERIFIED_CLEAR


@pytest.mark.parametrize("planned", ["zone.outage"], indirect=True)
def test_an_outage_of_a_zone_that_is_down_already_is_refused(
    life: FaultLife, planned: FaultRecord, driver: MemoryDriver
) -> None:
    incarnation = driver.incarnation("node-b1")
    assert incarnation is not None
    driver.kill("node-b1", incarnation)
    life.plan(planned)
    with pytest.raises(Conflict, match="down already"):
        life.arm(planned.id)


@pytest.mark.parametrize("planned", ["node.hang"], indirect=True)
def test_a_node_that_was_started_again_is_neither_stopped_nor_continued(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    former = driver.incarnation("node-b1")
    assert former is not None
    driver.kill("node-b1", former)
    driver.respawn("node-b1")
    life.inject(planned.id)
    assert not driver.is_paused("node-b1")
    assert life.verify(planned.id).detail == "node-b1 is another process by now"
    present = driver.incarnation("node-b1")
    assert present is not None
    driver.pause("node-b1", present, planned.expires_at)
    life.revert(planned.id, "over")
    assert driver.is_paused("node-b1")


@pytest.mark.parametrize(
    ("xid", "detail"),
    [
        (79, "the card shows XID 79 and the engine died"),
        (48, "the card shows XID 48 and the engine died"),
        (94, "the card shows XID 94 and the engine died"),
        (119, "the card shows XID 119 and the engine hangs"),
        (63, "the card shows XID 63 and the engine goes on"),
    ],
)
@pytest.mark.parametrize("planned", ["gpu.xid"], indirect=True)
def test_an_error_of_a_card_is_seen_by_both_of_its_signals(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock, driver: MemoryDriver, xid: int, detail: str
) -> None:
    life.plan(planned.model_copy(update={"parameters": {"xid": xid}}))
    life.arm(planned.id)
    life.inject(planned.id)
    assert life.verify(planned.id).detail == detail
    life.revert(planned.id, "over")
    clock.advance(5)
    assert life.revert(planned.id, "over").state is FaultState.VERIFIED_CLEAR
    assert driver.gpu_fields(HUNG)["DEV_XID_ERRORS"] == 0


@pytest.mark.parametrize("planned", ["gpu.xid"], indirect=True)
def test_a_code_without_its_effect_on_the_engine_is_not_taken_for_the_error(
    life: FaultLife, planned: FaultRecord, driver: MemoryDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_befall", lambda *_: None)
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    assert life.verify(planned.id).detail == "replica-b1-0 still runs"


def test_a_code_that_nobody_knows_is_refused_with_those_that_are(faults: FaultRegistry) -> None:
    with pytest.raises(InvalidInput, match=r"no XID 12 is known here; known: 8, 13"):
        read_parameters(faults.get("gpu.xid"), {"xid": 12})


@pytest.mark.parametrize("how", ["kill", "hang"])
@pytest.mark.parametrize("planned", ["observability.prometheus-down"], indirect=True)
def test_the_observer_is_lost_either_way_and_comes_back(
    life: FaultLife, planned: FaultRecord, driver: MemoryDriver, how: str
) -> None:
    life.plan(planned.model_copy(update={"parameters": {"how": how}}))
    life.arm(planned.id)
    life.inject(planned.id)
    assert (life.verify(planned.id).yes, driver.is_paused(PROMETHEUS)) == (True, how == "hang")
    assert life.revert(planned.id, "over").state is FaultState.VERIFIED_CLEAR
    assert driver.is_observed()


@pytest.mark.parametrize("planned", ["load.surge"], indirect=True)
def test_a_surge_that_nobody_came_with_is_not_taken_for_one(
    life: FaultLife, planned: FaultRecord, clock: VirtualClock
) -> None:
    life.plan(planned)
    life.arm(planned.id)
    life.inject(planned.id)
    assert life.verify(planned.id).detail == "0 requests were sent beside the plan"
    clock.advance(1)
    assert life.verify(planned.id).yes


@pytest.mark.parametrize(
    ("planned", "aim"),
    [
        ("zone.outage", {"zones": ["zone-b"]}),
        ("zone.gray", {"zones": ["zone-b"]}),
        ("replica.gray", {"replicas": ["replica-b1-0"]}),
        ("engine.crash-loop", {"replicas": ["replica-b1-0"]}),
        ("engine.crash", {"uids": 1}),
        ("gpu.xid", {"uids": 1}),
        ("node.kill", {"uids": 2}),
        ("node.hang", {"uids": 2}),
        ("load.surge", {}),
    ],
    indirect=["planned"],
)
def test_a_fault_shows_in_the_clients_record_by_what_another_incarnation_does_not_share(
    life: FaultLife, planned: FaultRecord, aim: dict[str, object]
) -> None:
    life.plan(planned)
    undo = life.arm(planned.id).undo
    found = {what: undo[what] for what in ("zones", "replicas", "uids") if undo[what]}
    assert {what: len(names) if what == "uids" else names for what, names in found.items()} == aim

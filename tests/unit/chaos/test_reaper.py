"""The reaper ends what nobody is responsible for, and nothing else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chaos.drivers.memory import MemoryDriver
from chaos.faults import register
from chaos.faults.base import FaultRegistry
from chaos.faults.life import FaultLife
from chaos.reaper import STUCK_EVERY, Reaper
from controlplane.kernel.clock import VirtualClock
from controlplane.model.records import FaultRecord, Halt, Run
from controlplane.model.states import FaultState, RunState
from controlplane.store.transitions import move
from tests.support.rig import fresh_database

NODES = {"zone-a": ("node-a1",), "zone-b": ("node-b1",)}


class Scene:
    """One gray fault in force, of a drill whose run is under way."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.database = fresh_database(folder, self.clock)
        self.driver = MemoryDriver(self.clock, NODES)
        faults: FaultRegistry = FaultRegistry("fault")
        register(faults)
        self.life = FaultLife(self.database, faults, self.driver)
        self.reaper = Reaper(self.database, self.life)
        now = self.clock.now()
        with self.database.transaction() as tx:
            run = Run(
                id="run-1", kind="drill", name="d", service="chat", state=RunState.QUEUED, created_at=now
            )
            move(tx, tx.runs.add(run, {}), RunState.RUNNING)
        fault = FaultRecord(
            id="fault-1", kind="zone.gray", drill="d", run="run-1", service="chat", state=FaultState.PLANNED,
            targets=("chat/local/zone-b",), expires_at=now + timedelta(seconds=60), created_at=now,
        )  # fmt: skip
        self.life.plan(fault)
        self.life.arm(fault.id)
        self.life.inject(fault.id)
        assert self.life.verify(fault.id).yes

    @property
    def standing(self) -> int:
        with self.database.reading() as tx:
            return len(tx.faults.list(open=True))

    @property
    def state(self) -> FaultState:
        with self.database.reading() as tx:
            return tx.faults.get("fault-1").state


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.database.close()


def test_it_leaves_a_fault_alone_while_its_drill_is_responsible(scene: Scene) -> None:
    assert scene.reaper.tick() == []
    assert scene.state is FaultState.VERIFIED


def test_it_ends_a_fault_that_has_expired(scene: Scene) -> None:
    scene.clock.advance(60)
    scene.reaper.tick()
    assert scene.state is FaultState.VERIFIED_CLEAR


def test_it_ends_a_fault_whose_run_is_over(scene: Scene) -> None:
    with scene.database.transaction() as tx:
        move(tx, tx.runs.get("run-1"), RunState.FAILED, "broke")
    scene.reaper.tick()
    assert scene.state is FaultState.VERIFIED_CLEAR


@pytest.mark.parametrize(
    ("service", "expected"),
    [(None, FaultState.VERIFIED_CLEAR), ("chat", FaultState.VERIFIED_CLEAR), ("other", FaultState.VERIFIED)],
)
def test_a_halt_ends_the_faults_that_it_covers(
    scene: Scene, service: str | None, expected: FaultState
) -> None:
    with scene.database.transaction() as tx:
        halt = Halt(id="halt-1", service=service, reason="stop", by="test", created_at=scene.clock.now())
        tx.halts.add(halt)
    scene.reaper.tick()
    assert scene.state is expected


def test_a_node_that_comes_back_is_cleared_though_its_fault_was_stuck(scene: Scene) -> None:
    scene.driver.unreachable = {"node-b1"}
    scene.clock.advance(60)
    for _ in range(62):
        scene.reaper.tick()
        scene.clock.advance(1)
    assert scene.standing == 1
    scene.driver.unreachable = set()
    for _ in range(round(STUCK_EVERY) + 1):
        scene.reaper.tick()
        scene.clock.advance(1)
    assert scene.state is FaultState.VERIFIED_CLEAR

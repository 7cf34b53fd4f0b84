"""A ledger and a driver in memory, for the life of faults."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chaos.drivers.memory import MemoryDriver
from chaos.faults import register
from chaos.faults.base import FaultRegistry
from chaos.faults.life import FaultLife
from controlplane.kernel.clock import VirtualClock
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState
from controlplane.store.database import Database
from tests.support.rig import fresh_database

NODES = {f"zone-{letter}": (f"node-{letter}1", f"node-{letter}2") for letter in "abc"}
TARGETS = {
    "zone.outage": "chat/local/zone-b",
    "zone.gray": "chat/local/zone-b",
    "node.kill": "chat/local/zone-b/node-b1",
    "node.hang": "chat/local/zone-b/node-b1",
    "replica.gray": "chat/local/zone-b/node-b1/replica-b1-0",
    "engine.hang": "chat/local/zone-b/node-b1/replica-b1-0",
    "engine.crash": "chat/local/zone-b/node-b1/replica-b1-0",
    "engine.crash-loop": "chat/local/zone-b/node-b1/replica-b1-0",
    "gpu.xid": "chat/local/zone-b/node-b1/replica-b1-0",
    "load.surge": "chat/local",
    "observability.prometheus-down": "chat/local",
}
PARAMETERS = {"gpu.xid": {"xid": 79}}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(tmp_path: Path, clock: VirtualClock) -> Iterator[Database]:
    database = fresh_database(tmp_path, clock)
    yield database
    database.close()


@pytest.fixture
def driver(clock: VirtualClock) -> MemoryDriver:
    return MemoryDriver(clock, NODES)


@pytest.fixture
def faults() -> FaultRegistry:
    registry = FaultRegistry("fault")
    register(registry)
    return registry


@pytest.fixture
def life(database: Database, faults: FaultRegistry, driver: MemoryDriver) -> FaultLife:
    return FaultLife(database, faults, driver)


@pytest.fixture(params=sorted(TARGETS))
def planned(request: pytest.FixtureRequest, clock: VirtualClock) -> FaultRecord:
    """One planned fault of each kind; it may stand for a minute."""
    kind = request.param
    return FaultRecord(
        id="fault-1", kind=kind, drill="rehearsal", run="run-1", service="chat", targets=(TARGETS[kind],),
        state=FaultState.PLANNED, expires_at=clock.now() + timedelta(seconds=60), created_at=clock.now(),
        parameters=PARAMETERS.get(kind, {}),
    )  # fmt: skip

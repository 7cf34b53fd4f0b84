"""One lab of real processes for the tests of this folder, and its ledger.

It ends with the folder: what comes after has the cores to itself.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.drills.ports import DrillPorts, lab_drill_ports
from chaos.faults import register
from chaos.faults.base import FaultRegistry
from chaos.faults.life import FaultLife
from chaos.lab.layout import LabSettings
from chaos.lab.supervisor import Lab
from controlplane.kernel.clock import SystemClock
from controlplane.store.database import Database


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("lab"), LabSettings(seed=7))
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture(scope="package")
def state_dir(lab: Lab) -> Path:
    return lab.state_dir


@pytest.fixture(scope="package")
def database(state_dir: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{state_dir}/fleetward.db", SystemClock())
    database.migrate()
    yield database
    database.close()


@pytest.fixture(scope="package")
def ports(state_dir: Path) -> Iterator[DrillPorts]:
    ports = lab_drill_ports(state_dir)
    yield ports
    ports.evidence.close()


@pytest.fixture
def life(database: Database, ports: DrillPorts) -> FaultLife:
    registry: FaultRegistry = FaultRegistry("fault")
    register(registry)
    return FaultLife(database, registry, ports.driver)

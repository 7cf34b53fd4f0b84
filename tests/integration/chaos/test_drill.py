"""A whole drill on real processes and a real engine; a stand-in for the control plane moves the traffic."""

import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from chaos.drills.actions import register
from chaos.drills.compile import start_drill
from chaos.drills.library import shipped_drills
from chaos.drills.ports import DrillPorts
from chaos.lab.supervisor import Lab
from controlplane.act.executor import Executor
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import load_bundle
from controlplane.model.records import FaultRecord, Run
from controlplane.model.states import is_final
from controlplane.platforms.lab import LabPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

FLEET = Path(__file__).parents[3] / "chaos" / "lab" / "fleet"


class StandIn:
    """Leaves zone-b 6 s after a fault is seen there, and gives it everything back 8 s after it is clear."""

    def __init__(self, lab: Lab, database: Database) -> None:
        self._lab, self._database = lab, database
        self._done: set[int] = set()

    def look(self) -> None:
        with self._database.reading() as tx:
            faults = tx.faults.list()
        now = self._database.now()
        for fault in faults:
            if fault.verified_at and (now - fault.verified_at).total_seconds() > 6:
                self._write(0, fault)
            if fault.cleared_at and (now - fault.cleared_at).total_seconds() > 8:
                self._write(100, fault)

    def _write(self, weight: int, fault: FaultRecord) -> None:
        if weight in self._done:
            return
        self._done.add(weight)
        weights = {"zone-a": 100, "zone-b": weight, "zone-c": 100}
        url = f"{self._lab.addresses['platform']}/v1/weights"
        httpx.put(url, json={"weights": weights, "expectedVersion": None, "by": None}, timeout=10)


def run_drill(lab: Lab, database: Database, ports: DrillPorts, name: str, stand_in: StandIn) -> Run:
    actions: ActionRegistry = Registry("action")
    register(actions)
    with database.transaction() as tx:
        for file in ("service.yaml", "policy.yaml"):
            for loaded in load_bundle([(file, (FLEET / file).read_text())]).raise_problems().loaded:
                tx.documents.put(loaded.model)
        run_id = start_drill(tx, shipped_drills()[name], ports, started_by="test").id
    with closing(LabPlatform(str(lab.addresses["platform"]))) as platform:
        found: dict[type, object] = {Database: database, DrillPorts: ports, Platform: platform}
        executor = Executor(database, actions, found, lambda _: None, SystemClock(), "worker-1")
        return advance_to_the_end(executor, database, run_id, stand_in)


def advance_to_the_end(executor: Executor, database: Database, run_id: str, stand_in: StandIn) -> Run:
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        stand_in.look()
        executor.advance(run_id)
        with database.reading() as tx:
            run = tx.runs.get(run_id)
        if is_final(run.state):
            return run
        threading.Event().wait(0.2)
    raise AssertionError(f"the drill did not end: {run.state} {run.reason}")


def test_a_gray_zone_that_is_left_in_time_passes_on_the_clients_own_record(
    lab: Lab, database: Database, ports: DrillPorts
) -> None:
    run = run_drill(lab, database, ports, "gray-zone", StandIn(lab, database))
    assert run.result["verdict"] == "passed", run.result
    assert run.result["leftovers"] == []
    assert run.result["timeToMitigate"] < 20
    assert 0.7 < run.result["effectiveTokensKept"] <= 1.0

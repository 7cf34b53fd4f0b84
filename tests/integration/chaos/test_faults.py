"""Faults on real node processes: seen in effect, taken back by each party alone, and nothing left."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from chaos.drills.ports import DrillPorts
from chaos.faults.life import FaultLife
from chaos.lab.supervisor import Lab
from controlplane.kernel.ids import new_id
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState
from controlplane.store.database import Database

pytestmark = pytest.mark.slow

ZONE, REPLICA = "chat/local/zone-b", "chat/local/zone-b/node-b1/replica-b1-0"
KINDS = [("zone.gray", ZONE), ("engine.hang", REPLICA), ("zone.outage", ZONE)]
TOGETHER = [
    ("engine.crash-loop", "chat/local/zone-a/node-a1/replica-a1-0"),
    ("engine.crash", "chat/local/zone-a/node-a2/replica-a2-0"),
    ("gpu.xid", "chat/local/zone-c/node-c2/replica-c2-0"),
    ("replica.gray", "chat/local/zone-c/node-c1/replica-c1-0"),
    ("node.hang", "chat/local/zone-b/node-b1"),
    ("node.kill", "chat/local/zone-b/node-b2"),
    ("load.surge", "chat/local"),
    ("observability.prometheus-down", "chat/local"),
]
PARAMETERS = {"gpu.xid": {"xid": 79}}

Break = Callable[[str, str, float], FaultRecord]


@pytest.fixture
def broken(life: FaultLife, database: Database) -> Iterator[Break]:
    """Puts a fault in force and sees its effect, like a worker that then dies."""

    def put(kind: str, target: str, seconds: float) -> FaultRecord:
        now = database.now()
        fault = life.plan(
            FaultRecord(
                id=new_id("fault"), kind=kind, drill="test", service="chat", targets=(target,),
                state=FaultState.PLANNED, expires_at=now + timedelta(seconds=seconds), created_at=now,
                parameters=PARAMETERS.get(kind, {}),
            )
        )  # fmt: skip
        life.arm(fault.id)
        life.inject(fault.id)
        assert until(lambda: life.verify(fault.id).yes, 15), life.verify(fault.id).detail
        return fault

    yield put
    with database.reading() as tx:
        standing = tx.faults.list(open=True)
    for fault in standing:
        assert until(partial(is_reverted, life, fault), 60)


def is_reverted(life: FaultLife, fault: FaultRecord) -> bool:
    return life.revert(fault.id, "the test is over").state is FaultState.VERIFIED_CLEAR


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.5)
    return False


def command(state_dir: Path, *words: str) -> list[str]:
    program = "from controlplane.cli.main import main; main()"
    return [sys.executable, "-c", program, "chaos", *words, "--state-dir", str(state_dir)]


def assert_nothing_left(ports: DrillPorts, database: Database) -> None:
    nodes = [one.name for one in ports.driver.targets() if one.level == "node"]
    status = [ports.driver.status(node) for node in nodes]
    assert [one.node for one in status if one.faults] == []
    assert {replica.state for one in status for replica in one.replicas} == {"ready"}
    with database.reading() as tx:
        assert tx.ledger.list() == []
        assert tx.faults.list(open=True) == []


@pytest.mark.parametrize(("kind", "target"), KINDS)
def test_the_command_line_ends_a_fault_with_nothing_but_the_state_directory(
    broken: Break, ports: DrillPorts, database: Database, state_dir: Path, kind: str, target: str
) -> None:
    fault = broken(kind, target, 120)
    done = subprocess.run(
        command(state_dir, "revert", "--all", "-o", "json"),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(one["fault"], one["state"]) for one in json.loads(done.stdout)] == [(fault.id, "verifiedClear")]
    assert_nothing_left(ports, database)


@pytest.mark.parametrize(("kind", "target"), KINDS)
def test_the_reaper_ends_a_fault_whose_drill_does_not_exist(
    broken: Break, ports: DrillPorts, database: Database, state_dir: Path, kind: str, target: str
) -> None:
    fault = broken(kind, target, 120)

    def is_clear() -> bool:
        with database.reading() as tx:
            return tx.faults.get(fault.id).state is FaultState.VERIFIED_CLEAR

    with subprocess.Popen(command(state_dir, "reaper")) as reaper:
        try:
            assert until(is_clear, 120)
        finally:
            reaper.send_signal(signal.SIGTERM)
            assert reaper.wait(30) == 0
    assert_nothing_left(ports, database)


@pytest.mark.parametrize(("kind", "target"), KINDS[:2])
def test_a_fault_that_nobody_ends_ends_at_its_expiry(
    broken: Break, ports: DrillPorts, kind: str, target: str
) -> None:
    broken(kind, target, 12)
    assert until(lambda: not any(ports.driver.status(node).faults for node in ("node-b1", "node-b2")), 20)


def test_a_node_is_continued_at_its_expiry_by_what_watches_over_it(broken: Break, ports: DrillPorts) -> None:
    broken("node.hang", "chat/local/zone-b/node-b1", 20)
    assert ports.driver.is_paused("node-b1")
    assert until(lambda: not ports.driver.is_paused("node-b1"), 30)


def test_a_kill_hits_only_the_process_that_stood_there_when_it_was_armed(
    broken: Break, life: FaultLife, lab: Lab, ports: DrillPorts
) -> None:
    fault = broken("zone.outage", ZONE, 120)
    lab.table.respawn("node-b1")
    present = ports.driver.incarnation("node-b1")
    assert present is not None
    life.inject(fault.id)
    time.sleep(0.5)
    assert ports.driver.incarnation("node-b1") == present


def test_a_hang_is_cured_by_a_restart_and_the_fault_is_then_clear(
    broken: Break, life: FaultLife, ports: DrillPorts
) -> None:
    fault = broken("engine.hang", REPLICA, 120)
    platform = json.loads((ports.reports.parent / "lab.json").read_text())["platform"]
    body = {"reason": "test", "by": None}
    httpx.post(f"{platform}/v1/replicas/replica-b1-0/restart", json=body, timeout=10).raise_for_status()
    assert until(lambda: life.revert(fault.id, "cured").state is FaultState.VERIFIED_CLEAR, 30)


def test_faults_of_other_kinds_are_seen_in_effect_together_and_end_together(
    broken: Break, life: FaultLife, ports: DrillPorts, database: Database, lab: Lab
) -> None:
    """Each on a target of its own: what Kubernetes' metrics and the engine's own endpoints say of them."""
    for kind, target in TOGETHER:
        broken(kind, target, 120)
    slot = "replica-a1-0"

    def loops() -> bool:
        text = httpx.get(f"{lab.addresses['platform']}/metrics", timeout=5).text
        reason = re.search(rf'waiting_reason{{[^}}]*pod="{slot}",reason="CrashLoopBackOff"', text)
        restarts = re.search(rf'restarts_total{{[^}}]*pod="{slot}"[^}}]*}} (\S+)', text)
        return reason is not None and restarts is not None and float(restarts[1]) >= 1

    assert until(loops, 20)
    with database.reading() as tx:
        standing = tx.faults.list(open=True)
    assert sorted(fault.kind for fault in standing) == sorted(kind for kind, _ in TOGETHER)
    for fault in standing:
        assert until(partial(is_reverted, life, fault), 60), life.revert(fault.id, "over").detail
    assert_nothing_left(ports, database)

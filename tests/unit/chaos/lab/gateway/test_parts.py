"""Rotation in doubt, machines that must come back, and what a new fleet forgets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from chaos.lab.gateway import envoy, parts
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import REPLACE, ROTATION, SCHEDULABLE, WriteLog
from chaos.lab.gateway.writer import Writer, log_folder, prepare
from chaos.lab.layout import LabSettings, Layout, plan
from chaos.lab.processes import ProcessTable
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import Ambiguous, Unavailable
from controlplane.model.topology import Topology, WriteTag

PLACE = "chat/local/zone-a/node-a1/replica-a1-0"
NODE = "chat/local/zone-a/node-a1"
BY = WriteTag(run="run-1", step="out", attempt=1, fence=1, key="k1")


class FakeEnvoy:
    """Has the endpoints of its files in force, unless it is deaf."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.deaf = False
        self.names = {replica.port: replica.name for node in layout.nodes for replica in node.replicas}

    async def out_of_rotation(self, timeout: float = 1.0) -> set[str]:
        if self.deaf:
            return set()
        hosts = [
            host
            for zone in self.layout.zones
            for host in json.loads(envoy.endpoints_path(self.layout, zone).read_text())["resources"][0][
                "endpoints"
            ][0]["lb_endpoints"]
        ]
        return {
            self.names[host["endpoint"]["address"]["socket_address"]["port_value"]]
            for host in hosts
            if host["health_status"] == "DRAINING"
        }


class Bench:
    """The writers on a folder, with a fleet that nobody polls; `again` is the process after a crash."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.admin = FakeEnvoy(layout)
        self.table = ProcessTable(layout.state_dir)

    def do(self, work: Callable[[Writer], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            clock = SystemClock()
            self.log = WriteLog(log_folder(self.layout), clock)
            fleet = Fleet(self.layout, self.table, clock, Declared(self.log))
            admin = cast("envoy.EnvoyAdmin", self.admin)
            try:
                return await work(Writer(self.layout, self.log, fleet, admin, clock))
            finally:
                await fleet.close()

        return asyncio.run(main())

    def outcomes(self) -> list[tuple[str, Any, str]]:
        return [(record.op, record.after, record.outcome) for record in self.log.after(0)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(parts, "CONFIRM_WITHIN", 0.06)
    layout = plan(tmp_path, LabSettings())
    prepare(layout, SystemClock())
    return Bench(layout)


async def isolate(writer: Writer) -> str:
    return await writer.parts.set_rotation("replica-a1-0", False, None, BY)


def test_rotation_that_envoy_does_not_show_is_ambiguous_and_its_key_asks_again(bench: Bench) -> None:
    bench.admin.deaf = True
    with pytest.raises(Ambiguous, match="replica-a1-0"):
        bench.do(isolate)
    with pytest.raises(Ambiguous):
        bench.do(isolate)
    bench.admin.deaf = False

    version = bench.do(isolate)

    assert version == ".1"
    assert bench.outcomes() == [(ROTATION, False, "ambiguous")]


def test_a_change_of_rotation_under_way_at_a_crash_is_completed_by_the_next_process(bench: Bench) -> None:
    log = WriteLog(log_folder(bench.layout), SystemClock())
    log.draft(ROTATION, PLACE, before=True, after=False, version=".1", by=BY)

    bench.do(lambda writer: writer.recover())

    assert bench.outcomes() == [(ROTATION, False, "applied")]
    assert asyncio.run(bench.admin.out_of_rotation()) == {"replica-a1-0"}
    assert bench.do(isolate) == ".1"


def test_a_machine_that_was_ended_and_not_started_at_a_crash_comes_back(bench: Bench) -> None:
    bench.table.spawn("node-a1", ("true",), kind="node", owner="lab")
    before = bench.do(_machine)
    while bench.table.is_alive(bench.table.get("node-a1")):
        pass
    log = WriteLog(log_folder(bench.layout), SystemClock())
    log.draft(REPLACE, NODE, before=before, after=None, version=before, by=BY)

    bench.do(lambda writer: writer.recover())

    ((op, after, outcome),) = bench.outcomes()
    assert (op, outcome) == (REPLACE, "applied")
    assert after != before
    assert bench.log.pending() is None


def test_a_machine_that_was_not_ended_at_a_crash_stays_and_leaves_no_line(bench: Bench) -> None:
    bench.table.spawn("node-a1", ("sleep", "60"), kind="node", owner="lab")
    try:
        before = bench.do(_machine)
        log = WriteLog(log_folder(bench.layout), SystemClock())
        log.draft(REPLACE, NODE, before=before, after=None, version=before, by=BY)

        bench.do(lambda writer: writer.recover())

        assert bench.outcomes() == []
        assert bench.log.pending() is None
    finally:
        bench.table.terminate(["node-a1"], 1.0)


def test_a_node_without_a_process_cannot_be_replaced(bench: Bench) -> None:
    with pytest.raises(Unavailable, match="no process"):
        bench.do(lambda writer: writer.parts.replace("node-a1", None, BY))
    assert bench.outcomes() == []


def test_a_new_fleet_starts_whole_and_says_what_was_not(bench: Bench) -> None:
    bench.do(isolate)
    bench.do(lambda writer: writer.parts.set_schedulable("node-a1", False, None, None))

    prepare(bench.layout, SystemClock())
    bench.do(lambda writer: writer.recover())

    assert bench.outcomes() == [
        (ROTATION, False, "applied"),
        (SCHEDULABLE, False, "applied"),
        (ROTATION, True, "applied"),
        (SCHEDULABLE, True, "applied"),
    ]
    assert asyncio.run(bench.admin.out_of_rotation()) == set()


def test_the_fleet_tells_what_each_engine_serves_at_once(bench: Bench) -> None:
    topology = bench.do(_topology)
    slots = {view.slots for _, view in topology.replicas()}
    assert slots == {node.engine.max_num_seqs for node in bench.layout.nodes}


async def _topology(writer: Writer) -> Topology:
    return writer.parts._fleet.topology()


async def _machine(writer: Writer) -> str:
    return writer.parts._fleet.machine("node-a1")

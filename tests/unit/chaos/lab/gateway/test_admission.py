"""What the gateway lets in: in Envoy's routes before it is answered, once, and through crashes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from chaos.lab.gateway import admission, envoy
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import LIMIT, SHED, WriteLog
from chaos.lab.gateway.writer import Writer, log_folder, prepare
from chaos.lab.layout import LabSettings, Layout, plan
from chaos.lab.processes import ProcessTable
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import Ambiguous, NotFound
from controlplane.model.topology import Admission, Weights, WriteTag

BY = WriteTag(run="run-1", step="shed", attempt=1, fence=1, key="k1")


class FakeEnvoy:
    """Has the routes of its file in force, unless it is deaf."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.deaf = False
        self.kept = ""

    def routes(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(envoy.routes_path(self.layout).read_text())
        return document

    async def routes_version(self, timeout: float = 1.0) -> str:
        if not self.deaf:
            self.kept = str(self.routes()["version_info"])
        return self.kept

    async def weights(self, timeout: float = 1.0) -> Weights:
        document = self.routes()
        route = document["resources"][0]["virtual_hosts"][0]["routes"][-1]["route"]
        shares = {
            entry["name"].removeprefix("chat-"): entry["weight"]
            for entry in route["weighted_clusters"]["clusters"]
        }
        return Weights(version=document["version_info"].partition("-")[0], weights=shares)


class Bench:
    """The writers on a folder; each `do` is a process of its own."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.admin = FakeEnvoy(layout)

    def do(self, work: Callable[[Writer], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            clock = SystemClock()
            log = self.log()
            fleet = Fleet(self.layout, ProcessTable(self.layout.state_dir), clock, Declared(log))
            try:
                return await work(
                    Writer(self.layout, log, fleet, cast("envoy.EnvoyAdmin", self.admin), clock)
                )
            finally:
                await fleet.close()

        return asyncio.run(main())

    def log(self) -> WriteLog:
        return WriteLog(log_folder(self.layout), SystemClock())

    def outcomes(self) -> list[tuple[str, Any, str]]:
        return [(record.op, record.after, record.outcome) for record in self.log().after(0)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(admission, "CONFIRM_WITHIN", 0.06)
    layout = plan(tmp_path, LabSettings())
    prepare(layout, SystemClock())
    return Bench(layout)


async def shed(writer: Writer) -> Admission:
    return await writer.admission.set_shed(["batch"], None, BY)


async def limit(writer: Writer) -> Admission:
    return await writer.admission.set_limit("zone-b", 7, None, None)


def test_limits_and_refusals_are_in_the_routes_together_with_the_weights(bench: Bench) -> None:
    bench.do(shed)
    both = bench.do(limit)
    bench.do(lambda writer: writer.set_weights({"zone-a": 0, "zone-b": 100, "zone-c": 100}, None, None))

    assert both == Admission(version="2", limits={"zone-b": 7}, shed=("batch",))
    document = bench.admin.routes()
    assert document["version_info"] == "2-2"
    refusal, route = document["resources"][0]["virtual_hosts"][0]["routes"]
    assert refusal["direct_response"]["status"] == 429
    limited = [
        entry["name"]
        for entry in route["route"]["weighted_clusters"]["clusters"]
        if "typed_per_filter_config" in entry
    ]
    assert limited == ["chat-zone-b"]
    assert asyncio.run(bench.admin.weights()).weights["zone-a"] == 0


def test_a_limit_taken_away_leaves_no_trace_in_the_routes(bench: Bench) -> None:
    bench.do(limit)

    after = bench.do(lambda writer: writer.admission.set_limit("zone-b", None, "1", None))

    assert after == Admission(version="2")
    assert "local_ratelimit" not in json.dumps(bench.admin.routes())


def test_a_version_that_moved_on_is_refused_with_what_stands(bench: Bench) -> None:
    bench.do(limit)

    with pytest.raises(StaleWrite) as refusal:
        bench.do(lambda writer: writer.admission.set_shed(["batch"], "0", None))
    assert refusal.value.current == {"version": "1", "limits": {"zone-b": 7}, "shed": []}


def test_what_envoy_does_not_show_is_ambiguous_and_its_key_asks_again(bench: Bench) -> None:
    bench.admin.deaf = True
    for _ in range(2):
        with pytest.raises(Ambiguous, match="admission 1"):
            bench.do(shed)
    bench.admin.deaf = False

    assert bench.do(shed) == Admission(version="1", shed=("batch",))
    assert bench.outcomes() == [(SHED, ["batch"], "ambiguous")]


def test_a_key_is_answered_with_what_stood_after_its_write(bench: Bench) -> None:
    first = bench.do(shed)
    bench.do(limit)

    assert bench.do(shed) == first == Admission(version="1", shed=("batch",))
    assert len(bench.outcomes()) == 2


def test_a_change_under_way_at_a_crash_is_completed_by_the_next_process(bench: Bench) -> None:
    bench.log().draft(LIMIT, "chat/local/zone-b", before=None, after=7, version="1", by=BY)

    bench.do(lambda writer: writer.recover())

    assert bench.outcomes() == [(LIMIT, 7, "applied")]
    assert bench.admin.routes()["version_info"] == "1-1"
    assert "local_ratelimit" in json.dumps(bench.admin.routes())


def test_a_zone_that_is_not_there_is_not_found(bench: Bench) -> None:
    with pytest.raises(NotFound, match="zone-x"):
        bench.do(lambda writer: writer.admission.set_limit("zone-x", 7, None, None))


def test_a_new_fleet_starts_open_and_says_what_was_not(bench: Bench) -> None:
    bench.do(shed)
    bench.do(limit)

    prepare(bench.layout, SystemClock())

    assert bench.outcomes()[2:] == [(LIMIT, None, "applied"), (SHED, [], "applied")]
    routes = bench.admin.routes()["resources"][0]["virtual_hosts"][0]["routes"]
    assert len(routes) == 1

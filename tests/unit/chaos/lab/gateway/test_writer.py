"""Writes in doubt and crashes in the middle, with an Envoy and nodes that do as told."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from chaos.lab.gateway import envoy, writer
from chaos.lab.gateway.declared import desired_weights
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import RESTART, WEIGHTS, WriteLog
from chaos.lab.gateway.writer import Writer, log_folder, prepare
from chaos.lab.layout import LabSettings, Layout, plan
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import Ambiguous, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import Weights, WriteTag

REPLICA = "replica-a1-0"
PLACE = Target("chat", "local", "zone-a", "node-a1", REPLICA)
HALF = {"zone-a": 50, "zone-b": 100, "zone-c": 100}
BY = WriteTag(run="run-1", step="shift", attempt=1, fence=1, key="k1")


class FakeEnvoy:
    """Has the routes of its file in force, unless it is deaf."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.deaf = False
        self.kept = Weights(version="1", weights=dict.fromkeys(layout.zones, 100))

    async def weights(self, timeout: float = 1.0) -> Weights:
        if not self.deaf:
            document = json.loads(envoy.routes_path(self.layout).read_text())
            route = document["resources"][0]["virtual_hosts"][0]["routes"][-1]["route"]
            shares = {
                entry["name"].removeprefix("chat-"): entry["weight"]
                for entry in route["weighted_clusters"]["clusters"]
            }
            self.kept = Weights(version=document["version_info"].partition("-")[0], weights=shares)
        return self.kept


class FakeFleet:
    """One replica, restarted when asked; `failure` is raised after (Ambiguous) or instead (Unavailable)."""

    def __init__(self) -> None:
        self.uid = "uid-1"
        self.failure: Exception | None = None
        self.gone = False

    def find(self, replica: str) -> tuple[None, Target]:
        return None, PLACE

    async def uid_of(self, replica: str) -> str:
        if self.gone:
            raise Unavailable("gone")
        return self.uid

    async def restart(self, replica: str, reason: str, *, reset_gpu: bool = False) -> str:
        if isinstance(self.failure, Unavailable):
            raise self.failure
        self.uid = "uid-2"
        if self.failure is not None:
            raise self.failure
        return self.uid


class Bench:
    """A writer on a folder, with the fakes it stands on; `again` is the process after a crash."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.admin = FakeEnvoy(layout)
        self.fleet = FakeFleet()
        self.again()

    def again(self) -> None:
        clock = SystemClock()
        self.log = WriteLog(log_folder(self.layout), clock)
        self.writer = Writer(
            self.layout, self.log, cast("Fleet", self.fleet), cast("envoy.EnvoyAdmin", self.admin), clock
        )

    def outcomes(self) -> list[tuple[str, Any, str]]:
        return [(record.op, record.after, record.outcome) for record in self.log.after(0)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(writer, "CONFIRM_WITHIN", 0.06)
    layout = plan(tmp_path, LabSettings())
    prepare(layout, SystemClock())
    return Bench(layout)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await work()

    return asyncio.run(main())


def test_a_change_that_envoy_does_not_show_is_ambiguous_with_its_one_line(bench: Bench) -> None:
    bench.admin.deaf = True

    with pytest.raises(Ambiguous, match="version 2"):
        run(lambda: bench.writer.set_weights(HALF, "1", BY))
    assert bench.outcomes() == [(WEIGHTS, HALF, "ambiguous")]
    assert desired_weights(bench.layout, bench.log).version == "2"


def test_the_same_key_asks_envoy_again_when_the_first_answer_was_in_doubt(bench: Bench) -> None:
    bench.admin.deaf = True
    for _ in range(2):
        with pytest.raises(Ambiguous):
            run(lambda: bench.writer.set_weights(HALF, "1", BY))
    bench.admin.deaf = False

    assert run(lambda: bench.writer.set_weights(HALF, "1", BY)) == Weights(version="2", weights=HALF)
    assert bench.outcomes() == [(WEIGHTS, HALF, "ambiguous")]


def test_a_change_under_way_at_a_crash_is_completed_by_the_next_process(bench: Bench) -> None:
    bench.log.draft(WEIGHTS, "chat/local", before=dict.fromkeys(HALF, 100), after=HALF, version="2", by=BY)
    bench.again()

    run(bench.writer.recover)

    assert bench.outcomes() == [(WEIGHTS, HALF, "applied")]
    assert run(bench.admin.weights) == Weights(version="2", weights=HALF)
    assert run(lambda: bench.writer.set_weights(HALF, "1", BY)).version == "2"


def test_writes_at_the_same_time_go_one_after_the_other(bench: Bench) -> None:
    async def both() -> list[Any]:
        return list(
            await asyncio.gather(
                bench.writer.set_weights(HALF, "1", BY),
                bench.writer.set_weights(HALF, "1", BY.model_copy(update={"key": "k2"})),
                return_exceptions=True,
            )
        )

    first, second = run(both)

    assert first == Weights(version="2", weights=HALF)
    assert isinstance(second, StaleWrite)
    assert len(bench.outcomes()) == 1


def test_a_restart_that_was_not_begun_leaves_no_line(bench: Bench) -> None:
    bench.fleet.failure = Unavailable("refused")

    with pytest.raises(Unavailable):
        run(lambda: bench.writer.restart(REPLICA, "uid-1", "leak", BY))
    assert bench.outcomes() == []
    assert bench.log.pending() is None


def test_a_restart_whose_answer_was_lost_is_found_by_its_key(bench: Bench) -> None:
    bench.fleet.failure = Ambiguous("silence")
    with pytest.raises(Ambiguous):
        run(lambda: bench.writer.restart(REPLICA, "uid-1", "leak", BY))

    assert run(lambda: bench.writer.restart(REPLICA, "uid-1", "leak", BY)) == "uid-2"
    assert bench.outcomes() == [(RESTART, None, "ambiguous")]


@pytest.mark.parametrize(
    ("uid", "gone", "expected"),
    [
        ("uid-2", False, [(RESTART, "uid-2", "applied")]),
        ("uid-1", False, []),
        ("uid-1", True, [(RESTART, None, "ambiguous")]),
    ],
)
def test_after_a_crash_the_node_says_whether_the_restart_happened(
    bench: Bench, uid: str, gone: bool, expected: list[Any]
) -> None:
    bench.log.draft(RESTART, str(PLACE), before="uid-1", after=None, version="uid-1", by=BY)
    bench.again()
    bench.fleet.uid, bench.fleet.gone = uid, gone

    run(bench.writer.recover)

    assert bench.outcomes() == expected
    assert bench.log.pending() is None


def test_a_new_fleet_starts_with_equal_weights_as_a_logged_effect(bench: Bench) -> None:
    run(lambda: bench.writer.set_weights(HALF, None, BY))

    prepare(bench.layout, SystemClock())
    bench.again()

    equal = dict.fromkeys(HALF, 100)
    assert bench.outcomes() == [(WEIGHTS, HALF, "applied"), (WEIGHTS, equal, "applied")]
    assert run(bench.admin.weights) == Weights(version="3", weights=equal)

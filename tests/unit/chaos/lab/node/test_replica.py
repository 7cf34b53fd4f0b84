"""A replica that crashes comes back as a kubelet would bring it back, and is pardoned in the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chaos.lab.engine.engine import Engine
from chaos.lab.node import dcgm
from chaos.lab.node.config import NodeConfig
from chaos.lab.node.faults import FaultKind, FaultSpec
from chaos.lab.node.gpu import Gpu
from chaos.lab.node.kubelet import CrashBackoff
from chaos.lab.node.node import Node
from controlplane.kernel.clock import VirtualClock

Run = Callable[[Callable[[], Awaitable[Any]]], Any]
NAME = "replica-a1-0"
LOAD = 4.0
END = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> NodeConfig:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        ports = [probe.getsockname()[1] for probe in (one, other)]
    return NodeConfig.model_validate(
        {
            "service": "chat", "cluster": "local", "zone": "zone-a", "node": "node-a1", "model": "m",
            "seed": 7, "replicas": [{"name": NAME, "port": ports[0], "gpuUuid": "GPU-0"}],
            "dcgmPort": ports[1], "socket": str(tmp_path / "node.sock"), "engine": {"loadTime": LOAD},
        }
    )  # fmt: skip


class Broken:
    """A node whose replica has loaded, and what a drill does to it."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def put(self, kind: FaultKind = FaultKind.CRASH, **fields: Any) -> None:
        spec = FaultSpec(kind=kind, replicas=(NAME,), expires_at=END, **fields)
        self._node.put_fault("fault-1", spec)

    @property
    def engine(self) -> Engine:
        return self._node.replica(NAME).driver.engine

    @property
    def gpu(self) -> Gpu:
        return self._node.replica(NAME).gpu

    @property
    def kernel_log(self) -> list[str]:
        lines: list[str] = self._node.status()["kernelLog"]
        return lines

    def exporter(self) -> str:
        loop = asyncio.get_running_loop()
        return dcgm.exposition("node-a1", [dcgm.Assignment(self.gpu, NAME)], loop.time()).decode()

    def delete(self) -> None:
        self._node.delete_fault("fault-1")

    async def restart(self) -> str:
        return await self._node.replica(NAME).restart("somebody")

    @property
    def status(self) -> dict[str, Any]:
        return self._node.replica(NAME).status()

    @property
    def carries(self) -> bool:
        return bool(self._node.status()["faults"])

    async def starts(self, seconds: float) -> list[float]:
        """Return when, from now on, another incarnation began."""
        loop = asyncio.get_running_loop()
        begun: list[float] = []
        uid, origin = self.status["uid"], loop.time()
        while loop.time() - origin < seconds:
            await asyncio.sleep(0.25)
            if self.status["uid"] != uid:
                uid = self.status["uid"]
                begun.append(round(loop.time() - origin))
        return begun


@asynccontextmanager
async def broken(config: NodeConfig) -> Any:
    node = Node(config, VirtualClock())
    await asyncio.sleep(LOAD + 1)
    try:
        yield Broken(node)
    finally:
        await node.stop()


def test_the_first_restart_is_at_once_and_later_ones_wait_twice_as_long_each() -> None:
    backoff = CrashBackoff()
    assert [backoff.ended(5.0) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert [backoff.ended(ran) for ran in (600.0, 5.0)] == [0, 10]


def test_a_crash_ends_the_container_and_the_next_start_is_at_once(run: Run, config: NodeConfig) -> None:
    async def main() -> None:
        async with broken(config) as on:
            before = on.status
            on.put()
            assert (on.status["state"], on.status["exitCode"]) == ("stopped", 1)
            on.put()
            await asyncio.sleep(1)
            after = on.status
            assert (after["state"], after["restarts"], after["pod"]) == ("loading", 1, before["pod"])
            assert (after["uid"] != before["uid"], on.carries) == (True, False)
            await asyncio.sleep(LOAD)
            assert on.status["state"] == "ready"
            on.put()
            assert on.status["state"] == "ready"

    run(main)


def test_a_server_that_outlives_its_engine_stays_as_it_is_until_somebody_replaces_it(
    run: Run, config: NodeConfig
) -> None:
    async def main() -> None:
        async with broken(config) as on:
            before = on.status
            on.put(keep_alive=True)
            assert await on.starts(900) == []
            assert (on.status["state"], on.status["restarts"], on.carries) == ("stopped", 0, True)
            uid = await on.restart()
            await asyncio.sleep(LOAD + 1)
            after = on.status
            assert (after["state"], after["uid"], after["restarts"]) == ("ready", uid, 0)
            assert (after["pod"] != before["pod"], on.carries) == (True, False)

    run(main)


@pytest.mark.parametrize("keep_alive", [False, True])
def test_who_takes_a_crash_back_gets_a_replica_that_serves(
    run: Run, config: NodeConfig, keep_alive: bool
) -> None:
    async def main() -> None:
        async with broken(config) as on:
            on.put(keep_alive=keep_alive)
            on.delete()
            on.delete()
            assert len(await on.starts(LOAD + 2)) == 1
            assert (on.status["state"], on.carries) == ("ready", False)

    run(main)


def test_a_crash_loop_waits_longer_each_time_and_survives_a_restart(run: Run, config: NodeConfig) -> None:
    async def main() -> None:
        async with broken(config) as on:
            on.put(every=6.0)
            # now, 6 s of life, 10 s of back-off, 6 s of life, 20 s, 6 s, 40 s
            assert await on.starts(100) == pytest.approx([0, 16, 42, 88], abs=2)
            assert (on.status["restarts"], on.status["backoff"], on.carries) == (4, True, True)
            await on.restart()
            assert (on.status["restarts"], on.status["backoff"]) == (0, False)
            assert await on.starts(17) == pytest.approx([6], abs=2)

    run(main)


def test_a_crash_loop_that_is_over_leaves_no_backoff(run: Run, config: NodeConfig) -> None:
    async def main() -> None:
        async with broken(config) as on:
            on.put(every=6.0)
            await asyncio.sleep(120)
            assert on.status["backoff"] is True
            on.delete()
            await asyncio.sleep(LOAD + 1)
            assert (on.status["state"], on.status["backoff"]) == ("ready", False)
            assert await on.starts(700) == []

    run(main)


def test_a_card_that_is_lost_leaves_its_code_and_no_start_succeeds(run: Run, config: NodeConfig) -> None:
    async def main() -> None:
        async with broken(config) as on:
            on.put(FaultKind.XID, code=79)
            on.put(FaultKind.XID, code=79)
            [line] = on.kernel_log
            assert line.startswith("2026-01-01T00:00:00.000Z NVRM: Xid (PCI:0000:1B:00): 79, pid=")
            assert line.endswith(", GPU has fallen off the bus")
            series = [line for line in on.exporter().splitlines() if not line.startswith("#")]
            assert [line.split("{")[0] for line in series] == ["DCGM_FI_DEV_XID_ERRORS"]
            assert 'err_code="79",err_msg="GPU has fallen off the bus"' in series[0]
            assert (on.status["state"], on.status["gpuOffered"]) == ("stopped", False)
            on.gpu.health.reset()
            await asyncio.sleep(60)
            assert (on.status["state"], on.status["restarts"]) == ("stopped", 3)
            on.delete()
            await asyncio.sleep(LOAD + 1)
            assert (on.status["state"], on.status["gpuOffered"], on.gpu.health.xid) == ("ready", True, 0)
            assert "DCGM_FI_DEV_GPU_TEMP{" in on.exporter()

    run(main)


def test_a_card_with_a_memory_error_serves_again_after_a_reset_and_keeps_the_code(
    run: Run, config: NodeConfig
) -> None:
    async def main() -> None:
        async with broken(config) as on:
            on.put(FaultKind.XID, code=48)
            await on.restart()
            await asyncio.sleep(LOAD + 1)
            assert on.status["state"] == "stopped"
            on.gpu.health.reset()
            await on.restart()
            await asyncio.sleep(LOAD + 1)
            assert (on.status["state"], on.gpu.health.xid) == ("ready", 48)
            on.put(FaultKind.XID, code=48)
            assert on.status["state"] == "ready"

    run(main)


@pytest.mark.parametrize(
    ("code", "state", "hung", "offered"),
    [(31, "stopped", True, True), (63, "ready", False, False), (119, "ready", True, False)],
)
def test_other_errors_end_the_engine_once_stop_it_or_leave_it_alone(
    run: Run, config: NodeConfig, code: int, state: str, hung: bool, offered: bool
) -> None:
    async def main() -> None:
        async with broken(config) as on:
            engine = on.engine
            on.put(FaultKind.XID, code=code)
            assert (on.status["state"], engine.hung, on.status["gpuOffered"]) == (state, hung, offered)
            assert f'err_code="{code}"' in on.exporter()
            on.delete()
            await asyncio.sleep(LOAD + 2)
            assert (on.status["state"], on.engine.hung) == ("ready", False)

    run(main)


def test_what_a_crash_may_be_told_is_said_and_checked() -> None:
    spec = FaultSpec(kind=FaultKind.CRASH, every=6.0, expires_at=END)
    assert spec.parameters() == {"every": 6.0}
    with pytest.raises(ValueError, match="no keepAlive with every"):
        FaultSpec(kind=FaultKind.CRASH, every=6.0, keep_alive=True, expires_at=END)
    with pytest.raises(ValueError, match="are for a crash"):
        FaultSpec(kind=FaultKind.HANG, every=6.0, expires_at=END + timedelta(seconds=1))

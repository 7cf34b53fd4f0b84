"""The smallest real lab that a platform can be tested against: the gateway's own process, a real Envoy,
and six nodes that answer on their sockets and model nothing. What stands for a node's machine is a
process that sleeps: it can be ended and started like a node's.

For tests only: `start` gives a `SmallLab` and ends everything it started.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from aiohttp import web

from chaos.lab import layout as layouts
from chaos.lab.gateway import writer
from chaos.lab.node.config import NodeConfig
from chaos.lab.processes import ProcessTable
from controlplane.kernel.clock import SystemClock

LOAD_SECONDS = 0.2


class FakeNode:
    """A node's socket: replicas with uids, restarts that load for a moment, answers that can be lost."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.lose_answers = False
        self.requests = {replica.name: 0 for replica in config.slots}
        self.resets: list[str] = []
        self._starts = {replica.name: 1 for replica in config.replicas}
        self._loaded_at = dict.fromkeys(self._starts, 0.0)
        self._runner: web.AppRunner | None = None

    async def open(self) -> None:
        app = web.Application()
        app.add_routes(
            [
                web.get("/status", self._status),
                web.post("/replicas/{name}/restart", self._restart),
                web.put("/replicas/{name}", self._fill),
                web.delete("/replicas/{name}", self._empty),
            ]
        )
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.config.socket)).start()

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _uid(self, name: str) -> str:
        return f"{name}-{self._starts[name]:04d}"

    async def _status(self, request: web.Request) -> web.Response:
        replicas = [
            {
                "name": name,
                "uid": self._uid(name),
                "state": "ready" if time.monotonic() >= loaded_at else "loading",
                "pod": self._uid(name),
                "restarts": 0,
                "backoff": False,
                "running": self.requests[name],
            }
            for name, loaded_at in self._loaded_at.items()
        ]
        return web.json_response({"node": self.config.node, "zone": self.config.zone, "replicas": replicas})

    async def _fill(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self._loaded_at:
            self._starts[name] = self._starts.get(name, 0) + 1
            self._loaded_at[name] = time.monotonic() + LOAD_SECONDS
        return web.json_response({"uid": self._uid(name)})

    async def _empty(self, request: web.Request) -> web.Response:
        self._loaded_at.pop(request.match_info["name"], None)
        return web.Response(status=204)

    async def _restart(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if (await request.json()).get("resetGpu"):
            self.resets.append(name)
        self._starts[name] += 1
        self._loaded_at[name] = time.monotonic() + LOAD_SECONDS
        if self.lose_answers and request.transport is not None:
            request.transport.close()
        return web.json_response({"uid": self._uid(name)})


class SmallLab:
    """What `start` yields: the platform's URL, and hands on its nodes and its Envoy."""

    def __init__(self, layout: layouts.Layout, envoy: subprocess.Popen[bytes]) -> None:
        self.url = layout.url(layout.platform_port)
        self.nodes = {config.node: FakeNode(config) for config in layout.nodes}
        self._envoy = envoy
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def open(self) -> None:
        self._thread.start()
        for name in self.nodes:
            self.mend(name)

    def close(self) -> None:
        for name in self.nodes:
            self.cut(name)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self, node: str) -> None:
        """Take a node's socket away: connections to it are refused."""
        asyncio.run_coroutine_threadsafe(self.nodes[node].close(), self._loop).result(5)

    def mend(self, node: str) -> None:
        asyncio.run_coroutine_threadsafe(self.nodes[node].open(), self._loop).result(5)

    @contextmanager
    def frozen_envoy(self) -> Iterator[None]:
        """Stop the Envoy process for a while: it keeps its sockets and says nothing."""
        self._envoy.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._envoy.send_signal(signal.SIGCONT)


@contextmanager
def start(state_dir: Path) -> Iterator[SmallLab]:
    """Run a lab of three zones, two nodes each, under ``state_dir``; ready when it is yielded."""
    layout = layouts.plan(state_dir, layouts.LabSettings())
    layout.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    layout.save()
    writer.prepare(layout, SystemClock())
    log = (state_dir / "processes.log").open("wb")
    bootstrap = str(layout.state_dir / "gateway" / "envoy.json")
    with log:
        envoy = _spawn(log.fileno(), str(Path(sys.prefix) / "bin" / "envoy"), "-c", bootstrap, "--base-id",
                       str(os.getpid()), "--concurrency", "1", "-l", "warning")  # fmt: skip
        gateway = _spawn(
            log.fileno(), sys.executable, "-m", "chaos.lab.gateway", "--state-dir", str(layout.state_dir)
        )
        lab = SmallLab(layout, envoy)
        machines = ProcessTable(layout.state_dir)
        try:
            for config in layout.nodes:
                machines.spawn(config.node, ("sleep", "3600"), kind="node", owner="lab")
            lab.open()
            _wait_ready(lab.url, state_dir / "processes.log")
            yield lab
        finally:
            lab.close()
            machines.terminate([config.node for config in layout.nodes], 1.0)
            for process in (gateway, envoy):
                process.kill()
                process.wait(10)


def _spawn(log: int, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdout=log, stderr=log, cwd=Path(__file__).parents[2])


def _wait_ready(url: str, log: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            weights = httpx.get(f"{url}/v1/weights", timeout=1)
            zones = httpx.get(f"{url}/v1/topology", timeout=1).json()["zones"]
            ready = [node["ready"] for zone in zones for node in zone["nodes"]]
            if weights.is_success and all(ready):
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    msg = f"the lab did not start: {log.read_text(errors='replace')[-2000:]}"
    raise RuntimeError(msg)

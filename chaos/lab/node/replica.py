"""One replica slot of a node and the incarnations that live in it, one after another.

An incarnation is everything a restart loses: engine, queue, caches, counters, connections
and uid. Its port is bound from the first moment, so that nobody else can take it, but
listens only once the model is loaded: until then connections are refused, as vLLM's are.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from collections.abc import Callable
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry

from chaos.lab.engine.engine import Engine
from chaos.lab.node.config import NodeConfig, ReplicaConfig
from chaos.lab.node.driver import Driver
from chaos.lab.node.gpu import Gpu, Memory
from chaos.lab.node.http import ReplicaServer
from chaos.lab.node.metrics import EngineMetrics
from chaos.lab.node.process_metrics import register_process
from controlplane.kernel.clock import Clock
from controlplane.kernel.ids import new_id

log = logging.getLogger(__name__)

_GRACE = 0.2  # seconds for handlers of connections that were already aborted
_BACKLOG = 128


class Incarnation:
    """One life of a replica, from the start of loading to its stop."""

    def __init__(self, node: NodeConfig, replica: ReplicaConfig, life: int, clock: Clock) -> None:
        self.uid = new_id(replica.name, clock)
        self.state = "loading"
        registry = CollectorRegistry()
        register_process(registry, clock.now().timestamp())
        engine = Engine(node.engine, random.Random(f"{node.seed}/{replica.name}/{life}"))
        self.driver = Driver(engine, EngineMetrics(registry, node.model, node.engine))
        identity = {
            "x-fleetward-replica": replica.name,
            "x-fleetward-replica-uid": self.uid,
            "x-fleetward-node": node.node,
            "x-fleetward-zone": node.zone,
        }
        server = ReplicaServer(self.driver, registry, node.model, identity, clock)
        self._runner = web.AppRunner(
            server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=_GRACE
        )
        self._socket = bind(replica.port)

    async def serve(self) -> None:
        """Listen: the model is loaded."""
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket, backlog=_BACKLOG).start()
        self.state = "ready"

    async def stop(self) -> None:
        """Drop every connection and all work at once."""
        self.state = "stopped"
        self.driver.stop()
        await drop_connections(self._runner)
        self._socket.close()


class Replica:
    """A slot. ``condition`` applies the faults in force to a new incarnation."""

    def __init__(
        self,
        node: NodeConfig,
        config: ReplicaConfig,
        gpu: Gpu,
        clock: Clock,
        condition: Callable[[Replica], None],
    ) -> None:
        self.name = config.name
        self.gpu = gpu
        self._node = node
        self._config = config
        self._clock = clock
        self._condition = condition
        self._lives = 0
        self._lock = asyncio.Lock()
        self._loading: asyncio.Task[None] | None = None
        self._incarnation = self._begin()

    @property
    def uid(self) -> str:
        """The present incarnation."""
        return self._incarnation.uid

    @property
    def driver(self) -> Driver:
        """The present incarnation's engine."""
        return self._incarnation.driver

    async def restart(self, reason: str) -> str:
        """End the present incarnation, begin another, and return its uid without waiting for its load."""
        async with self._lock:
            log.info("%s: restart (%s)", self.name, reason)
            await self.stop()
            self._incarnation = self._begin()
            self._condition(self)
            return self.uid

    async def stop(self) -> None:
        """Stop serving; the card is left empty."""
        if self._loading is not None:
            self._loading.cancel()
        await self._incarnation.stop()
        self.gpu.attach(None, self.driver.now)
        self.gpu.memory = Memory.EMPTY

    def status(self) -> dict[str, Any]:
        """Return the replica's part of ``/status``."""
        incarnation, engine = self._incarnation, self.driver.engine
        return {
            "name": self.name,
            "uid": incarnation.uid,
            "port": self._config.port,
            "state": incarnation.state,
            "running": engine.running,
            "waiting": engine.waiting,
            "steps": engine.steps,
            "tokens": engine.tokens,
        }

    def _begin(self) -> Incarnation:
        self._lives += 1
        incarnation = Incarnation(self._node, self._config, self._lives, self._clock)
        self.gpu.attach(incarnation.driver.engine, incarnation.driver.now)
        self.gpu.memory = Memory.WEIGHTS
        self._loading = asyncio.create_task(self._load(incarnation), name=f"load {self.name}")
        return incarnation

    async def _load(self, incarnation: Incarnation) -> None:
        await asyncio.sleep(self._node.engine.load_time)
        await incarnation.serve()
        self.gpu.memory = Memory.SERVING
        log.info("%s: ready as %s", self.name, incarnation.uid)


def bind(port: int) -> socket.socket:
    """Bind a loopback port without listening on it; also right after its last owner was killed."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def drop_connections(runner: web.AppRunner) -> None:
    """Reset every connection of a runner and stop it."""
    server = runner.server
    for connection in server.connections if server is not None else ():
        if connection.transport is not None:
            connection.transport.abort()
    await runner.cleanup()

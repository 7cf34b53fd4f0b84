"""One replica slot of a node and the incarnations that live in it, one after another.

An incarnation is everything a restart loses: engine, queue, caches, counters, connections
and uid. Its port is bound from the first moment, so that nobody else can take it, but
listens only once the model is loaded: until then connections are refused, as vLLM's are.

An engine that dies takes its server with it, as vLLM's does, and the container is started
again after the kubelet's back-off, in the same pod. Asked to keep alive
(``VLLM_KEEP_ALIVE_ON_ENGINE_DEATH``) the server stays: /health says 503, requests get 500,
metrics stand still, and nothing starts it again: the lab's pods have no liveness probe.
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
from chaos.lab.node.kubelet import CrashBackoff
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
        self.began_at = asyncio.get_running_loop().time()
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
        self._server = ReplicaServer(self.driver, registry, node.model, identity, clock)
        self._ending: asyncio.Task[None] | None = None
        self._runner = web.AppRunner(
            self._server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=_GRACE
        )
        self._socket = bind(replica.port)

    async def serve(self) -> None:
        """Listen: the model is loaded."""
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket, backlog=_BACKLOG).start()
        self.state = "ready"

    def lose_engine(self) -> None:
        """Lose the engine and all its work, and cut every connection; the server stays."""
        self.state = "stopped"
        self.driver.stop()
        self._server.engine_dead = True
        abort_connections(self._runner)

    async def stop(self) -> None:
        """Drop every connection and all work at once; again is the same once."""
        self.lose_engine()
        if self._ending is None:
            self._ending = asyncio.create_task(self._leave())
        await asyncio.shield(self._ending)

    async def _leave(self) -> None:
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
        self._tasks: set[asyncio.Task[Any]] = set()
        self._next_start: asyncio.TimerHandle | None = None
        self._exit_code: int | None = None
        self._new_pod()
        self.crashed_by: str | None = None
        self._incarnation = self._begin()

    def _new_pod(self) -> None:
        self._pod = new_id("pod", self._clock)
        self._backoff = CrashBackoff()
        self._exit_code = None

    @property
    def uid(self) -> str:
        """The present incarnation."""
        return self._incarnation.uid

    @property
    def driver(self) -> Driver:
        """The present incarnation's engine."""
        return self._incarnation.driver

    @property
    def alive(self) -> bool:
        """Whether the present incarnation loads or serves."""
        return self._incarnation.state != "stopped"

    @property
    def began_at(self) -> float:
        """When the present incarnation began, seconds of the engine's clock."""
        return self._incarnation.began_at

    async def restart(self, reason: str, *, reset_gpu: bool = False) -> str:
        """Replace the pod: end the present incarnation, begin another, return its uid while it loads.

        ``reset_gpu``: reset the card between the two, when nothing runs on it.
        """
        async with self._lock:
            log.info("%s: %s (%s)", self.name, "GPU reset and restart" if reset_gpu else "restart", reason)
            await self.stop()
            if reset_gpu:
                self.gpu.reset(self.driver.now)
            self._new_pod()
            self.crashed_by = None
            self._incarnation = self._begin()
            self._condition(self)
            return self.uid

    def crash(self, cause: str, *, keep_alive: bool) -> None:
        """Let the engine die; its container is started again in time unless the server is kept alive."""
        if not self.alive:
            return
        self.crashed_by = cause
        incarnation, now = self._incarnation, self.driver.now
        log.info("%s: the engine died (%s)", self.name, cause)
        incarnation.lose_engine()
        self._empty_card()
        if not keep_alive:
            self._exit_code = 1
            delay = self._backoff.ended(now - incarnation.began_at)
            self._keep(asyncio.create_task(self._end_container(incarnation, delay)))

    def pardon(self) -> None:
        """Take a crash back: a replica that is down because of it gets a new pod, and no back-off."""
        self.crashed_by = None
        if self.alive:
            self._backoff.forgive()
        else:
            self._keep(asyncio.create_task(self.restart("what crashed it is over")))

    async def stop(self) -> None:
        """Stop serving; the card is left empty."""
        self._empty_card()
        await self._incarnation.stop()
        if self._next_start is not None:  # also one that was set while we waited
            self._next_start.cancel()
            self._next_start = None

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
            "pod": self._pod,
            "restarts": self._backoff.restarts,
            "backoff": self._next_start is not None,
            "exitCode": self._exit_code,
            "gpuOffered": self.gpu.health.offered,
        }

    def _empty_card(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        self.gpu.attach(None, self.driver.now)
        self.gpu.memory = Memory.EMPTY

    async def _end_container(self, incarnation: Incarnation, delay: float) -> None:
        await incarnation.stop()
        if incarnation is self._incarnation:
            loop = asyncio.get_running_loop()
            self._next_start = loop.call_later(delay, self._start_container, incarnation)

    def _start_container(self, former: Incarnation) -> None:
        self._next_start = None
        if former is self._incarnation:
            self._backoff.restarts += 1
            self._incarnation = self._begin()
            self._condition(self)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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


def abort_connections(runner: web.AppRunner) -> None:
    """Reset every connection of a runner."""
    server = runner.server
    for connection in server.connections if server is not None else ():
        if connection.transport is not None:
            connection.transport.abort()


async def drop_connections(runner: web.AppRunner) -> None:
    """Reset every connection of a runner and stop it."""
    abort_connections(runner)
    await runner.cleanup()

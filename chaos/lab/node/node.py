"""A node: its replicas, its GPUs' exporter and its socket, put together in one event loop.

The socket (mode 0600) is how the lab itself reaches into a node: status, faults, restarts.
The control plane never speaks to it; it must notice what happens from outside.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections import deque
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from chaos.lab.node import dcgm
from chaos.lab.node.config import NodeConfig
from chaos.lab.node.faults import FaultBook, FaultSpec
from chaos.lab.node.gpu import Gpu
from chaos.lab.node.http import TEXT_FORMAT
from chaos.lab.node.replica import Replica, bind, drop_connections
from chaos.lab.node.xid import START_FAILS_AFTER, Effect, kernel_line
from controlplane.kernel.clock import Clock, to_rfc3339
from controlplane.kernel.errors import FleetwardError, InvalidInput, NotFound

log = logging.getLogger(__name__)

_KERNEL_LINES = 50  # of the kernel's log, as far as the lab has one: its NVRM lines


class Node:
    """One node. Build it inside a running event loop."""

    def __init__(self, config: NodeConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._faults = FaultBook()
        self._expiry: asyncio.TimerHandle | None = None
        self._kernel_log: deque[str] = deque(maxlen=_KERNEL_LINES)
        self._strikes: dict[str, asyncio.TimerHandle] = {}
        self._replicas: dict[str, Replica] = {}
        for replica in config.replicas:
            self.fill(replica.name)
        self._runners: list[web.AppRunner] = []
        self._owns_socket = False

    async def start(self) -> None:
        """Serve the exporter and the socket; the replicas follow when their models are loaded.

        Raises:
            OSError: an address is taken, or the socket's folder does not exist.
        """
        exporter = await self._runner([web.get("/metrics", self._dcgm)])
        await web.SockSite(exporter, bind(self._config.dcgm_port)).start()
        control = await self._runner(
            [
                web.get("/status", self._status),
                web.put("/faults/{id}", self._put_fault),
                web.delete("/faults/{id}", self._delete_fault),
                web.post("/replicas/{name}/restart", self._restart),
                web.put("/replicas/{name}", self._fill),
                web.delete("/replicas/{name}", self._empty),
            ]
        )
        before = os.umask(0o177)  # the socket must never exist with a wider mode, not even for a moment
        try:
            await web.UnixSite(control, str(self._config.socket)).start()
            self._owns_socket = True
        finally:
            os.umask(before)
        log.info("%s: up, %d replicas loading", self._config.node, len(self._replicas))

    async def stop(self) -> None:
        """Drop everything at once, and remove the socket."""
        if self._expiry is not None:
            self._expiry.cancel()
        for strike in self._strikes.values():
            strike.cancel()
        await asyncio.gather(*(replica.stop() for replica in self._replicas.values()))
        await asyncio.gather(*(drop_connections(runner) for runner in self._runners))
        if self._owns_socket:
            self._config.socket.unlink(missing_ok=True)

    async def _runner(self, routes: list[web.RouteDef]) -> web.AppRunner:
        application = web.Application(middlewares=[_say_errors])
        application.add_routes(routes)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        self._runners.append(runner)
        return runner

    async def _dcgm(self, request: web.Request) -> web.Response:
        cards = [dcgm.Assignment(replica.gpu, replica.name) for replica in self._replicas.values()]
        return web.Response(
            body=dcgm.exposition(self._config.node, cards, self._loop.time()), headers=TEXT_FORMAT
        )

    def replica(self, name: str) -> Replica:
        """Return a replica of this node; raises `NotFound`."""
        if name not in self._replicas:
            raise NotFound(f"no replica {name} on {self._config.node}")
        return self._replicas[name]

    def fill(self, name: str) -> Replica:
        """Let a replica run in a slot, if none does; raises `NotFound` for a slot that there is not."""
        slots = {slot.name: (index, slot) for index, slot in enumerate(self._config.slots)}
        if name not in slots:
            raise NotFound(f"no slot {name} on {self._config.node}")
        if name not in self._replicas:
            index, slot = slots[name]
            gpu = Gpu(slot.gpu_uuid, index, self._loop.time())
            self._replicas[name] = Replica(self._config, slot, gpu, self._clock, self._apply)
            self._apply(self._replicas[name])
        return self._replicas[name]

    async def empty(self, name: str) -> None:
        """End the replica in a slot, and all that it does; nothing when there is none."""
        replica = self._replicas.pop(name, None)
        if (strike := self._strikes.pop(name, None)) is not None:
            strike.cancel()
        if replica is not None:
            await replica.stop()
            log.info("%s: %s is gone", self._config.node, name)

    def status(self) -> dict[str, Any]:
        """Return what ``/status`` says."""
        self._expire()
        return {
            "node": self._config.node,
            "zone": self._config.zone,
            "replicas": [replica.status() for replica in self._replicas.values()],
            "faults": self._faults.describe(self._incarnations()),
            "kernelLog": list(self._kernel_log),
        }

    def put_fault(self, identifier: str, spec: FaultSpec) -> None:
        """Put a fault in force; raises `InvalidInput` as `FaultBook.put` does."""
        self._faults.put(identifier, spec, self._incarnations(), self._clock.now())
        log.info("%s: fault %s (%s) until %s", self._config.node, identifier, spec.kind, spec.expires_at)
        self._expire()

    def delete_fault(self, identifier: str) -> None:
        """Take a fault back; nothing when there is none."""
        self._faults.delete(identifier)
        self._expire()

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(self.status())

    async def _put_fault(self, request: web.Request) -> web.Response:
        identifier = request.match_info["id"]
        try:
            spec = FaultSpec.model_validate_json(await request.read())
        except ValidationError as error:
            raise InvalidInput(f"fault {identifier}: {error}") from error
        self.put_fault(identifier, spec)
        return web.json_response({"id": identifier})

    async def _delete_fault(self, request: web.Request) -> web.Response:
        self.delete_fault(request.match_info["id"])
        return web.Response(status=204)

    async def _fill(self, request: web.Request) -> web.Response:
        return web.json_response({"uid": self.fill(request.match_info["name"]).uid})

    async def _empty(self, request: web.Request) -> web.Response:
        await self.empty(request.match_info["name"])
        return web.Response(status=204)

    async def _restart(self, request: web.Request) -> web.Response:
        replica = self.replica(request.match_info["name"])
        try:
            body: Any = await request.json() if request.can_read_body else {}
            reason, reset_gpu = str(body.get("reason", "")), body.get("resetGpu") is True
        except (ValueError, AttributeError) as error:
            raise InvalidInput('the body is a JSON object such as {"reason": "..."}') from error
        return web.json_response({"uid": await replica.restart(reason, reset_gpu=reset_gpu)})

    def _incarnations(self) -> dict[str, str]:
        return {name: replica.uid for name, replica in self._replicas.items()}

    def _expire(self) -> None:
        """End the faults whose time is over, apply what is left, and come back for the next one."""
        now = self._clock.now()
        for identifier in self._faults.expire(now):
            log.info("%s: fault %s is over", self._config.node, identifier)
        for replica in self._replicas.values():
            self._apply(replica)
        if self._expiry is not None:
            self._expiry.cancel()
        upcoming = self._faults.next_expiry()
        if upcoming is not None:
            delay = max(0.0, (upcoming - now).total_seconds())
            self._expiry = self._loop.call_later(delay, self._expire)

    def _apply(self, replica: Replica) -> None:
        """Put a replica's present incarnation into the condition that the faults in force ask for."""
        self._befall(replica)
        if replica.alive:
            hung = self._faults.hung(replica.name, replica.uid) or replica.gpu.health.hangs(replica.uid)
            replica.driver.set_faults(
                slow_factor=self._faults.slow_factor(replica.name, replica.uid), hung=hung
            )
        if replica.crashed_by is not None and not self._faults.holds(replica.crashed_by):
            replica.pardon()
        self._strike(replica)

    def _befall(self, replica: Replica) -> None:
        """Let XID errors befall the replica's card, each once, and forget those whose fault is over."""
        health, errors = replica.gpu.health, self._faults.xids(replica.name)
        health.forget_but(set(errors))
        for identifier, code in errors.items():
            effect = health.strike(identifier, code, replica.uid)
            if effect is None:
                continue
            line = kernel_line(replica.gpu.bus_id, code)
            self._kernel_log.append(f"{to_rfc3339(self._clock.now())} {line}")
            log.error("%s: kernel: %s", self._config.node, line)
            if effect not in {Effect.NOTHING, Effect.HANGS}:
                replica.crash(identifier, keep_alive=False)

    def _strike(self, replica: Replica) -> None:
        """Crash the replica if a fault says so, or come back when it will."""
        if (former := self._strikes.pop(replica.name, None)) is not None:
            former.cancel()
        if not replica.alive:
            return
        now, due, cause, keep_alive = self._loop.time(), math.inf, "", False
        if (crash := self._faults.crash(replica.name, replica.uid)) is not None:
            due, cause = replica.began_at + (crash.spec.every or 0.0), crash.id
            keep_alive = crash.spec.keep_alive
        health = replica.gpu.health
        if (spoiler := health.spoiler()) is not None and not health.hangs(replica.uid):
            due, cause, keep_alive = min(due, replica.began_at + START_FAILS_AFTER), spoiler, False
        if due <= now:
            replica.crash(cause, keep_alive=keep_alive)
        elif due < math.inf:
            self._strikes[replica.name] = self._loop.call_at(due, self._strike, replica)


@web.middleware
async def _say_errors(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)
    except FleetwardError as error:
        body = {"code": error.code, "message": error.message, "hint": error.hint}
        return web.json_response(body, status=error.status)
    return response

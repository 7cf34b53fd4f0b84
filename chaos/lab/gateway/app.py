"""The control API over HTTP, on loopback: topology, weights, work on parts, the write log, metrics.

Errors are JSON ``{"code", "message", ...}`` with the status of the kernel's error tree; a 409
tells what stands in the way (``current``, ``highest``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
from aiohttp import web
from pydantic import Field, ValidationError

from chaos.lab.gateway import kube
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.envoy import EnvoyAdmin
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import RECYCLE, RESTART, FencedWrite, WriteLog
from chaos.lab.gateway.writer import Writer, log_folder
from chaos.lab.layout import Layout
from chaos.lab.processes import ProcessTable
from chaos.lab.service import working
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.model.base import Model
from controlplane.model.topology import WriteTag

Body = TypeVar("Body", bound=Model)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WeightsBody(Model):
    """Body of ``PUT /v1/weights``."""

    weights: dict[str, int]
    expected_version: str | None = None
    by: WriteTag | None = None


class DeclareBody(Model):
    """Body of ``PUT /v1/replicas/{name}/rotation`` and ``PUT /v1/nodes/{name}/schedulable``."""

    value: bool
    expected_version: str | None = None
    by: WriteTag | None = None


class LimitBody(Model):
    """Body of ``PUT /v1/zones/{zone}/limit``: requests/s, or null for any number."""

    value: int | None = Field(ge=1)
    expected_version: str | None = None
    by: WriteTag | None = None


class ScaleBody(Model):
    """Body of ``PUT /v1/zones/{zone}/scale``: how many replicas it shall have."""

    value: int
    expected_version: str | None = None
    by: WriteTag | None = None


class ShedBody(Model):
    """Body of ``PUT /v1/shed``: the tiers whose requests are refused."""

    value: list[str] = Field(max_length=20)
    expected_version: str | None = None
    by: WriteTag | None = None


class FenceBody(Model):
    """Body of ``PUT /v1/fence``."""

    by: WriteTag


class RestartBody(Model):
    """Body of ``POST /v1/replicas/{name}/restart``, ``…/recycle`` and ``POST /v1/nodes/{name}/replace``."""

    expected_uid: str | None = None
    reason: str = Field(default="", max_length=500)
    by: WriteTag | None = None


class Api:
    """The routes' handlers."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self._layout = layout
        self._log = WriteLog(log_folder(layout), clock)
        self._clock = clock

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_errors], client_max_size=64 * 1024)
        app.cleanup_ctx.append(self._running)
        app.add_routes(
            [
                web.get("/v1/topology", self._topology),
                web.get("/v1/weights", self._weights),
                web.put("/v1/weights", self._set_weights),
                web.get("/v1/admission", self._admission),
                web.put("/v1/zones/{zone}/limit", self._limit),
                web.put("/v1/shed", self._shed),
                web.get("/v1/zones/{zone}/scale", self._scale),
                web.put("/v1/zones/{zone}/scale", self._set_scale),
                web.post("/v1/replicas/{name}/restart", self._restart),
                web.post("/v1/replicas/{name}/recycle", self._recycle),
                web.put("/v1/replicas/{name}/rotation", self._rotation),
                web.put("/v1/nodes/{name}/schedulable", self._schedulable),
                web.post("/v1/nodes/{name}/replace", self._replace),
                web.put("/v1/fence", self._fence),
                web.get("/v1/writes", self._writes),
                web.get("/metrics", self._metrics),
            ]
        )
        return app

    async def _running(self, app: web.Application) -> AsyncIterator[None]:
        """Everything that needs the event loop, from start to end of the process."""
        self._session = aiohttp.ClientSession()
        table = ProcessTable(self._layout.state_dir)
        self._fleet = Fleet(self._layout, table, self._clock, Declared(self._log))
        self._admin = EnvoyAdmin(self._session, self._layout)
        self._writer = Writer(self._layout, self._log, self._fleet, self._admin, self._clock)
        self._collector = kube.FleetCollector(self._layout, self._fleet)
        await self._writer.recover()
        async with working(self._fleet.watch(self._writer.scaling.keep)):
            yield
        await self._fleet.close()
        await self._session.close()

    async def _topology(self, request: web.Request) -> web.Response:
        return web.json_response(text=self._fleet.topology().model_dump_json(by_alias=True))

    async def _weights(self, request: web.Request) -> web.Response:
        weights = await self._admin.weights()
        return web.json_response(weights.model_dump(by_alias=True))

    async def _set_weights(self, request: web.Request) -> web.Response:
        body = await _body(request, WeightsBody)
        weights = await self._writer.set_weights(body.weights, body.expected_version, body.by)
        return web.json_response(weights.model_dump(by_alias=True))

    async def _admission(self, request: web.Request) -> web.Response:
        return web.json_response(text=self._writer.admission.present().model_dump_json(by_alias=True))

    async def _limit(self, request: web.Request) -> web.Response:
        body = await _body(request, LimitBody)
        zone = request.match_info["zone"]
        admission = await self._writer.admission.set_limit(zone, body.value, body.expected_version, body.by)
        return web.json_response(text=admission.model_dump_json(by_alias=True))

    async def _shed(self, request: web.Request) -> web.Response:
        body = await _body(request, ShedBody)
        admission = await self._writer.admission.set_shed(body.value, body.expected_version, body.by)
        return web.json_response(text=admission.model_dump_json(by_alias=True))

    async def _scale(self, request: web.Request) -> web.Response:
        scale = self._writer.scaling.present(request.match_info["zone"])
        return web.json_response(text=scale.model_dump_json(by_alias=True))

    async def _set_scale(self, request: web.Request) -> web.Response:
        body = await _body(request, ScaleBody)
        zone = request.match_info["zone"]
        scale = await self._writer.scaling.set_scale(zone, body.value, body.expected_version, body.by)
        return web.json_response(text=scale.model_dump_json(by_alias=True))

    async def _restart(self, request: web.Request) -> web.Response:
        return await self._renew_replica(request, RESTART)

    async def _recycle(self, request: web.Request) -> web.Response:
        return await self._renew_replica(request, RECYCLE)

    async def _renew_replica(self, request: web.Request, op: str) -> web.Response:
        body = await _body(request, RestartBody)
        name = request.match_info["name"]
        uid = await self._writer.restart(name, body.expected_uid, body.reason, body.by, op=op)
        return web.json_response({"uid": uid}, status=202)

    async def _replace(self, request: web.Request) -> web.Response:
        body = await _body(request, RestartBody)
        uid = await self._writer.parts.replace(request.match_info["name"], body.expected_uid, body.by)
        return web.json_response({"uid": uid}, status=202)

    async def _rotation(self, request: web.Request) -> web.Response:
        body = await _body(request, DeclareBody)
        name = request.match_info["name"]
        version = await self._writer.parts.set_rotation(name, body.value, body.expected_version, body.by)
        return web.json_response({"version": version})

    async def _schedulable(self, request: web.Request) -> web.Response:
        body = await _body(request, DeclareBody)
        name = request.match_info["name"]
        version = await self._writer.parts.set_schedulable(name, body.value, body.expected_version, body.by)
        return web.json_response({"version": version})

    async def _fence(self, request: web.Request) -> web.Response:
        body = await _body(request, FenceBody)
        return web.json_response({"highest": await self._writer.show_fence(body.by)})

    async def _writes(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "0")
        if not after.isdecimal():
            raise InvalidInput("after is a sequence number")
        records = [record.model_dump(mode="json", by_alias=True) for record in self._log.after(int(after))]
        return web.json_response({"writes": records})

    async def _metrics(self, request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=kube.exposition(self._collector), headers=headers)


async def _body(request: web.Request, model: type[Body]) -> Body:
    try:
        return model.model_validate_json(await request.read())
    except ValidationError as error:
        raise InvalidInput(str(error)) from error


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except FleetwardError as error:
        document: dict[str, Any] = {"code": error.code, "message": str(error)}
        if isinstance(error, StaleWrite):
            document["current"] = error.current
        if isinstance(error, FencedWrite):
            document["highest"] = error.highest
        return web.json_response(document, status=error.status)

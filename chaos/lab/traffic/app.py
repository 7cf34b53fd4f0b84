"""The traffic process over HTTP: on loopback the truth, the plan, metrics, and no commands.

Surges are put and ended at a unix socket of mode 0600, as faults are at a node's.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator

from aiohttp import web
from pydantic import ValidationError

from chaos.lab.layout import Layout
from chaos.lab.service import privately, working
from chaos.lab.traffic.client import Client, UnixTime
from chaos.lab.traffic.generator import Generator, plan_of, session
from chaos.lab.traffic.metrics import Metrics
from chaos.lab.traffic.prompts import Prompts
from chaos.lab.traffic.surge import SurgeSpec
from chaos.lab.traffic.tiers import Tiers
from chaos.lab.traffic.truth import Truth
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import InvalidInput

_LONGEST_PLAN = 3600.0  # seconds; far parts of a plan are made when asked for, which takes time


class Api:
    """The routes' handlers, and the generator they tell of."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self._layout = layout
        self._time = UnixTime(clock)
        self._truth = Truth(layout.state_dir / "traffic" / "truth.jsonl")
        self._metrics = Metrics(layout.zones)

    def application(self) -> web.Application:
        app = web.Application()
        app.cleanup_ctx.append(self._running)
        app.add_routes(
            [
                web.get("/truth", self._get_truth),
                web.get("/plan", self._get_plan),
                web.get("/metrics", self._get_metrics),
            ]
        )
        return app

    async def _running(self, app: web.Application) -> AsyncIterator[None]:
        settings = self._layout.settings
        async with session() as pool:
            client = Client(pool, self._layout.url(self._layout.gateway_port), settings.model, self._time)
            self._generator = Generator(
                plan_of(self._layout),
                Prompts(settings.seed),
                client,
                self._truth,
                self._metrics,
                self._time,
                Tiers(settings.seed, settings.tiers),
            )
            routes = [
                web.get("/status", self._get_status),
                web.put("/faults/{id}", self._put_surge),
                web.delete("/faults/{id}", self._end_surge),
            ]
            async with privately(routes, self._layout.traffic_socket), working(self._generator.run()):
                yield
        self._truth.close()

    async def _get_truth(self, request: web.Request) -> web.Response:
        since = _number(request, "since", 0.0)
        generator = self._generator
        head = {
            "now": self._time(),
            "startedAt": generator.started_at,
            "rev": self._truth.rev,
            "planned": {"requests": generator.planned_requests, "tokens": generator.planned_tokens},
        }
        requests = ",".join(self._truth.since(int(since)))
        text = f'{json.dumps(head)[:-1]}, "requests": [{requests}]}}'
        return web.json_response(text=text)

    async def _get_plan(self, request: web.Request) -> web.Response:
        started_at = self._generator.started_at
        if started_at is None:
            return web.json_response({"requests": 0, "tokens": 0})
        begin = _number(request, "from", started_at) - started_at
        end = _number(request, "to", self._time()) - started_at
        if end - begin > _LONGEST_PLAN:
            raise web.HTTPBadRequest(text=f"a plan is told for {_LONGEST_PLAN:.0f} s at most")
        requests, tokens = await asyncio.to_thread(self._generator.count, begin, end)
        return web.json_response({"requests": requests, "tokens": tokens})

    async def _get_status(self, request: web.Request) -> web.Response:
        surges = [
            {"id": one.id, "kind": "surge", "sent": one.sent, "factor": one.spec.factor}
            for one in self._generator.surges()
        ]
        return web.json_response({"faults": surges})

    async def _put_surge(self, request: web.Request) -> web.Response:
        try:
            spec = SurgeSpec.model_validate_json(await request.read())
            self._generator.put_surge(request.match_info["id"], spec)
        except (ValidationError, InvalidInput) as error:
            raise web.HTTPUnprocessableEntity(text=str(error)) from error
        return web.json_response({"id": request.match_info["id"]})

    async def _end_surge(self, request: web.Request) -> web.Response:
        self._generator.end_surge(request.match_info["id"])
        return web.Response(status=204)

    async def _get_metrics(self, request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=self._metrics.exposition(), headers=headers)


def _number(request: web.Request, name: str, default: float) -> float:
    try:
        number = float(request.query.get(name, default))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise web.HTTPBadRequest(text=f"{name} is a number")
    return number

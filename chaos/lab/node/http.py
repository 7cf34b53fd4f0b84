"""One incarnation's HTTP face: the routes of vLLM's API server, and which of them are counted.

A client that goes away cancels its handler, and the handler frees the slot. Health answers
200 as long as the server runs: it does not look at the engine, as vLLM's does not notice an
engine that hangs. That an engine is dead is noticed: 503 from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http import HttpVersion11
from prometheus_client import CollectorRegistry

from chaos.lab.engine.request import Request
from chaos.lab.node import openai_api
from chaos.lab.node.driver import Driver
from chaos.lab.node.exposition import Exposition
from chaos.lab.node.http_metrics import HttpMetrics
from chaos.lab.node.sse import Stream, Whole
from controlplane.kernel.clock import Clock
from controlplane.kernel.ids import new_id

_VERSION = "0.20.0"
_UNCOUNTED = frozenset({"/metrics", "/health", "/load", "/ping", "/version", "/server_info"})
TEXT_FORMAT = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
_JSON = "application/json"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ReplicaServer:
    """The routes of one incarnation. ``identity`` are headers that every response carries."""

    def __init__(
        self,
        driver: Driver,
        registry: CollectorRegistry,
        model: str,
        identity: dict[str, str],
        clock: Clock,
    ) -> None:
        self._driver = driver
        self._exposition = Exposition(registry)
        self._http = HttpMetrics(registry)
        self._model = model
        self._identity = identity
        self._clock = clock
        self._created = self._unix_time()
        self._load = 0
        self.engine_dead = False

    def application(self) -> web.Application:
        """Return the application to serve."""
        application = web.Application(middlewares=[self._count], client_max_size=4 * 2**20)
        application.on_response_prepare.append(self._identify)
        application.add_routes(
            [
                web.get("/health", self._health),
                web.get("/ping", self._health),
                web.get("/metrics", self._metrics),
                web.get("/load", self._server_load),
                web.get("/version", self._version),
                web.get("/v1/models", self._models),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._complete),
            ]
        )
        return application

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, chat=True)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, chat=False)

    async def _generate(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        if self.engine_dead:
            return web.json_response(openai_api.ENGINE_DEAD.body, status=openai_api.ENGINE_DEAD.status)
        arrived_at = self._driver.now
        longest = self._driver.engine.settings.max_model_len
        try:
            call = openai_api.parse(await request.read(), chat=chat, model=self._model, max_model_len=longest)
        except openai_api.ApiError as error:
            return web.json_response(error.body, status=error.status)
        identifier = new_id("chatcmpl" if chat else "cmpl", self._clock)
        work = Request(identifier, call.prompt, call.tokens, call.ending, arrived_at, call.max_tokens)
        self._load += 1
        try:
            if call.stream:
                return await self._stream(request, call, work)
            whole = Whole()
            await self._run(work, whole)
            body = openai_api.response(call, identifier, self._unix_time(), self._model)
            return web.Response(body=body, content_type=_JSON)
        finally:
            self._load -= 1

    async def _stream(self, request: web.Request, call: openai_api.Call, work: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        transport = request.transport
        if transport is None:
            return response
        chunked = request.version >= HttpVersion11
        stream = Stream(call, work.id, self._unix_time(), self._model, transport, chunked=chunked)
        await self._run(work, stream)
        await response.write_eof()
        return response

    async def _run(self, work: Request, listener: Stream | Whole) -> None:
        self._driver.submit(work, listener)
        try:
            await listener.done
        finally:
            self._driver.abort(work)

    def _unix_time(self) -> int:
        return int(self._clock.now().timestamp())

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(status=503 if self.engine_dead else 200)

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self._exposition.text(), headers=TEXT_FORMAT)

    async def _server_load(self, request: web.Request) -> web.Response:
        return web.json_response({"server_load": self._load})

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": _VERSION})

    async def _models(self, request: web.Request) -> web.Response:
        longest = self._driver.engine.settings.max_model_len
        return web.json_response(openai_api.models(self._model, self._created, longest))

    async def _identify(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(self._identity)

    @web.middleware
    async def _count(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if request.path in _UNCOUNTED:
            return await handler(request)
        route = request.match_info.route.resource
        path = route.canonical if route is not None else "none"
        started, status, sent = self._driver.now, 200, 0
        try:
            response = await handler(request)
            status, sent = response.status, int(response.headers.get("Content-Length", 0))
            return response
        except web.HTTPException as refusal:
            status = refusal.status
            return _refused(refusal)
        except Exception:
            status = 500
            raise
        finally:
            seconds, received = self._driver.now - started, request.content_length or 0
            self._http.observe(path, request.method, status, seconds, received=received, sent=sent)


def _refused(refusal: web.HTTPException) -> web.Response:
    """Say a routing error as FastAPI does."""
    return web.json_response({"detail": refusal.reason}, status=refusal.status)

"""The application: routes under ``/api/v1``, probes beside them, the console on the rest.

Everything is injected; creating the app reads and starts nothing. `serve` runs it and ends
open streams before it waits for them.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from controlplane.api import console, problems
from controlplane.api.gate import Gate
from controlplane.api.metrics import Measured
from controlplane.api.routes import (
    advice,
    alerts,
    decisions,
    drills,
    engines,
    events,
    halts,
    health,
    incidents,
    objectives,
    overview,
    playbooks,
    run_operations,
    runs,
    schemas,
    session,
)
from controlplane.api.services import Services
from controlplane.api.state_metrics import StateCollector
from controlplane.api.stream import EventSource, Hub
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.model.overview import OVERVIEW

PREFIX = "/api/v1"
ROUTERS = (
    overview.router,
    incidents.router,
    runs.router,
    run_operations.router,
    drills.router,
    decisions.router,
    engines.router,
    objectives.router,
    advice.router,
    halts.router,
    alerts.router,
    playbooks.router,
    session.router,
    events.router,
)


def create_app(services: Services) -> FastAPI:
    """Return the ASGI application."""
    hub = Hub(EventSource(services.database), (OVERVIEW,), services.settings.stream)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        hub.close()

    app = FastAPI(
        title="Fleetward",
        version=services.settings.version,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    registry = CollectorRegistry()
    registry.register(StateCollector(services, hub))
    app.state.services, app.state.hub, app.state.registry = services, hub, registry
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX, responses=problems.responses(InvalidInput))
    app.include_router(health.router, prefix=PREFIX)
    app.include_router(health.router, include_in_schema=False)  # where probes look by habit
    app.include_router(schemas.router, include_in_schema=False)  # for editors, by a short address
    console.mount(app, services.settings.console)
    app.add_middleware(Gate, hosts=services.settings.hosts)
    app.add_middleware(Measured, registry=registry)
    return app


class _Server(uvicorn.Server):
    """Ends the live streams at the first signal, so that a stop does not wait ten minutes for them."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._hub.close()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """Return an open socket at the address; one that cannot be had is said in words, before anything else."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        msg = f"the API cannot listen at {host}, port {port}: {(error.strerror or str(error)).lower()}"
        raise Unavailable(msg, hint="end what listens there, or choose another --host or --port") from error


def serve(app: FastAPI, host: str, port: int, listener: socket.socket | None = None) -> None:
    """Run ``app`` until SIGINT or SIGTERM; ``listener`` is an open socket to use instead of the address."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    _Server(config, app.state.hub).run(sockets=[listener] if listener is not None else None)

"""What the API answered, and how fast.

Requests are labelled by the route's pattern, never by the path, so that ids make no series. What
Fleetward knows of itself and of the fleet is `controlplane.api.state_metrics`.
"""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Measured:
    """Counts answers and measures the time to their first byte. Pure ASGI, so streams pass through."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        labels = ("method", "route", "status")
        self._requests = Counter("fleetward_api_requests", "Answers by route", labels, registry=registry)
        self._seconds = Histogram(
            "fleetward_api_seconds", "Time to the first byte", ("method", "route"), registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                method, route = scope["method"], getattr(scope.get("route"), "path", "unmatched")
                self._requests.labels(method, route, message["status"]).inc()
                self._seconds.labels(method, route).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)

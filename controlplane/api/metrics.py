"""The API's own metrics: what it answered, who listens, and how old its picture is.

State of the fleet is counted at the scrape, from the same queries as the pages. Requests
are labelled by the route's pattern, never by the path, so that ids make no series.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api.services import Services
from controlplane.api.stream import Hub
from controlplane.kernel.errors import FleetwardError
from controlplane.model.overview import OVERVIEW
from controlplane.store.runs import RunQuery


class StateCollector(Collector):
    """Reads the database at each scrape; ``fleetward_database_up`` says whether that worked."""

    def __init__(self, services: Services, hub: Hub) -> None:
        self._services = services
        self._hub = hub

    def describe(self) -> Iterator[Metric]:
        """Name nothing beforehand, so that registering does not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield _gauge("fleetward_event_streams", "Open live streams", self._hub.open_streams)
        try:
            gauges = list(self._state())
        except FleetwardError:
            gauges = []
        yield _gauge(
            "fleetward_database_up", "Whether the database answered this scrape", float(bool(gauges))
        )
        yield from gauges

    def _state(self) -> Iterator[Metric]:
        with self._services.database.reading() as tx:
            values = {
                "incidents_open": ("Incidents that are not resolved", tx.incidents.count(open=True)),
                "runs_active": ("Runs that have not ended", tx.runs.count(RunQuery(active=True))),
                "halts_active": ("Halts in force", len(tx.halts.in_force())),
                "faults_open": ("Faults not yet seen clear", len(tx.faults.list(open=True))),
                "out_of_service": ("Claims of targets out of service", len(tx.ledger.list())),
            }
            ticked, now = tx.snapshots.at(OVERVIEW), tx.now
        for name, (text, value) in values.items():
            yield _gauge(f"fleetward_{name}", text, value)
        if ticked is not None:
            age = (now - ticked).total_seconds()
            yield _gauge("fleetward_tick_age_seconds", "Time since the controller last looked", age)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


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

"""The truth as Prometheus series, for dashboards: what users got, by zone.

Nothing that judges a drill reads these; it reads the requests themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from chaos.lab.traffic.truth import Request

UNKNOWN_ZONE = "unknown"
"""Zone of requests that no zone was picked for: the gateway itself was not reached."""

_TTFT = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0)
_TPOT = (0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0)
_LATENESS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class Metrics:
    """Counters and histograms of one traffic process."""

    def __init__(self, zones: Sequence[str]) -> None:
        self._registry = CollectorRegistry()
        self.planned_requests = self._counter("planned_requests", "Requests that were due.", [])
        self.planned_tokens = self._counter("planned_tokens", "Output tokens that were due.", [])
        self._requests = self._counter("requests", "Requests that ended.", ["zone", "outcome"])
        self._tokens = self._counter("tokens", "Output tokens received.", ["zone", "outcome"])
        self._effective_requests = self._counter(
            "effective_requests", "Requests answered without error, rightly and in time.", ["zone"]
        )
        self._effective_tokens = self._counter("effective_tokens", "Their output tokens.", ["zone"])
        self._incorrect = self._counter("incorrect_requests", "Complete answers that were wrong.", ["zone"])
        self._ttft = self._histogram("ttft_seconds", "Time to the first token.", _TTFT, ["zone"])
        self._tpot = self._histogram("tpot_seconds", "Mean time per further token.", _TPOT, ["zone"])
        self.lateness = self._histogram(
            "lateness_seconds", "How late requests were sent after they were due.", _LATENESS, []
        )
        self.open = Gauge("fleetward_traffic_open_requests", "Requests under way.", registry=self._registry)
        self._create_children(zones)

    def observe(self, request: Request) -> None:
        """Count a request that ended."""
        zone = request.zone or UNKNOWN_ZONE
        self._requests.labels(zone, request.outcome).inc()
        self._tokens.labels(zone, request.outcome).inc(request.tokens)
        if request.effective:
            self._effective_requests.labels(zone).inc()
            self._effective_tokens.labels(zone).inc(request.tokens)
        if request.outcome == "ok" and not request.correct:
            self._incorrect.labels(zone).inc()
        if request.ttft is not None:
            self._ttft.labels(zone).observe(request.ttft)
        if request.tpot is not None:
            self._tpot.labels(zone).observe(request.tpot)

    def exposition(self) -> bytes:
        """The Prometheus text."""
        return generate_latest(self._registry)

    def _create_children(self, zones: Sequence[str]) -> None:
        """A series that is there at 0 lets `rate` see its first increment."""
        for zone in zones:
            for outcome in ("ok", "error", "timeout"):
                self._requests.labels(zone, outcome)
                self._tokens.labels(zone, outcome)
            for family in (self._effective_requests, self._effective_tokens, self._incorrect):
                family.labels(zone)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(f"fleetward_traffic_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], labels: list[str]) -> Histogram:
        return Histogram(f"fleetward_traffic_{name}", text, labels, buckets=buckets, registry=self._registry)

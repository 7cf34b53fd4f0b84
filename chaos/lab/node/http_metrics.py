"""The ``http_*`` families of the FastAPI instrumentator that vLLM mounts.

Statuses are grouped (2xx, 4xx, 5xx) and children appear with their first use, so a series
that was never needed is absent and not 0. The status of a stream is that of its headers.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

_SIZE = (
    "Content length of {} by handler. Only value of header is respected. "
    "Otherwise ignored. No percentile calculated. "
)


class HttpMetrics:
    """The five ``http_*`` families of one incarnation."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "http_requests",
            "Total number of requests by method, status and handler.",
            ("method", "status", "handler"),
            registry=registry,
        )
        self._request_size = Summary(
            "http_request_size_bytes", _SIZE.format("incoming requests"), ("handler",), registry=registry
        )
        self._response_size = Summary(
            "http_response_size_bytes",
            _SIZE.format("outgoing responses"),
            ("handler",),
            registry=registry,
        )
        self._fine = Histogram(
            "http_request_duration_highr_seconds",
            "Latency with many buckets but no API specific labels. "
            "Made for more accurate percentile calculations. ",
            buckets=(
                0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5,
                2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60,
            ),
            registry=registry,
        )  # fmt: skip
        self._coarse = Histogram(
            "http_request_duration_seconds",
            "Latency with only few buckets by handler. "
            "Made to be only used if aggregation by handler is important. ",
            ("method", "handler"),
            buckets=(0.1, 0.5, 1),
            registry=registry,
        )

    def observe(
        self, handler: str, method: str, status: int, seconds: float, *, received: int, sent: int
    ) -> None:
        """Account for one answered request; sizes are the Content-Length headers, 0 where there is none."""
        self._requests.labels(method, f"{status // 100}xx", handler).inc()
        self._request_size.labels(handler).observe(received)
        self._response_size.labels(handler).observe(sent)
        self._fine.observe(seconds)
        self._coarse.labels(method, handler).observe(seconds)

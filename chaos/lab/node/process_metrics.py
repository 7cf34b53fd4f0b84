"""``python_*`` and ``process_*`` of an incarnation: the library's collectors, counted from its own start.

Two replicas share one node process, yet each must look like a process that began when it
did: its start time and CPU seconds count from the incarnation. Memory and descriptors are
the node's.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, GCCollector, Metric, PlatformCollector, ProcessCollector
from prometheus_client.registry import Collector

_START = "process_start_time_seconds"
_CPU = "process_cpu_seconds"


class IncarnationCollector(Collector):
    """The process collector, with start time (unix seconds) and CPU of an incarnation."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._process = ProcessCollector(registry=None)
        self._cpu_before = {
            family.name: family.samples[0].value for family in self._process.collect() if family.name == _CPU
        }

    def collect(self) -> Iterable[Metric]:
        for family in self._process.collect():
            if family.name == _START:
                family.samples[0] = family.samples[0]._replace(value=self._started_at)
            elif family.name == _CPU:
                sample = family.samples[0]
                family.samples[0] = sample._replace(value=sample.value - self._cpu_before[_CPU])
            yield family


def register_process(registry: CollectorRegistry, started_at: float) -> None:
    """Register what a Python process says of itself, in the order the library's default registry has."""
    GCCollector(registry)
    PlatformCollector(registry)
    registry.register(IncarnationCollector(started_at))

"""What Prometheus has kept: long spans read in columns, raw samples, and the values of a label.

For what looks back over days, where one odd answer must not spoil hours of work: calls may take a
minute, and one that gets no answer is tried again. The loop asks `controlplane.observe.source`.
It decides nothing about what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from controlplane.kernel.clock import Clock, from_unix
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.observe.series import Track
from controlplane.observe.source import PrometheusSource, tracks_of
from controlplane.observe.windows import Floats

PATIENCE = 60.0
"""Seconds for one answer: a chunk of hours is many samples for the server to read."""
PAUSES = (1.0, 3.0)
"""Seconds before the second and the third try."""


@dataclass(frozen=True, slots=True)
class Column:
    """One series over a span, a value for each step; NaN where there is none, or where it is NaN."""

    labels: Mapping[str, str]
    values: Floats


class Archive(Protocol):
    """What is asked of recorded metrics; a Prometheus, or a script in tests. Times are unix seconds."""

    def columns(
        self, queries: Mapping[str, str], start: float, steps: int, step: float
    ) -> dict[str, list[Column] | FleetwardError]:
        """Answer ``queries`` (name to PromQL) at ``start`` and each ``step`` seconds after, so many times."""
        ...

    def samples(self, selector: str, at: float) -> list[Track]:
        """Return the samples of a range selector (``up[10m]``) as they were stored."""
        ...

    def labels(self, label: str, selector: str, start: float, end: float) -> Sequence[str]:
        """Return the values of a label among the series of a selector that have samples in the span."""
        ...


class PrometheusArchive(PrometheusSource):
    """`Archive` over HTTP."""

    def __init__(self, url: str, clock: Clock, *, threads: int = 4) -> None:
        super().__init__(url, clock=clock, threads=threads, patience=PATIENCE)

    def columns(
        self, queries: Mapping[str, str], start: float, steps: int, step: float
    ) -> dict[str, list[Column] | FleetwardError]:
        return self._all(
            {name: partial(self._columns, text, start, steps, step) for name, text in queries.items()}
        )

    def samples(self, selector: str, at: float) -> list[Track]:
        answer = self._ask(
            lambda prometheus: prometheus.custom_query(selector, params={"time": f"{at:.3f}"}), selector
        )
        return tracks_of(answer)

    def labels(self, label: str, selector: str, start: float, end: float) -> Sequence[str]:
        span = {"match[]": selector, "start": f"{start:.0f}", "end": f"{end:.0f}"}
        answer = self._ask(lambda prometheus: prometheus.get_label_values(label, params=span), selector)
        return [str(value) for value in answer]

    def _columns(self, query: str, start: float, steps: int, step: float) -> list[Column]:
        end = start + (steps - 1) * step
        answer = self._ask(
            lambda prometheus: prometheus.custom_query_range(
                query, from_unix(start), from_unix(end), f"{step:g}", timeout=PATIENCE
            ),
            query,
        )
        try:
            return [Column(row["metric"], _values(row["values"], start, steps, step)) for row in answer]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            msg = f"the metrics source answers what is no range: {error!r}"
            raise Unavailable(msg) from error

    def _ask(self, call: Callable[[Any], Any], query: str) -> Any:
        for pause in PAUSES:
            try:
                return super()._ask(call, query)
            except Unavailable:
                self._clock.sleep(pause)
        return super()._ask(call, query)


def _values(points: Sequence[Sequence[Any]], start: float, steps: int, step: float) -> Floats:
    found = np.array([float(value) for _, value in points])
    if len(points) == steps:
        return found
    values = np.full(steps, np.nan)
    values[np.rint((np.array([at for at, _ in points], dtype=float) - start) / step).astype(int)] = found
    return values

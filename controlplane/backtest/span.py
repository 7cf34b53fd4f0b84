"""The span that is looked at, and how often its metrics were scraped: found, not asked for.

The tick of the loop is the scrape interval, so that each look finds one new sample, as it does live.
A span without a sample of the service is refused with what was looked for.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from controlplane.kernel.clock import from_unix, to_rfc3339
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.observe.archive import Archive

LEAST_TICK = 2.0
"""Seconds: that of a live loop."""
PROBES = 5
"""Places in the span where the scrape interval is looked for."""
REACHES = ("10m", "2h")
"""How far back is looked at each place; the longer one only when the shorter held too little."""
_LEAST_GAPS = 3


@dataclass(frozen=True, slots=True)
class Span:
    """From and until when, unix seconds."""

    start: float
    end: float

    @classmethod
    def of(cls, since: datetime, until: datetime, now: datetime) -> Span:
        """Return the span, up to now at most; raise `InvalidInput` for one that is none."""
        end = min(until, now)
        if since >= end:
            msg = f"from {to_rfc3339(since)} to {to_rfc3339(end)} is no span of the past"
            raise InvalidInput(msg, hint="`--from` comes before `--to`, and before now")
        return cls(since.timestamp(), end.timestamp())

    def __str__(self) -> str:
        return f"{to_rfc3339(from_unix(self.start))} to {to_rfc3339(from_unix(self.end))}"


def scrape_interval(archive: Archive, selector: str, span: Span) -> float:
    """Return the usual time between two samples of ``selector``, in seconds; `NotFound` without samples."""
    for reach in REACHES:
        gaps: list[float] = []
        for probe in range(1, PROBES + 1):
            at = span.start + (span.end - span.start) * probe / PROBES
            for track in archive.samples(f"{selector}[{reach}]", at):
                times = [moment for moment, _ in track.points]
                gaps += [later - before for before, later in pairwise(times)]
        if len(gaps) >= _LEAST_GAPS:
            return round(statistics.median(gaps), 1)
    msg = f"Prometheus holds no samples of {selector} from {span}"
    hint = "is it the Prometheus that scrapes the engines, are its labels those of the Service's "
    raise NotFound(msg, hint=hint + "`metricLabels`, and does it keep its samples for that long?")


def tick_of(interval: float) -> float:
    """Return the loop's tick for metrics that are scraped so often: whole seconds, as ranges have them."""
    return max(LEAST_TICK, float(math.ceil(interval - 0.05)))

"""Series as a metrics source answers them, and what the observer asks of one.

Values and a protocol only: who speaks to a real server is `controlplane.observe.source`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.kernel.errors import FleetwardError


@dataclass(frozen=True, slots=True)
class Row:
    """One series of an instant answer."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Track:
    """One series of a range answer: (unix seconds, value), oldest first."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class Source(Protocol):
    """What the observer asks; a Prometheus, or a script in tests."""

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        """Answer all ``queries`` (name to PromQL) as of ``at``; a failed one is its error, never raised."""
        ...

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        """The same over a range, a point each ``step`` seconds."""
        ...

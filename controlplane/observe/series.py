"""Series as a metrics source answers them, and what the observer asks of one.

Values and a protocol only: who speaks to a real server is `controlplane.observe.source`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from controlplane.kernel.errors import FleetwardError

Labels = list[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One series of an instant answer."""

    labels: Mapping[str, str]
    value: float


class Rows(Sequence[Row]):
    """An instant answer in columns. Answers that share ``labels`` have the same series in the same order."""

    __slots__ = ("labels", "values")

    def __init__(self, labels: Labels, values: NDArray[np.float64]) -> None:
        self.labels, self.values = labels, values

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """Return rows as columns."""
        if isinstance(rows, cls):
            return rows
        values = np.fromiter((row.value for row in rows), np.float64, len(rows))
        return cls([row.labels for row in rows], values)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Row]:
        return map(Row, self.labels, self.values.tolist())

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Rows: ...

    def __getitem__(self, index: int | slice) -> Row | Rows:
        if isinstance(index, slice):
            return Rows(self.labels[index], self.values[index])
        return Row(self.labels[index], float(self.values[index]))


@dataclass(frozen=True, slots=True)
class Track:
    """One series of a range answer: (unix seconds, value), oldest first."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class Source(Protocol):
    """What the observer asks; a Prometheus, or a script in tests."""

    def poll(self, queries: Mapping[str, str], at: datetime) -> Mapping[str, Sequence[Row] | FleetwardError]:
        """Answer all ``queries`` (name to PromQL) as of ``at``; a failed one is its error, never raised."""
        ...

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        """The same over a range, a point each ``step`` seconds."""
        ...

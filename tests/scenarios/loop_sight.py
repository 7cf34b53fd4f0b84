"""What the loop of a scenario looks through, in place of Prometheus, the network and the canaries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.probes import ProbeBook
from controlplane.observe.series import Row, Track
from controlplane.platforms.memory import MemoryPlatform

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]
LOOKBACK = 300.0
"""Seconds for which a sample is a series' value."""


@dataclass
class Metricsource:
    """A metrics source whose series the world writes; ``broken`` makes every query fail."""

    series: Series = field(default_factory=dict)
    broken: bool = False
    queries: list[str] = field(default_factory=list)
    kept: list[tuple[float, Series]] | None = None
    """What was shown at each poll, for ranges; None keeps nothing."""

    def put(self, name: str, value: float, **labels: str) -> None:
        self.series[name, tuple(sorted(labels.items()))] = value

    def drop(self, **labels: str) -> None:
        """Let the series with these labels vanish, as a failed scrape does."""
        wanted = set(labels.items())
        self.series = {key: value for key, value in self.series.items() if not wanted <= set(key[1])}

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        self.queries = list(queries.values())
        if self.broken:
            return {name: Unavailable("no metrics source") for name in queries}
        if self.kept is not None:
            self.kept.append((at.timestamp(), dict(self.series)))
        return {name: self._answer(text, self.series) for name, text in queries.items()}

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        if self.broken:
            return {name: Unavailable("no metrics source") for name in queries}
        return {name: list(self._tracks(text, start, end, step)) for name, text in queries.items()}

    def _tracks(self, query: str, start: datetime, end: datetime, step: float) -> Iterator[Track]:
        kept = self.kept or []
        times = [at for at, _ in kept]
        points: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        for number in range(int((end - start).total_seconds() // step) + 1):
            moment = start.timestamp() + number * step
            last = bisect_right(times, moment) - 1
            if last >= 0 and moment - times[last] <= LOOKBACK:
                for row in self._answer(query, kept[last][1]):
                    points.setdefault(tuple(row.labels.items()), []).append((moment, row.value))
        for labels, found in points.items():
            yield Track(dict(labels), tuple(found))

    def _answer(self, query: str, series: Series) -> list[Row]:
        if "timestamp(up" in query:
            return self._rows(re.compile("scraped_at"), series)
        if "(up{" in query:
            return self._rows(re.compile("up"), series)
        match = re.search(r'__name__=~"([^"]+)"', query)
        assert match is not None
        return self._rows(re.compile(match.group(1)), series)

    def _rows(self, name: re.Pattern[str], series: Series) -> list[Row]:
        return [
            Row({"__name__": key, **dict(labels)}, value)
            for (key, labels), value in series.items()
            if name.fullmatch(key)
        ]


@dataclass
class SeenPlatform:
    """The platform as the controller reaches it; ``broken`` cuts it off."""

    platform: MemoryPlatform
    broken: bool = False

    def __getattr__(self, name: str) -> Any:
        if self.broken:
            msg = "the platform does not answer"
            raise Unavailable(msg)
        return getattr(self.platform, name)


class ScriptedProber:
    """Canaries that the world answers."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self.book = ProbeBook(service.spec)
        self.running = False

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False

    def aim(self, replicas: Mapping[Target, str]) -> None:
        del replicas

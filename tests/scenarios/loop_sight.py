"""What the loop of a scenario looks through, in place of Prometheus, the network and the canaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


@dataclass
class Metricsource:
    """A metrics source whose series the world writes; ``broken`` makes every query fail."""

    series: dict[tuple[str, tuple[tuple[str, str], ...]], float] = field(default_factory=dict)
    broken: bool = False
    queries: list[str] = field(default_factory=list)

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
        return {name: self._answer(text) for name, text in queries.items()}

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        return {name: [] for name in queries}

    def _answer(self, query: str) -> list[Row]:
        if "timestamp(up" in query:
            return self._rows(re.compile("scraped_at"))
        if "(up{" in query:
            return self._rows(re.compile("up"))
        match = re.search(r'__name__=~"([^"]+)"', query)
        assert match is not None
        return self._rows(re.compile(match.group(1)))

    def _rows(self, name: re.Pattern[str]) -> list[Row]:
        return [
            Row({"__name__": key, **dict(labels)}, value)
            for (key, labels), value in self.series.items()
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

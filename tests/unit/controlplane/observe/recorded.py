"""A fleet as a Prometheus recorded it: engines start again, fall silent and come back, scrapes fail.

It answers what the observer asks by the rules of PromQL: what was scraped last counts for five minutes,
unless the scrape failed; what Prometheus itself missed is nowhere.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.target import Target
from controlplane.observe.doubts import SIGHT
from controlplane.observe.profile import HEARTBEAT, SCRAPED_AT
from controlplane.observe.series import Row, Track

FINISHED = "vllm:request_success_total"
LOOKBACK = 300.0
LONG_AGO = -1e6
Span = tuple[float, float]


def worked(moment: float) -> float:
    """Return what an engine has done since long ago, in waves: half a cell is not half of what it holds."""
    return 10.0 * moment - 800.0 * math.cos(moment / 100.0)


@dataclass(frozen=True, slots=True)
class Engine:
    """When it started, when its scrapes failed, and how long after a start one request of ten fails."""

    starts: tuple[float, ...] = ()
    away: tuple[Span, ...] = ()
    fails_after: float = math.inf

    def scraped(self, moment: float) -> dict[str, float] | None:
        """Return what it shows, None where the scrape fails."""
        if any(begin <= moment < end for begin, end in self.away):
            return None
        start = max((each for each in self.starts if each <= moment), default=LONG_AGO)
        done = worked(moment) - worked(start)
        failing = start + self.fails_after
        if moment <= failing:
            return {"stop": done}
        failed = (worked(moment) - worked(failing)) / 10
        return {"stop": done - failed, "abort": failed}


class Recorded:
    """A `Source`. Moments are seconds after ``origin``; ``dark`` is when Prometheus was down."""

    def __init__(
        self,
        engines: Mapping[Target, Engine],
        origin: float,
        span: Span,
        tick: float,
        dark: tuple[Span, ...] = (),
    ) -> None:
        self.origin, self.engines, self.dark = origin, engines, dark
        every = [span[0] + tick * number for number in range(int((span[1] - span[0]) / tick) + 1)]
        self.scrapes = [at for at in every if not self._down(at)]
        self.shown = [
            {target: engine.scraped(at) for target, engine in engines.items()} for at in self.scrapes
        ]
        self.points = 0
        """How many were handed out."""

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        moment = at.timestamp() - self.origin
        if self._down(moment):
            return dict.fromkeys(queries, Unavailable("no answer"))
        return {
            name: [Row(labels, value) for labels, value in self._vector(name, text, moment)]
            for name, text in queries.items()
        }

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        count = int((end - start).total_seconds() / step + 1e-6) + 1
        moments = [start.timestamp() - self.origin + step * number for number in range(count)]
        found: dict[str, list[Track] | FleetwardError] = {}
        for name, text in queries.items():
            series: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
            for moment in moments:
                for labels, value in self._vector(name, text, moment):
                    series.setdefault(tuple(labels.items()), []).append((moment + self.origin, value))
            found[name] = [Track(dict(labels), tuple(points)) for labels, points in series.items()]
            self.points += sum(map(len, series.values()))
        return found

    def write(self, folder: Path, span: Span) -> Path:
        """Write what was scraped as OpenMetrics, in which nothing says that a scrape failed."""
        file = folder / f"{span[0]:.0f}.om"
        lines: dict[str, list[str]] = {}
        for at, shown in zip(self.scrapes, self.shown, strict=True):
            for target, found in shown.items() if span[0] <= at < span[1] else ():
                given = {**_labels(target), "service": "chat"}
                labels = ",".join(f'{name}="{value}"' for name, value in given.items())
                samples = {f"up{{{labels}}}": float(found is not None)}
                for how, value in (found or {}).items():
                    samples[f'{FINISHED}{{{labels},finished_reason="{how}"}}'] = value
                for series, value in samples.items():
                    lines.setdefault(series, []).append(f"{series} {value:.12g} {at + self.origin:.1f}\n")
        every = [line for series in sorted(lines) for line in lines[series]]
        file.write_text("".join([*every, "# EOF\n"]), encoding="utf-8")
        return file

    def _vector(self, name: str, text: str, moment: float) -> list[tuple[dict[str, str], float]]:
        number = bisect_right(self.scrapes, moment) - 1
        if name.endswith("/doubt"):
            return self._doubted(number, moment, text) if FINISHED in text else []
        if number < 0 or moment - self.scrapes[number] >= LOOKBACK:
            return []
        last, shown = self.scrapes[number] + self.origin, self.shown[number]
        if name == SIGHT:
            return [({}, last)]
        if name in {HEARTBEAT, SCRAPED_AT}:
            return [
                (_labels(target), last if name == SCRAPED_AT else float(found is not None))
                for target, found in shown.items()
            ]
        if FINISHED not in text:
            return []
        only = re.search(r'replica=~"([^"]*)"', text)
        return [
            ({**_labels(target), "__name__": FINISHED, "finished_reason": how}, value)
            for target, found in shown.items()
            if only is None or re.fullmatch(only[1].replace("\\\\", "\\"), str(target.replica))
            for how, value in (found or {}).items()
        ]

    def _doubted(self, last: int, moment: float, text: str) -> list[tuple[dict[str, str], float]]:
        """Return whose counters fell, or were there and are not now, in the seconds that the query names."""
        seconds = re.search(r"\[(\d+)s\]", text)
        assert seconds is not None
        first = bisect_right(self.scrapes, moment - float(seconds[1]))
        gone = last < 0 or moment - self.scrapes[last] >= LOOKBACK
        found = []
        for target in self.engines:
            seen: dict[str, float] = {}
            count = 0
            for number in range(first, last + 1):
                for how, value in (self.shown[number][target] or {}).items():
                    count += value < seen.get(how, 0.0)
                    seen[how] = value
            count += len(seen.keys() - (() if gone else (self.shown[last][target] or {}).keys()))
            if count:
                found.append((_labels(target), float(count)))
        return found

    def _down(self, moment: float) -> bool:
        return any(begin <= moment < end for begin, end in self.dark)


def _labels(target: Target) -> dict[str, str]:
    return {"zone": str(target.zone), "node": str(target.node), "replica": str(target.replica)}

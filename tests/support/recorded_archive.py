"""A recorded fleet as Prometheus would answer, for tests without one: the loop's own queries, and no more.

A sample counts for five minutes, as there. What a test breaks: queries that fail, and how often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from controlplane.kernel.errors import FleetwardError
from controlplane.observe.archive import Column
from controlplane.observe.series import Track
from tests.support.recorded_fleet import Floats, Labels, RecordedFleet, Series

LOOKBACK = 300.0
_QUERY = re.compile(
    r"(max\()?(?P<how>sum|min|max) by \((?P<by>[^)]*)\) \((?P<of>timestamp\()?(?P<selector>[^{]*\{.*\})\)+"
)
_SELECTOR = re.compile(r"(?P<name>[^{]*)\{(?P<matchers>.*)\}(\[(?P<range>\d+)(?P<unit>[mh])\])?")
_MATCHER = re.compile(r'(\w+)(=~|!=|=)"((?:[^"\\]|\\.)*)"')
_FOLDS: dict[str, Callable[..., Floats]] = {"sum": np.nansum, "min": np.nanmin, "max": np.nanmax}


@dataclass
class Shelf:
    """Implements `Archive`. ``failures``: what the next answers are; ``asked``: the steps of each range."""

    fleet: RecordedFleet
    failures: list[FleetwardError] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    def columns(
        self, queries: Mapping[str, str], start: float, steps: int, step: float
    ) -> dict[str, list[Column] | FleetwardError]:
        self.asked.append(steps)
        self.texts |= set(queries.values())
        if self.failures:
            return dict.fromkeys(queries, self.failures.pop(0))
        moments = np.array([start + step * place for place in range(steps)])
        return {name: self._answer(text, moments) for name, text in queries.items()}

    def samples(self, selector: str, at: float) -> list[Track]:
        parts = _SELECTOR.fullmatch(selector)
        assert parts is not None, selector
        reach = int(parts["range"]) * {"m": 60, "h": 3600}[parts["unit"]]
        found = []
        for one in self._select(selector):
            inside = (self.fleet.times > at - reach) & (self.fleet.times <= at) & ~np.isnan(one.values)
            points = zip(self.fleet.times[inside].tolist(), one.values[inside].tolist(), strict=True)
            found += [Track(one.labels, tuple(points))] if inside.any() else []
        return found

    def labels(self, label: str, selector: str, start: float, end: float) -> Sequence[str]:
        return sorted({one.labels[label] for one in self._select(selector) if label in one.labels})

    def _answer(self, text: str, moments: Floats) -> list[Column]:
        if text.startswith("count by "):
            return []  # who began again within a cell, which its ends show here as well
        parts = _QUERY.fullmatch(text)
        if parts is None:
            return self._plain(text, moments)
        by = [label.strip() for label in parts["by"].split(",") if not parts[1]]
        groups: dict[tuple[tuple[str, str], ...], list[Floats]] = {}
        for one in self._select(parts["selector"]):
            names: Labels = {**one.labels, "__name__": one.name}
            key = tuple((label, names[label]) for label in by if label in names)
            groups.setdefault(key, []).append(self._at(one, moments, stamps=bool(parts["of"])))
        found = []
        for key, values in groups.items():
            stacked = np.array(values)
            some = ~np.isnan(stacked).all(axis=0)
            whole = np.full(moments.size, np.nan)
            if some.any():
                whole[some] = _FOLDS[parts["how"]](stacked[:, some], axis=0)
                found.append(Column(dict(key), whole))
        return found

    def _plain(self, selector: str, moments: Floats) -> list[Column]:
        """Answer a selector without anything around it: every series for itself."""
        found = []
        for one in self._select(selector):
            values = self._at(one, moments, stamps=False)
            found += [] if np.isnan(values).all() else [Column({**one.labels, "__name__": one.name}, values)]
        return found

    def _at(self, one: Series, moments: Floats, *, stamps: bool) -> Floats:
        times = self.fleet.times
        last = np.maximum.accumulate(np.where(np.isnan(one.values), -1, np.arange(times.size)))
        places = np.searchsorted(times, moments, side="right") - 1
        sample = np.where(places >= 0, last[np.maximum(places, 0)], -1)
        fresh = (sample >= 0) & (moments - times[np.maximum(sample, 0)] <= LOOKBACK)
        values = times if stamps else one.values
        return np.where(fresh, values[np.maximum(sample, 0)], np.nan)

    def _select(self, selector: str) -> list[Series]:
        parts = _SELECTOR.fullmatch(selector)
        assert parts is not None, selector
        matchers = [
            (label, how, value.replace("\\\\", "\\"))
            for label, how, value in _MATCHER.findall(parts["matchers"])
        ]
        if parts["name"]:
            matchers.append(("__name__", "=", parts["name"]))
        return [one for one in self.fleet.series if all(_matches(one, *matcher) for matcher in matchers)]


def _matches(one: Series, label: str, how: str, value: str) -> bool:
    found = one.name if label == "__name__" else one.labels.get(label, "")
    if how == "=~":
        return re.fullmatch(value, found) is not None
    return (found == value) is (how == "=")

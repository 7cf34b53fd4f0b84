"""What is judged at each tick: every SLO at every target of its levels, laid out as arrays.

A row is one SLO at one target. What does not change from tick to tick (limits, windows, whose rows
of the window store count) stands here once, so that a tick costs arithmetic over all rows and not
work for each of them. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from controlplane.decide.burn import Bools, Floats
from controlplane.model.base import Level
from controlplane.model.slo import Slo
from controlplane.model.target import Signal, Target
from controlplane.observe.measures import Ask, Measures, Questions
from controlplane.observe.windows import Ints

USUAL_WINDOW = 30.0
"""Seconds that a verdict rests on when the SLO has no fast tier to say otherwise."""


class Plan:
    """The rows of these SLOs at these targets. Every array has a value for each row."""

    def __init__(self, slos: Sequence[Slo], targets: Sequence[Target]) -> None:
        self._slos, self._targets = list(slos), list(targets)
        pairs = list(_pairs(slos, targets))
        specs = [slo.spec for slo, _, _ in pairs]
        self.slos = [slo for slo, _, _ in pairs]
        self.kinds = list(dict.fromkeys((slo.spec.measure, level) for slo, _, level in pairs))
        """What is measured, and at which level: the same sources speak for all rows of a kind."""
        kinds = {kind: number for number, kind in enumerate(self.kinds)}
        self.kind = np.array([kinds[slo.spec.measure, level] for slo, _, level in pairs], dtype=np.int64)
        self.signals = [Signal("slo", slo.name, place) for slo, place, _ in pairs]
        self.judged: Bools = np.array([level in slo.spec.by for slo, _, level in pairs], dtype=bool)
        """Which rows are told of; the others are there for what the service's clients see."""
        self.names = {slo.name: number for number, slo in enumerate(slos)}
        self.number = np.array([self.names[slo.name] for slo in self.slos], dtype=np.int64)
        self.awaited: Bools = np.array(
            [
                slo.spec.no_data.alert_after is not None and level in {"service", "zone"}
                for slo, _, level in pairs
            ],
            dtype=bool,
        )
        """Rows whose silence is an incident of its own."""
        self.clients = _clients(pairs)
        self.windows = sorted({window for slo in slos for window in _windows(slo)})
        self.column = {window: number for number, window in enumerate(self.windows)}
        self.verdict_column = self._ints([verdict_window(slo) for slo in self.slos])
        self.target: Floats = np.array([spec.target for spec in specs])
        self.min_events: Floats = np.array([spec.min_events for spec in specs])
        self.fast_below: Floats = np.array([spec.fast.below if spec.fast else -1.0 for spec in specs])
        self.fast_least: Floats = np.array([spec.fast.min_samples if spec.fast else np.inf for spec in specs])
        self.tier_names = [[(tier.name, tier.severity) for tier in spec.burn_tiers] for spec in specs]
        self.tier_factor = self._of_tiers(
            [[tier.factor for tier in spec.burn_tiers] for spec in specs], np.inf
        )
        longs = [[self.column[tier.long] for tier in spec.burn_tiers] for spec in specs]
        shorts = [[self.column[tier.short] for tier in spec.burn_tiers] for spec in specs]
        self.tier_long: Ints = self._of_tiers(longs, 0).astype(np.int64)
        self.tier_short: Ints = self._of_tiers(shorts, 0).astype(np.int64)
        self.questions, self.tier_rows = _questions(pairs)
        self._notes: list[str] = []
        self._noted = -1

    def is_of(self, slos: Sequence[Slo], targets: Sequence[Target]) -> bool:
        """Tell whether it is still what these SLOs at these targets make."""
        return self._slos == slos and self._targets == targets

    def notes(self, measures: Measures) -> list[str]:
        """Return for each row what is to be said of its threshold."""
        if self._noted != len(measures.store):
            self._noted = len(measures.store)
            said = {slo.name: _snapped(slo, measures) for slo in self._slos}
            self._notes = [said[slo.name] for slo in self.slos]
        return self._notes

    def _ints(self, windows: Sequence[float]) -> Ints:
        return np.array([self.column[window] for window in windows], dtype=np.int64)

    @staticmethod
    def _of_tiers(values: Sequence[Sequence[float]], missing: float) -> Floats:
        """Return a column for each tier; rows with fewer are filled up with what never fires."""
        found = np.full((len(values), max((len(each) for each in values), default=0)), missing, dtype=float)
        for row, each in enumerate(values):
            found[row, : len(each)] = each
        return found


def verdict_window(slo: Slo) -> float:
    """Return the seconds that a verdict of this SLO rests on."""
    return slo.spec.fast.window if slo.spec.fast else USUAL_WINDOW


def tier_ask(slo: Slo, target: Target) -> Ask:
    """Return what burn rates count: events, or slices of time where the verdict counts events."""
    spec = slo.spec
    of = spec.measure if spec.tier_measure != spec.measure else None
    return Ask(spec.tier_measure, target, spec.threshold, of)


_Pair = tuple[Slo, Target, Level]


def _pairs(slos: Sequence[Slo], targets: Sequence[Target]) -> Iterator[_Pair]:
    places = [(target, target.level) for target in targets]
    for slo in slos:
        for target, level in places:
            if level in slo.spec.by or level == "service":
                yield slo, target, level


def _clients(pairs: Sequence[_Pair]) -> Ints:
    """Return for each row that of the same SLO at its service, -1 where there is none."""
    whole = {slo.name: row for row, (slo, _, level) in reversed(list(enumerate(pairs))) if level == "service"}
    return np.array([whole.get(slo.name, -1) for slo, _, _ in pairs], dtype=np.int64)


def _questions(pairs: Sequence[_Pair]) -> tuple[Questions, Ints]:
    """Return what is asked of each row, and for each row where the answer for its tiers stands.

    They may count slices of time where the verdict counts events.
    """
    asks = [Ask(slo.spec.measure, place, slo.spec.threshold) for slo, place, _ in pairs]
    rows = list(range(len(asks)))
    for row, (slo, place, _) in enumerate(pairs):
        spec = slo.spec
        if spec.tier_measure != spec.measure:
            rows[row] = len(asks)
            asks.append(tier_ask(slo, place))
    return Questions(asks), np.array(rows, dtype=np.int64)


def _windows(slo: Slo) -> Iterator[float]:
    yield verdict_window(slo)
    for tier in slo.spec.burn_tiers:
        yield tier.long
        yield tier.short


def _snapped(slo: Slo, measures: Measures) -> str:
    threshold = slo.spec.threshold
    if threshold is None or not measures.store.parts(slo.spec.measure):
        return ""
    bound = measures.bound(slo.spec.measure, threshold)
    if abs(bound - threshold) <= 1e-9 * threshold:
        return ""
    return f"{threshold:g} s is no bucket bound: judged at {bound:g} s"

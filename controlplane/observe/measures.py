"""What was measured, asked by indicator and target: counts over windows, values over the short one.

All counts of all objectives come out of one vectorised pass over the window store. A
threshold is snapped to the bucket bound at or below it, and that is said: between bounds a
histogram knows nothing. It refuses to say what is good enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import did_you_mean
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe import buckets, yields
from controlplane.observe.answers import ALL, BAD, GOOD
from controlplane.observe.library import INDICATORS, LATENCIES, STATES
from controlplane.observe.profile import MEASURES
from controlplane.observe.windows import Floats, Ints, Key, WindowStore

_Terms = list[tuple[float, Key]]

SHORT = 10.0
"""Seconds. The window of displayed rates and percentiles, and of threshold triggers."""


RESTARTS = 120.0
"""Seconds over which restarts are counted: two in it are a loop, and it is one no more when they are past."""


def is_instant(indicator: str) -> bool:
    """Tell whether an indicator's value is of the tick alone: a state or a gauge, no rate."""
    return indicator in STATES or MEASURES.get(indicator) == "gauge"


@dataclass(frozen=True, slots=True)
class Ask:
    """A ratio wanted: ``threshold`` (seconds) for latencies only; ``of``: what is counted in slices."""

    indicator: str
    target: Target
    threshold: float | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Good and all events, shape (asks, windows)."""

    good: Floats
    total: Floats


_Side = tuple[Ints, Floats]
"""Which rows make up the good, or all, events of each ask, and their weights: shape (asks, terms)."""


class Questions:
    """Asks for many ticks: what they are made of is found out once, and again when there are new rows."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self.asks = asks
        self._sides: tuple[_Side, _Side] | None = None
        self._found = -1
        self._sources: tuple[Ints, tuple[str, ...]] = (np.zeros(0, dtype=np.int64), ())

    def sides(self, measures: Measures) -> tuple[_Side, _Side]:
        """Return what good and all events are made of, as far as the store has rows."""
        if self._sides is None or self._found != len(measures.store):
            bounds: dict[tuple[str, float | None], float] = {}
            terms = [measures.terms(ask, bounds) for ask in self.asks]
            self._found = len(measures.store)
            self._sides = (
                measures.rows_of([each[0] for each in terms]),
                measures.rows_of([each[1] for each in terms]),
            )
            names = [
                _measure(measures.terms(replace(ask, indicator=ask.of), bounds) if ask.of else each)
                for ask, each in zip(self.asks, terms, strict=True)
            ]
            known = {name: number for number, name in enumerate(dict.fromkeys(names))}
            self._sources = np.array([known[name] for name in names], dtype=np.int64), tuple(known)
        return self._sides

    def sources(self, measures: Measures) -> tuple[Ints, tuple[str, ...]]:
        """Return for each ask the number of the measure that its events are read from, and these measures."""
        self.sides(measures)
        return self._sources


def _measure(terms: tuple[_Terms, _Terms]) -> str:
    """Return the measure that all events are read from."""
    return terms[1][0][1][0]


@dataclass(slots=True)
class Measures:
    """The reading side of what one service's observer keeps."""

    service: Service
    store: WindowStore
    gauges: Mapping[tuple[str, Target], float] = field(default_factory=dict)
    folds: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, Mapping[Target, bool]] = field(default_factory=dict)
    """This tick's verdicts on replicas, good or not, by indicator."""
    least: float = 0.0
    """Seconds that the short window must have: where a scrape comes seldom, a shorter one holds none."""
    _short_at: float = field(default=-math.inf, init=False)
    _short_sums: Floats = field(default_factory=lambda: np.zeros(0), init=False)

    @property
    def short(self) -> float:
        """The short window, in seconds."""
        return max(SHORT, self.least)

    def counts(self, asks: Sequence[Ask] | Questions, windows: Sequence[float]) -> Counts:
        """Return the counts of every ask over every window (seconds back from the last tick)."""
        questions = asks if isinstance(asks, Questions) else Questions(asks)
        good, total = (self._combine(side, windows) for side in questions.sides(self))
        return Counts(np.clip(good, 0.0, total), total)

    def observed(self, asks: Sequence[Ask] | Questions, windows: Sequence[float]) -> Floats:
        """Return for how many seconds of each window what an ask counts was read, shape (asks, windows).

        Of a whole measure: a part of the fleet that is silent was looked at all the same.
        """
        questions = asks if isinstance(asks, Questions) else Questions(asks)
        numbers, names = questions.sources(self)
        seen = np.array([self.store.observed(name, windows) for name in names])
        return np.asarray(seen.reshape(len(names), len(windows))[numbers])

    def read_until(self, asks: Sequence[Ask] | Questions) -> float:
        """Return up to when all of what is asked for was read."""
        questions = asks if isinstance(asks, Questions) else Questions(asks)
        return min((self.store.read_until(name) for name in questions.sources(self)[1]), default=-math.inf)

    def bound(self, indicator: str, threshold: float) -> float:
        """Return the bucket bound that stands in for ``threshold``: the next one at or below it."""
        return buckets.snap(self.store.parts(indicator), threshold)

    def share(self, indicator: str, target: Target, threshold: float | None = None) -> float | None:
        """Return the good share over the short window, None without events."""
        good, total = (self._add(terms) for terms in self.terms(Ask(indicator, target, threshold)))
        return min(1.0, max(0.0, good) / total) if total > 0 else None

    def rate(self, measure: str, target: Target, part: str = ALL) -> float | None:
        """Return a counter's increase per second, None when it was never seen at ``target``."""
        increase, covered = self._short((measure, part, target)), self.store.covered(self.short)
        return None if increase is None or covered <= 0 else increase / covered

    def increase(self, measure: str, target: Target, part: str = ALL) -> float | None:
        """Return a counter's increase over the short window, None when it was never seen at ``target``."""
        return self._short((measure, part, target))

    def flow(self, measure: str, target: Target) -> float | None:
        """Return what a counter gained each second, of its good events where a label tells them apart."""
        plain = self.rate(measure, target)
        return self.rate(measure, target, GOOD) if plain is None else plain

    def in_time(self, target: Target) -> float | None:
        """Return the smaller of the shares of TTFT and TPOT within the objectives, None without either."""
        objectives = self.service.spec.effective
        ttft = self.share("ttft", target, objectives.ttft)
        tpot = self.share("tpot", target, objectives.tpot)
        if tpot is None:
            tpot = self.share("itl", target, objectives.tpot)
        return min((share for share in (ttft, tpot) if share is not None), default=None)

    def quantile(self, measure: str, quantile: float, target: Target) -> float | None:
        """Return a percentile over the short window, linear inside its bucket; None without observations.

        In the open last bucket the answer is that bucket's lower bound, as in Prometheus.
        """
        bounds = sorted(self.store.parts(measure))
        if not bounds or not math.isinf(bounds[-1]):
            return None
        counts = [self._short((measure, bound, target)) or 0.0 for bound in bounds]
        below = np.maximum.accumulate(np.array(counts))
        if below[-1] <= 0:
            return None
        rank = quantile * below[-1]
        bucket = int(np.searchsorted(below, rank))
        if bucket >= len(bounds) - 1:
            return bounds[-2] if len(bounds) > 1 else None
        start, before = (bounds[bucket - 1], below[bucket - 1]) if bucket else (0.0, 0.0)
        inside = below[bucket] - before
        return float(start + (bounds[bucket] - start) * ((rank - before) / inside if inside > 0 else 1.0))

    def gauge(self, measure: str, target: Target) -> float | None:
        """Return a gauge now; of a wider target its parts' sum, mean or maximum, as the profile says."""
        exact = self.gauges.get((measure, target))
        if exact is not None:
            return exact
        parts = [v for (name, place), v in self.gauges.items() if name == measure and target.contains(place)]
        if not parts:
            return None
        fold = self.folds.get(measure, "sum")
        return max(parts) if fold == "max" else sum(parts) / (len(parts) if fold == "mean" else 1)

    def value(self, name: str, target: Target) -> float | None:
        """Return any indicator as one number: a ratio's good share, a rate, a percentile, a gauge.

        Of what replicas are at this tick it is their share now; for ``stalled`` the share that is. Of gauges
        that a label tells apart one is named behind a stroke.
        """
        indicator = INDICATORS.get(name.partition("/")[0])
        if indicator is None:
            msg = f"unknown indicator `{name}`"
            raise InvalidInput(msg, hint=did_you_mean(name, list(INDICATORS)))
        if name in STATES:
            states = self.states.get(name, {})
            own = states.get(target)
            parts = (good for place, good in states.items() if target.contains(place))
            found = [own] if own is not None else list(parts)
            share = sum(found) / len(found) if found else None
            return 1.0 - share if share is not None and name == "stalled" else share
        if indicator.kind == "ratio":
            return self.share(name, target, self._objective(name))
        if name == "restarts":
            return self._sum(name, target, RESTARTS)
        if name == "etpm":
            effective = self.rate("effective_tokens", target)
            return None if effective is None else 60 * effective
        if name == "etpm_estimate":
            return self._estimate(target)
        if name in yields.VALUES:
            return yields.VALUES[name](self, target)
        if name.endswith("_p95"):
            return self.quantile(name.removesuffix("_p95"), 0.95, target)
        return self.gauge(name, target)

    def _estimate(self, target: Target) -> float | None:
        tokens = self.rate("generation_tokens", target)
        if tokens is None:
            return None
        per_minute = 60 * max(0.0, tokens - (self.rate("canary_tokens", target) or 0.0))
        rates = (self.share("success", target), self.share("quality", target), self.in_time(target))
        return per_minute * math.prod(1.0 if rate is None else rate for rate in rates)

    def _objective(self, indicator: str) -> float | None:
        objectives = self.service.spec.effective
        named = {"ttft": objectives.ttft, "itl": objectives.tpot, "tpot": objectives.tpot}
        return named.get(indicator, math.inf) if indicator in LATENCIES else None

    def _short(self, key: Key) -> float | None:
        """Return a row's increase over the short window; all rows are computed once a tick."""
        if self._short_at != self.store.last_at or self._short_sums.size < len(self.store):
            self._short_sums = self.store.sums(np.arange(len(self.store)), [self.short])[:, 0]
            self._short_at = self.store.last_at
        row = self.store.find(key)
        return None if row is None else float(self._short_sums[row])

    def _sum(self, measure: str, target: Target, window: float) -> float | None:
        """Return a counter's increase over a window, None when it was never seen at ``target``."""
        row = self.store.find((measure, ALL, target))
        return None if row is None else float(self.store.sums(np.array([row]), [window])[0, 0])

    def _add(self, terms: _Terms) -> float:
        return sum(weight * (self._short(key) or 0.0) for weight, key in terms)

    def terms(
        self, ask: Ask, bounds: dict[tuple[str, float | None], float] | None = None
    ) -> tuple[_Terms, _Terms]:
        """Say which rows, added or taken away, make up an ask's good and total events.

        ``bounds`` remembers the bucket bounds that were found, for many asks of few objectives.
        """
        name, target = ask.indicator, ask.target
        if name in LATENCIES:
            if ask.threshold is None:
                msg = f"`{name}` needs a threshold"
                raise InvalidInput(msg, hint="write for example `threshold: 1s` in the SLO")
            known = bounds if bounds is not None else {}
            bound = known.get((name, ask.threshold))
            if bound is None:
                bound = known[name, ask.threshold] = self.bound(name, ask.threshold)
            return [(1.0, (name, bound, target))], [(1.0, (name, math.inf, target))]
        if name == "success":
            return self._success(target)
        return [(1.0, (name, GOOD, target))], [(1.0, (name, ALL, target))]

    def _success(self, target: Target) -> tuple[_Terms, _Terms]:
        seen = any(self.store.find(("responses", part, target)) is not None for part in (GOOD, BAD))
        if seen:
            # A canary that gives up leaves an abort in the engine that was no client's.
            ours = (1.0, ("canary_aborts", ALL, target))
            good: _Terms = [(1.0, ("responses", GOOD, target)), (-1.0, ("finished", BAD, target)), ours]
            return good, [(1.0, ("responses", GOOD, target)), (1.0, ("responses", BAD, target))]
        bad: tuple[float, Key] = (-1.0, ("finished", BAD, target))
        if self.store.find(("finished", ALL, target)) is not None:
            every: _Terms = [(1.0, ("finished", ALL, target))]
            return [*every, bad], every
        both: _Terms = [(1.0, ("finished", GOOD, target)), (1.0, ("finished", BAD, target))]
        return [(1.0, ("finished", GOOD, target))], both

    def rows_of(self, terms: Sequence[_Terms]) -> _Side:
        """Return the rows of each list of terms, -1 where there is none, and their weights."""
        width = max((len(each) for each in terms), default=1)
        rows = np.full((len(terms), width), -1)
        weights = np.zeros((len(terms), width))
        for i, each in enumerate(terms):
            for j, (weight, key) in enumerate(each):
                row = self.store.find(key)
                if row is not None:
                    rows[i, j], weights[i, j] = row, weight
        return rows, weights

    def _combine(self, side: _Side, windows: Sequence[float]) -> Floats:
        rows, weights = side
        sums = self.store.sums(rows.ravel(), windows).reshape(*rows.shape, len(windows))
        return np.asarray((sums * weights[:, :, None]).sum(axis=1))

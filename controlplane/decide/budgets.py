"""Error budgets: how many of an SLO's events were bad over its whole window, and what that leaves.

The windows of the loop reach back days, an SLO's window weeks; so the events of each SLO at its
service are added up in buckets, and with them the seconds in which they were read. After a
restart or a take-over what happened meanwhile comes from the windows, as far as they reach. Time that
nobody observed counts as good, as for burn rates, wherever in the window it lies: neither a young
history nor a hole in it makes a bad minute a bad hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from controlplane.kernel.clock import from_unix
from controlplane.model.base import Model
from controlplane.model.slo import Slo
from controlplane.model.slo_window import Window
from controlplane.model.target import Target
from controlplane.observe.measures import Ask, Measures, Questions
from controlplane.observe.windows import Floats

SNAPSHOT = "budgets"
"""The name of the snapshot that holds a `BudgetBook`."""
BUCKETS = 240
"""Buckets of a window: at 30 days three hours each, so that the oldest leaves in small steps."""
_KEPT = 256
"""More than the buckets of the longest month, year or quarter, and a begun one at each end."""
GOOD, TOTAL, SECONDS = range(3)
"""What is added up in a bucket."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What an SLO's window holds: good and all events, the share of it observed, and what is left.

    ``left``: 1 untouched, 0 spent, less overspent; None while fewer events were counted than the SLO
    wants for a verdict.
    """

    good: float = 0.0
    total: float = 0.0
    observed: float = 0.0
    left: float | None = None


class Tally(Model):
    """One SLO's events as written down: up to when, and each bucket's begin, good and all events, seconds."""

    upto: float
    buckets: tuple[tuple[float, float, float, float], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_before(cls, value: Any) -> Any:
        """Read also what was written when no seconds were counted: a bucket was then observed whole."""
        if not isinstance(value, dict) or "since" not in value:
            return value
        since, upto, found = value["since"], value["upto"], value.get("buckets", ())
        ends = [*(each[0] for each in found[1:]), upto]
        buckets = [
            (begin, good, total, max(0.0, end - max(since, begin)))
            for (begin, good, total), end in zip(found, ends, strict=True)
        ]
        return {"upto": upto, "buckets": buckets}


class Tallies(Model):
    """Those of a service's SLOs, by what is counted."""

    tallies: dict[str, Tally] = Field(default_factory=dict)


class _Group:
    """SLOs of one window and measure, counted up to one time: their buckets stand in rings, newest last."""

    def __init__(self, window: Window, slos: Sequence[Slo], service: Target, upto: float) -> None:
        self.window, self.slos, self.upto = window, slos, upto
        self.width = window.length / BUCKETS
        self.begin, self.end = _bounds(window, upto)
        self.number = int(upto // self.width)
        self.cells = np.zeros((3, len(slos), _KEPT))
        self.sums = np.zeros((3, len(slos)))
        self._targets = np.array([slo.spec.target for slo in slos])
        self._least = np.array([max(slo.spec.min_events, 1e-12) for slo in slos])
        self._asks = Questions([_ask(slo, service) for slo in slos])

    def fill(self, row: int, tally: Tally) -> None:
        """Take over what was written down of one SLO."""
        for begin, *amounts in tally.buckets:
            number = int(begin // self.width)
            if number > self.number - _KEPT and begin + self.width > self.begin:
                self.cells[:, row, number % _KEPT] += amounts
        self.sums = self.cells.sum(axis=2)

    def count(self, measures: Measures, at: float) -> None:
        """Add what happened until ``at``, as far as it is known, and let go what the window has left behind.

        What is read late counts when it is read: until then nothing is said of that time.
        """
        if at > self.end:
            self._begin_anew(at)
        self._turn(int(at // self.width))
        until = min(at, measures.read_until(self._asks))
        if until <= self.upto:
            return
        last = int(until // self.width)
        first = max(int(self.upto // self.width), self.number - BUCKETS)
        moments = [max(self.upto, first * self.width), *(n * self.width for n in range(first + 1, last + 1))]
        amounts = self._amounts(measures, [at - moment for moment in (*moments, until)])
        self.cells[:, :, np.arange(first, last + 1) % _KEPT] += amounts
        self.sums += amounts.sum(axis=2)
        self.upto = until

    def _begin_anew(self, at: float) -> None:
        self.begin, self.end = _bounds(self.window, at)
        self.upto = max(self.upto, self.begin)
        self.cells[:] = 0.0
        self.sums[:] = 0.0

    def _amounts(self, measures: Measures, windows: Sequence[float]) -> Floats:
        """Return what belongs to each piece of time: from one of these moments to the next."""
        counts, seen = measures.counts(self._asks, windows), measures.observed(self._asks, windows)
        reaching = np.stack([counts.good, counts.total, seen])
        return np.asarray(np.maximum(reaching[:, :, :-1] - reaching[:, :, 1:], 0.0))

    def _turn(self, last: int) -> None:
        """Empty the places of the buckets that begin, and of those that a rolling window leaves behind."""
        new = min(last - self.number, _KEPT)
        if new <= 0:
            return
        gone = [*range(last - new + 1, last + 1)]
        if self.window.calendar is None:
            gone += range(last - BUCKETS - new, last - BUCKETS)
        self.cells[:, :, np.array(gone) % _KEPT] = 0.0
        self.sums = self.cells.sum(axis=2)
        self.number = last

    def left(self) -> Floats:
        """Return what is left of each budget, NaN where too few events were counted."""
        good, total, _ = self.sums
        bad = np.maximum(total - good, 0.0) / np.maximum(total, 1e-12) * self.observed()
        return np.where(total >= self._least, 1.0 - bad / (1.0 - self._targets), np.nan)

    def observed(self) -> Floats:
        """Return the share of its window that was observed, of each SLO."""
        return np.asarray(np.minimum(1.0, self.sums[SECONDS] / self.window.length))

    def written(self) -> dict[str, Tally]:
        first = self.number - _KEPT + 1
        numbers = np.arange(first, self.number + 1)
        begins = (numbers * self.width).tolist()
        cells = self.cells[:, :, numbers % _KEPT]
        used = (cells[SECONDS] > 0) | (cells[TOTAL] > 0)
        found = {}
        for row, slo in enumerate(self.slos):
            columns = np.nonzero(used[row])[0].tolist()
            values = cells[:, row, :].T.tolist()
            buckets = tuple((begins[column], *values[column]) for column in columns)
            found[_key(slo)] = Tally.model_construct(upto=self.upto, buckets=buckets)
        return found


class BudgetBook:
    """The budgets of a service's SLOs, by what is counted: another threshold begins anew.

    One loop owns it.
    """

    def __init__(self, written: Tallies | None = None) -> None:
        self._known = dict((written or Tallies()).tallies)
        self._slos: list[Slo] = []
        self._groups: list[_Group] = []
        self._places: dict[str, tuple[_Group, int]] = {}

    def count(self, slos: Sequence[Slo], service: Target, measures: Measures, at: float) -> None:
        """Add the events of ``slos`` since the last time; of others nothing is kept."""
        slos = list(slos)
        if slos != self._slos:
            self._arrange(slos, service, lambda window: _beginning(window, measures, at))
        self._slos = slos
        for group in self._groups:
            group.count(measures, at)

    def hold(self, slos: Sequence[Slo], service: Target) -> None:
        """Stand by what was written down of ``slos``; nothing is counted, and no other begins."""
        if not self._groups:
            self._arrange([slo for slo in slos if _key(slo) in self._known], service, lambda _: 0.0)

    def written(self) -> Tallies:
        """Return what the next leader goes on from."""
        found = {key: tally for group in self._groups for key, tally in group.written().items()}
        return Tallies.model_construct(tallies=found)

    def of(self, slo: Slo) -> Budget:
        """Return what is counted for an SLO, and what is left of its budget."""
        place = self._places.get(_key(slo))
        if place is None:
            return Budget()
        group, row = place
        good, total, _ = group.sums[:, row].tolist()
        left = float(group.left()[row])
        return Budget(good, total, float(group.observed()[row]), None if np.isnan(left) else left)

    def left(self, slo: Slo) -> float | None:
        """Return the share of the budget that is left, None when it is not known."""
        return self.of(slo).left

    def all_left(self) -> dict[str, float]:
        """Return the share that is left of each budget, by the SLO's name, as far as it is known."""
        return {
            slo.name: left
            for group in self._groups
            for slo, left in zip(group.slos, group.left().tolist(), strict=True)
            if left == left  # noqa: PLR0124 - not NaN
        }

    def _arrange(self, slos: Sequence[Slo], service: Target, begin: Callable[[Window], float]) -> None:
        """Group the SLOs anew, going on from what is counted already; ``begin``: where the others do."""
        known = self._known | self.written().tallies
        places: dict[tuple[Window, str, float], dict[str, Slo]] = {}
        for slo in slos:
            key, window = _key(slo), slo.spec.window
            tally = known.get(key)
            upto = tally.upto if tally else begin(window)
            places.setdefault((window, slo.spec.measure, upto), {})[key] = slo
        self._groups, self._places, self._known = [], {}, {}
        for (window, _, upto), members in places.items():
            group = _Group(window, list(members.values()), service, upto)
            self._groups.append(group)
            for row, key in enumerate(members):
                self._places[key] = group, row
                if key in known:
                    group.fill(row, known[key])


def _ask(slo: Slo, service: Target) -> Ask:
    spec = slo.spec
    return Ask(spec.budget_measure, service, spec.threshold, spec.measure if spec.slices else None)


def _bounds(window: Window, at: float) -> tuple[float, float]:
    """Return when the window at ``at`` began and will end: a rolling one never does."""
    if window.calendar is None:
        return -np.inf, np.inf
    begin, end = window.calendar.bounds(from_unix(at))
    return begin.timestamp(), end.timestamp()


def _beginning(window: Window, measures: Measures, at: float) -> float:
    """Begin where the history does that there is."""
    begin, _ = _bounds(window, at)
    return max(at - measures.store.covered(window.length), begin)


def _key(slo: Slo) -> str:
    spec = slo.spec
    bound = "" if spec.threshold is None else f"<={spec.threshold:g}"
    calendar = spec.window.calendar
    window = f"{calendar.unit}@{calendar.time_zone}" if calendar else f"{spec.window.length:g}"
    return f"{slo.name}/{spec.budget_measure}{bound}/{window}"

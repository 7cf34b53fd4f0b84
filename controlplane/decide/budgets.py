"""Error budgets: how many of an SLO's events were bad over its whole window, and what that leaves.

The windows of the loop reach back days, an SLO's window weeks; so the events of each SLO at its
service are added up in buckets, which the caller keeps beside the loop. After a restart or a
take-over what happened meanwhile comes from the windows, as far as they reach. Time that nobody
observed counts as good, as for burn rates: a young history does not make a long window a short one,
and neither does a month that has just begun.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from controlplane.kernel.clock import from_unix
from controlplane.model.base import Model
from controlplane.model.slo import Slo
from controlplane.model.slo_window import Window
from controlplane.model.target import Target
from controlplane.observe.measures import Ask, Measures

SNAPSHOT = "budgets"
"""The name of the snapshot that holds a `BudgetBook`."""
BUCKETS = 240
"""Buckets of a window: at 30 days three hours each, so that the oldest leaves in small steps."""


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
    """One SLO's events: since when, up to when, each bucket's begin, good and all events, and their sums."""

    since: float
    upto: float
    buckets: tuple[tuple[float, float, float], ...] = ()
    good: float = 0.0
    total: float = 0.0

    def plus(self, good: float, total: float, at: float, window: Window) -> Tally:
        """Return the tally with the events up to ``at``, without what the window has left behind."""
        width = window.length / BUCKETS
        begin = at // width * width
        if window.calendar is not None:
            begin = max(begin, _start(window, at))
        if self.buckets and self.buckets[-1][0] == begin:  # as at most ticks: nothing else changes
            _, known_good, known = self.buckets[-1]
            return Tally.model_construct(
                since=self.since,
                upto=at,
                buckets=(*self.buckets[:-1], (begin, known_good + good, known + total)),
                good=self.good + good,
                total=self.total + total,
            )
        oldest, whole = _start(window, at), window.calendar is not None
        kept = [b for b in self.buckets if (b[0] >= oldest if whole else b[0] + width > oldest)]
        buckets = (*kept, (begin, good, total))
        return Tally.model_construct(
            since=self.since,
            upto=at,
            buckets=buckets,
            good=math.fsum(bucket[1] for bucket in buckets),
            total=math.fsum(bucket[2] for bucket in buckets),
        )

    def unseen(self, window: Window, at: float) -> float:
        """Return from when on events are not counted yet, as far as the window at ``at`` reaches."""
        return max(self.upto, _start(window, at)) if window.calendar is not None else self.upto


class BudgetBook(Model):
    """The tallies of a service's SLOs, by what is counted: another threshold begins anew."""

    tallies: dict[str, Tally] = Field(default_factory=dict)

    def after(self, slos: Sequence[Slo], service: Target, measures: Measures, at: float) -> BudgetBook:
        """Return the book with the events of ``slos`` since the last time; of others nothing is kept."""
        tallies = {_key(slo): self.tallies.get(_key(slo)) or _begin(slo, measures, at) for slo in slos}
        spans = {_key(slo): at - tallies[_key(slo)].unseen(slo.spec.window, at) for slo in slos}
        windows = sorted({span for span in spans.values() if span > 0})
        if not windows:
            return self
        asks = [Ask(slo.spec.budget_measure, service, slo.spec.threshold) for slo in slos]
        counts = measures.counts(asks, windows)
        for row, slo in enumerate(slos):
            key = _key(slo)
            if spans[key] > 0:
                column = windows.index(spans[key])
                good, total = float(counts.good[row, column]), float(counts.total[row, column])
                tallies[key] = tallies[key].plus(good, total, at, slo.spec.window)
        return BudgetBook.model_construct(tallies=tallies)

    def of(self, slo: Slo) -> Budget:
        """Return what is counted for an SLO, and what is left of its budget."""
        tally, spec = self.tallies.get(_key(slo)), slo.spec
        if tally is None:
            return Budget()
        good, total = tally.good, tally.total
        begin = max(tally.since, _start(spec.window, tally.upto))
        observed = min(1.0, (tally.upto - begin) / spec.window.length)
        if total <= 0 or total < spec.min_events:
            return Budget(good, total, observed)
        return Budget(good, total, observed, 1.0 - (total - good) / total * observed / (1.0 - spec.target))

    def left(self, slo: Slo) -> float | None:
        """Return the share of the budget that is left, None when it is not known."""
        return self.of(slo).left


def _start(window: Window, at: float) -> float:
    return window.start(from_unix(at)).timestamp()


def _begin(slo: Slo, measures: Measures, at: float) -> Tally:
    """Begin where the history does that there is."""
    window = slo.spec.window
    since = max(at - measures.store.covered(window.length), _start(window, at))
    return Tally(since=since, upto=since)


def _key(slo: Slo) -> str:
    spec = slo.spec
    bound = "" if spec.threshold is None else f"<={spec.threshold:g}"
    calendar = spec.window.calendar
    window = f"{calendar.unit}@{calendar.time_zone}" if calendar else f"{spec.window.length:g}"
    return f"{slo.name}/{spec.budget_measure}{bound}/{window}"

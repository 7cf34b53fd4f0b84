"""Error budgets: how many of an SLO's events were bad over its whole window, and what that leaves.

The windows of the loop reach back days, an SLO's window weeks; so the events of each SLO at its
service are added up in buckets, which the caller keeps beside the loop. After a restart or a
take-over what happened meanwhile comes from the windows, as far as they reach. Time that nobody
observed counts as good, as for burn rates: a young history does not make a long window a short one.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.measures import Ask, Measures

SNAPSHOT = "budgets"
"""The name of the snapshot that holds a `BudgetBook`."""
BUCKETS = 240
"""Buckets of a window: at 30 days three hours each, so that the oldest leaves in small steps."""


class Tally(Model):
    """One SLO's events: since when, up to when, and for each bucket its begin, good and all events."""

    since: float
    upto: float
    buckets: tuple[tuple[float, float, float], ...] = ()

    def plus(self, good: float, total: float, at: float, window: float) -> Tally:
        """Return the tally with the events up to ``at``, without what the window has left behind."""
        width = window / BUCKETS
        begin = at // width * width
        kept = [bucket for bucket in self.buckets if bucket[0] + width > at - window]
        if kept and kept[-1][0] == begin:
            _, known_good, known = kept.pop()
            good, total = good + known_good, total + known
        return Tally.model_construct(since=self.since, upto=at, buckets=(*kept, (begin, good, total)))


class BudgetBook(Model):
    """The tallies of a service's SLOs, by what is counted: another threshold begins anew."""

    tallies: dict[str, Tally] = Field(default_factory=dict)

    def after(self, slos: Sequence[Slo], service: Target, measures: Measures, at: float) -> BudgetBook:
        """Return the book with the events of ``slos`` since the last time; of others nothing is kept."""
        tallies = {_key(slo): self.tallies.get(_key(slo)) or _begin(slo, measures, at) for slo in slos}
        windows = sorted({at - tally.upto for tally in tallies.values() if tally.upto < at})
        if not windows:
            return self
        asks = [Ask(slo.spec.indicator, service, slo.spec.threshold) for slo in slos]
        counts = measures.counts(asks, windows)
        for row, slo in enumerate(slos):
            tally = tallies[_key(slo)]
            if tally.upto < at:
                column = windows.index(at - tally.upto)
                good, total = float(counts.good[row, column]), float(counts.total[row, column])
                tallies[_key(slo)] = tally.plus(good, total, at, slo.spec.window.rolling)
        return BudgetBook.model_construct(tallies=tallies)

    def left(self, slo: Slo) -> float | None:
        """Return the share of the budget that is left: 1 untouched, 0 spent, less overspent.

        None while fewer events were counted than the SLO wants for a verdict.
        """
        tally, spec = self.tallies.get(_key(slo)), slo.spec
        if tally is None:
            return None
        good, total = (sum(bucket[part] for bucket in tally.buckets) for part in (1, 2))
        if total <= 0 or total < spec.min_events:
            return None
        seen = min(1.0, (tally.upto - tally.since) / spec.window.rolling)
        return 1.0 - (total - good) / total * seen / (1.0 - spec.target)


def _begin(slo: Slo, measures: Measures, at: float) -> Tally:
    """Begin where the history does that there is."""
    since = at - measures.store.covered(slo.spec.window.rolling)
    return Tally(since=since, upto=since)


def _key(slo: Slo) -> str:
    spec = slo.spec
    bound = "" if spec.threshold is None else f"<={spec.threshold:g}"
    return f"{slo.name}/{spec.indicator}{bound}/{spec.window.rolling:g}"

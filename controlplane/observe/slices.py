"""Slices of time as events: each counts once, when it ends, as bad or not, or with its share of errors.

A slice without any event is none: nobody was harmed in it, and nobody was served. What was
before the loop began is counted as far as the windows reach, in its own time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.answers import ALL, GOOD
from controlplane.observe.measures import Ask, Measures
from controlplane.observe.windows import Floats

REACH = 900
"""Slices that are looked back for at most, when the loop begins."""


@dataclass(slots=True)
class SliceBook:
    """Up to when the slices of each objective are counted. One loop owns it."""

    _upto: dict[str, float] = field(default_factory=dict)

    def keep(self, slos: Sequence[Slo], targets: Sequence[Target], measures: Measures, at: float) -> None:
        """Count the slices that ended since the last time, at every target where an objective is judged."""
        wanted = {slo.spec.slices: slo for slo in slos if slo.spec.slices is not None}
        for key, slo in wanted.items():
            length = slo.spec.budgeting.slice
            whole = Ask(slo.spec.measure, measures.service.target, slo.spec.threshold)
            until = min(at, measures.read_until([whole]))
            if math.isinf(until):
                continue
            end, known = until // length * length, self._upto.get(key or "")
            begin = known if known is not None else _beginning(measures, at, end, length)
            if end > begin and key is not None:
                places = [each for each in targets if each.level in slo.spec.by or each.level == "service"]
                _count(slo, key, places, measures, (begin, end, at))
                self._upto[key] = end
            elif key is not None:
                self._upto.setdefault(key, end)
        self._upto = {key: upto for key, upto in self._upto.items() if key in wanted}


def _beginning(measures: Measures, at: float, end: float, length: float) -> float:
    """Return where the first slice begins that is known whole."""
    oldest = at - measures.store.covered(REACH * length)
    first = -(-oldest // length) * length
    return min(end, first)


def _count(
    slo: Slo,
    key: str,
    places: Sequence[Target],
    measures: Measures,
    span: tuple[float, float, float],
) -> None:
    begin, end, at = span
    length = slo.spec.budgeting.slice
    edges = np.arange(begin, end + length / 2, length)
    asks = [Ask(slo.spec.measure, place, slo.spec.threshold) for place in places]
    counts = measures.counts(asks, [at - float(edge) for edge in edges])
    good, total = -np.diff(counts.good, axis=1), -np.diff(counts.total, axis=1)
    seen = total > 0
    share = np.divide(good, total, out=np.zeros_like(total), where=seen)
    worth = _worth(slo, share)
    for index, place in enumerate(places):
        rows = np.array([measures.store.row((key, part, place)) for part in (ALL, GOOD)])
        measures.store.add_at(rows, edges[1:], np.array([seen[index], worth[index] * seen[index]]))


def _worth(slo: Slo, share: Floats) -> Floats:
    """Return how good each slice was: wholly or not at all, or its share of good events."""
    least = slo.spec.budgeting.slice_target
    return share if least is None else np.asarray(share >= least - 1e-12, dtype=np.float64)

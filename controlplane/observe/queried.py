"""Objectives' own queries: asked now and then, and what they give added to the windows as events.

A query is asked at its shortest window; its rate over that window, times the time since it was asked
last, is how many events there were. So an event counts once, spread over the window. A share of
errors without events counts seconds instead. A query that fails or gives nothing is not fresh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.kernel.errors import FleetwardError
from controlplane.model.query import Asked, Query
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.answers import ALL, GOOD, Sorter
from controlplane.observe.series import Row

EVERY = 15.0
"""Seconds between two askings at most, so that a verdict's window of half a minute always has one."""
_PER_RESOLUTION = 4
_FRESH_FOR = 2.5
"""Askings after which an answer says nothing about now."""
_EVENTS, _ERRORS, _RATIO = "events", "errors", "ratio"

Answers = Mapping[str, Sequence[Row] | FleetwardError]


@dataclass(slots=True)
class _Memory:
    query: Query
    asked_at: float = -math.inf
    answered_at: float = -math.inf

    @property
    def interval(self) -> float:
        return min(EVERY, self.query.resolution / _PER_RESOLUTION)


@dataclass(slots=True)
class QueryBook:
    """The queries of one service's objectives. One loop owns it."""

    service: Service
    sorter: Sorter
    replicas: Mapping[str, Target] = field(default_factory=dict)
    evacuated: frozenset[str] = frozenset()
    _known: dict[str, _Memory] = field(default_factory=dict)

    def want(self, queries: Iterable[Query]) -> None:
        """Say which queries there are; others are forgotten."""
        self._known = {query.key: self._known.get(query.key) or _Memory(query) for query in queries}

    def due(self, at: float) -> dict[str, str]:
        """Return the texts to ask now, by name, and note that they are asked."""
        found: dict[str, str] = {}
        for memory in self._known.values():
            if at - memory.asked_at >= memory.interval - 1e-6:
                memory.asked_at = at
                found |= _texts(memory.query, memory.query.resolution)
        return found

    def texts(self, step: float) -> dict[str, str]:
        """Return all texts for a range that is read in such steps."""
        found: dict[str, str] = {}
        for memory in self._known.values():
            found |= _texts(memory.query, max(step, memory.query.resolution))
        return found

    def take(self, answers: Answers, at: float) -> None:
        """Add what was answered for ``at``; what gathered while nobody asked is not known."""
        for memory in self._known.values():
            query = memory.query
            since = min(at - memory.answered_at, query.resolution)
            lasted = memory.interval if math.isinf(memory.answered_at) else since
            if lasted > 0 and self._add(query, answers, lasted, query.resolution):
                self.sorter.store.observe(query.key, at - lasted, at)
                memory.answered_at = at

    def replay(self, answers: Answers, at: float, step: float) -> None:
        """Add one step of a range, the one that ends at ``at``."""
        for memory in self._known.values():
            if self._add(memory.query, answers, step, max(step, memory.query.resolution)):
                self.sorter.store.observe(memory.query.key, at - step, at)

    def fresh(self, at: float) -> frozenset[str]:
        """Return the keys of the queries that have an answer of about now."""
        return frozenset(
            key
            for key, memory in self._known.items()
            if at - memory.answered_at <= _FRESH_FOR * memory.interval
        )

    def _add(self, query: Query, answers: Answers, lasted: float, window: float) -> bool:
        """Add the events of so many seconds; tell whether there was an answer."""
        ratios = _rows(answers, query, _RATIO)
        if ratios:
            for target, share in self._placed(ratios):
                self._count(query.key, target, lasted, lasted * min(1.0, max(0.0, share)))
            return True
        events = _rows(answers, query, _EVENTS)
        if not events:
            return False
        times = query.scale(window) / window * lasted
        errors: dict[Target, float] = {}
        for target, value in self._placed(_rows(answers, query, _ERRORS)):
            errors[target] = errors.get(target, 0.0) + value
        totals: dict[Target, float] = {}
        for target, value in self._placed(events):
            totals[target] = totals.get(target, 0.0) + value
        for target, total in totals.items():
            bad = min(total, max(0.0, errors.get(target, 0.0)))
            self._count(query.key, target, total * times, bad * times)
        return True

    def _count(self, key: str, target: Target, total: float, bad: float) -> None:
        for part, amount in ((ALL, total), (GOOD, total - bad)):
            rows = self.sorter.rows(key, part, target)
            self.sorter.store.add_each(rows[:-1] if target.zone in self.evacuated else rows, amount)

    def _placed(self, rows: Iterable[Row]) -> Iterator[tuple[Target, float]]:
        labels = self.service.spec.metric_labels
        for row in rows:
            if not math.isfinite(row.value):
                continue
            replica = self.replicas.get(row.labels.get(labels.replica, ""))
            parts = [row.labels.get(labels.zone), row.labels.get(labels.node)]
            known = parts[: parts.index(None)] if None in parts else parts
            target = self.service.target
            yield replica or Target(target.service, target.cluster, *known), row.value


def _texts(query: Query, window: float) -> dict[str, str]:
    asked: Asked = query.at(window)
    if asked.events is None or asked.errors is None:
        return {f"{query.key}/{_RATIO}": asked.ratio}
    return {f"{query.key}/{_EVENTS}": asked.events, f"{query.key}/{_ERRORS}": asked.errors}


def _rows(answers: Answers, query: Query, what: str) -> Sequence[Row]:
    answer = answers.get(f"{query.key}/{what}", [])
    return [] if isinstance(answer, FleetwardError) else answer

"""Answers of the metrics source, sorted: counters' readings, gauges' values, when each replica was seen.

It knows the profiles' labels and the fleet, so that everything above speaks of measures
and targets only. Rows that belong to no part of the fleet are left out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.counters import Counters, Readings
from controlplane.observe.profile import (
    HEARTBEAT,
    SCRAPED_AT,
    Measure,
    Query,
    Series,
    TargetLabels,
    target_labels,
)
from controlplane.observe.series import Labels, Row, Rows
from controlplane.observe.windows import Floats, Ints, WindowStore

GOOD, BAD, ALL = "good", "bad", "all"
"""Parts of a counter: events that are good, events that are bad, or all of them."""


CARD_MEASURES = frozenset(
    {"gpu_xid", "gpu_row_remap_failure", "gpu_row_remap_pending", "gpu_ecc_dbe", "gpu_health"}
)
"""Measures that belong to one card each: folding them would lose whose they are."""


@dataclass(slots=True)
class Card:
    """One GPU as its exporter showed it: ``pod`` is the replica that has it, empty when none has."""

    node: Target
    uuid: str
    pod: str = ""
    values: dict[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.node}#{self.uuid}"


@dataclass(slots=True)
class Sorted:
    """One tick's answers. Gauges are in the profiles' units, times in unix seconds."""

    counters: list[Readings] = field(default_factory=list)
    gauges: dict[tuple[str, Target], float] = field(default_factory=dict)
    counts: dict[tuple[str, Target], int] = field(default_factory=dict)
    """Of how many series each gauge's value is made."""
    cards: dict[str, Card] = field(default_factory=dict)
    up: dict[Target, bool] = field(default_factory=dict)
    scraped_at: dict[Target, float] = field(default_factory=dict)


_Sort = Literal["counter", "gauge", "card"]


@dataclass(slots=True, eq=False)
class _Best:
    """The best rank among names that all series of one measure and target have, and whose answer shows it."""

    rank: int
    query: str


@dataclass(slots=True, eq=False)
class _Known:
    """What was found out about a series once: its measure, target, rank among names, and rows.

    ``best`` is what all series of one measure and target share. ``series`` is the same for as long as
    there is a series of that name and these labels.
    """

    measure: str
    target: Target
    rank: int
    best: _Best
    rows: tuple[int, ...]
    abroad: tuple[int, ...]
    """The rows while the zone takes no traffic of users."""
    scale: float
    sort: _Sort
    series: Hashable
    group: tuple[str, Target]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is known of a query's last answer. It holds as long as the labels and all best ranks do."""

    labels: Labels
    turn: int
    counters: Counters
    places: Ints
    """Where in the answer the counters are, and what each is multiplied by."""
    scales: Floats
    others: Sequence[tuple[int, _Known]]


@dataclass(frozen=True, slots=True)
class _Scrapes:
    """Which replicas the rows of an answer about scrapes are of: their places, and they."""

    labels: Labels
    places: Ints
    targets: Sequence[Target]


class Sorter:
    """Sorts answers for one service. ``place`` tells it the fleet, by replicas' names."""

    def __init__(self, service: Service, store: WindowStore) -> None:
        self._service = service
        self.store = store
        self._known: dict[tuple[str, ...], _Known] = {}
        self._best: dict[tuple[str, Target], _Best] = {}
        self._rows: dict[tuple[str, float | str, Target], tuple[int, ...]] = {}
        self._series: dict[tuple[str, ...], Hashable] = {}
        self._answers: dict[str, _Answer] = {}
        self._scrapes: dict[str, _Scrapes] = {}
        self._shown: dict[str, frozenset[_Best]] = {}
        """Of what each query's last answer has series."""
        self._turn = 0
        """Changes whenever what is known of answers may hold no more."""
        self._places: dict[str, Target] = {}
        self._nodes: dict[str, Target] = {}
        self._labels: dict[str, TargetLabels] = {}
        self._evacuated: frozenset[str] = frozenset()

    def beside(self, store: WindowStore) -> Sorter:
        """Return one for another store of the same rows, which knows the series as the same."""
        other = Sorter(self._service, store)
        other._series = self._series
        return other

    def place(self, replicas: Iterable[Target], evacuated: frozenset[str] = frozenset()) -> None:
        """Say where the replicas are, and which zones take no traffic.

        Names that the metrics place elsewhere follow this.
        """
        if evacuated != self._evacuated:
            self._evacuated = evacuated
            self._turn += 1
        places = {target.name: target for target in replicas}
        if places != self._places:
            self._places = places
            self._nodes = {str(target.node): target.at("node") for target in places.values()}
            self._known.clear()
            self._answers.clear()
            self._scrapes.clear()

    def sort(self, query: Query, rows: Sequence[Row], into: Sorted) -> None:
        """Sort the answer of one query into ``into``."""
        given = Rows.of(rows)
        if query.name in {HEARTBEAT, SCRAPED_AT}:
            self._sort_scrapes(query, given, into)
            return
        answer = self._answers.get(query.name)
        if answer is None or answer.turn != self._turn or not _same(answer.labels, given.labels):
            answer = self._answers[query.name] = self._learn(query, given.labels)
        if answer.places.size:
            into.counters.append(Readings(answer.counters, given.values[answer.places] * answer.scales))
        for place, known in answer.others:
            value = float(given.values[place])
            if math.isnan(value):
                continue
            if known.sort == "card":
                labels = given.labels[place]
                _note(Card(known.target, labels.get("UUID", "")), known.measure, Row(labels, value), into)
            else:
                self._gauge(query, known, value, into)

    def _learn(self, query: Query, labels: Labels) -> _Answer:
        """Find out what each series of an answer is; of two names for one thing the better one counts."""
        every = [self._look_up(query, each) for each in labels]
        self._choose(query, every)
        found = [
            (place, known)
            for place, known in enumerate(every)
            if known is not None and known.rank <= known.best.rank
        ]
        counted = [(place, known) for place, known in found if known.sort == "counter"]
        counters = Counters(
            [known.series for _, known in counted],
            [known.group for _, known in counted],
            # A zone without users' traffic is no part of what the service's clients see.
            [known.abroad if known.target.zone in self._evacuated else known.rows for _, known in counted],
        )
        return _Answer(
            labels,
            self._turn,
            counters,
            np.array([place for place, _ in counted], dtype=np.int64),
            np.array([known.scale for _, known in counted], dtype=np.float64),
            [(place, known) for place, known in found if known.sort != "counter"],
        )

    def _choose(self, query: Query, every: Iterable[_Known | None]) -> None:
        """Note the best names of an answer: others are the best after an upgrade, and after a rollback.

        Names of two queries come in the order of their ranks: what the better one's shows no more is lost.
        """
        shown: dict[_Best, int] = {}
        for known in every:
            if known is not None:
                shown[known.best] = min(known.rank, shown.get(known.best, known.rank))
        before, self._shown[query.name] = self._shown.get(query.name, frozenset()), frozenset(shown)
        if any(best.query == query.name for best in before - shown.keys()):
            self._turn += 1
        for best, rank in shown.items():
            gone = best.query == query.name or best not in self._shown.get(best.query, ())
            if rank < best.rank or (rank > best.rank and gone):
                best.rank, best.query = rank, query.name
                self._turn += 1

    def _sort_scrapes(self, query: Query, rows: Rows, into: Sorted) -> None:
        """Note whether, or when, each replica was scraped."""
        known = self._scrapes.get(query.name)
        if known is None or not _same(known.labels, rows.labels):
            words = self._labels_of(query)
            found = [self._target(words, each) for each in rows.labels]
            replicas = [(n, each) for n, each in enumerate(found) if each and each.level == "replica"]
            places = np.array([number for number, _ in replicas], dtype=np.int64)
            known = _Scrapes(rows.labels, places, [each for _, each in replicas])
            self._scrapes[query.name] = known
        values = rows.values[known.places]
        if query.name == HEARTBEAT:
            into.up.update(zip(known.targets, (values > 0).tolist(), strict=True))
        else:
            into.scraped_at.update(zip(known.targets, values.tolist(), strict=True))

    def _gauge(self, query: Query, known: _Known, value: float, into: Sorted) -> None:
        key = (known.measure, known.target)
        before = into.gauges.get(key)
        value *= known.scale
        count = into.counts[key] = into.counts.get(key, 0) + 1
        fold = query.profile.measures[known.group[0]].fold or "sum"
        if before is None:
            into.gauges[key] = value
        elif fold == "max":
            into.gauges[key] = max(before, value)
        else:
            into.gauges[key] = before + (value if fold == "sum" else (value - before) / count)

    def _look_up(self, query: Query, found: Mapping[str, str]) -> _Known | None:
        """Return what is known of a series."""
        key = (query.name, *found, *found.values())
        known = self._known.get(key)
        if known is None:
            known = self._find_out(query, key, found)
            if known is not None:
                self._known[key] = known
        return known

    def _find_out(self, query: Query, key: tuple[str, ...], found: Mapping[str, str]) -> _Known | None:
        named = query.measures.get(found.get("__name__", ""))
        target = self._target(self._labels_of(query), found)
        if named is None or target is None:
            return None
        measure = query.profile.measures[named.measure]
        part = part_of(measure, named.series, found)
        scale = _scale(measure, named.series, found)
        if part is None or scale is None:
            return None
        card = named.measure in CARD_MEASURES
        sort: _Sort = "card" if card else "gauge" if measure.type == "gauge" else "counter"
        rows = () if measure.type == "gauge" else self.rows(named.measure, part, target)
        return _Known(
            gauge_name(named.measure, found.get(measure.named, "")) if measure.named else named.measure,
            target,
            named.rank,
            self._best.setdefault((named.measure, target), _Best(named.rank, query.name)),
            rows,
            rows[:-1],
            scale,
            sort,
            self._series.setdefault(key, object()),
            (named.measure, target),
        )

    def rows(self, measure: str, part: float | str, target: Target) -> tuple[int, ...]:
        """Return the rows that an event at ``target`` adds to: its own and those of all wider targets."""
        key = (measure, part, target)
        known = self._rows.get(key)
        if known is None:
            wider: list[Target] = [target]
            while (parent := wider[-1].parent()) is not None:
                wider.append(parent)
            known = self._rows[key] = tuple(self.store.row((measure, part, each)) for each in wider)
        return known

    def _target(self, labels: TargetLabels, found: Mapping[str, str]) -> Target | None:
        zone, node, replica = (
            found.get(name) or None if name else None for name in (labels.zone, labels.node, labels.replica)
        )
        if labels.replica is not None:
            if replica is None:
                return None
            if replica in self._places:
                return self._places[replica]
        elif labels.zone is None and node is not None:
            return self._nodes.get(node)
        parts = [part for part in (zone, node, replica) if part is not None]
        wanted = [name for name in (labels.zone, labels.node, labels.replica) if name is not None]
        if len(parts) != len(wanted) or zone is None or (replica is not None and node is None):
            return None
        return Target(self._service.name, self._service.spec.cluster, *parts)

    def _labels_of(self, query: Query) -> TargetLabels:
        name = query.profile.name
        if name not in self._labels:
            self._labels[name] = target_labels(query.profile, self._service)
        return self._labels[name]


def gauge_name(measure: str, value: str) -> str:
    """Return the name of one of the gauges that a label tells apart."""
    return f"{measure}/{value}"


def _same(known: Labels, given: Labels) -> bool:
    return known is given or known == given


def _note(card: Card, measure: str, row: Row, into: Sorted) -> None:
    card = into.cards.setdefault(card.key, card)
    # Without honorLabels the exporter's own pod is `pod`, and the card's is `exported_pod`.
    card.pod = row.labels.get("exported_pod") or row.labels.get("pod") or card.pod
    watch = row.labels.get("health_watch", "").lower()
    name = f"{measure}_{watch}" if watch else measure
    card.values[name] = max(row.value, card.values.get(name, 0.0))


def part_of(measure: Measure, series: Series, found: Mapping[str, str]) -> float | str | None:
    """Say which part of its measure a series is: a bucket's bound, good, bad or all; None if it is none."""
    if measure.type == "histogram":
        return float(found.get("le", "nan")) * measure.scale
    if series.part is not None:
        return series.part
    if measure.outcomes is None:
        return ALL
    value = found.get(measure.outcomes.label, "")
    if value in measure.outcomes.good:
        return GOOD
    return BAD if value in measure.outcomes.bad else None


def _scale(measure: Measure, series: Series, found: Mapping[str, str]) -> float | None:
    """Return what the samples are multiplied by; None where labels that should be numbers are not."""
    try:
        factors = [float(found[label]) for label in series.product]
    except (KeyError, ValueError):
        return None
    return math.prod(factors, start=1.0 if measure.type == "histogram" else measure.scale)

"""One service, observed: each tick a handful of queries, the canaries' word, and all windows moved on.

It evaluates at ``now - lag``, so that what it reads is complete, and says so. A source
whose query failed or came back empty is not fresh, and what rests on it is unknown until
it is. On start and on take-over the windows are rebuilt from ranges. It refuses to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import numpy as np

from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import FleetwardError
from controlplane.model.overview import SourceState
from controlplane.model.query import Query as Wanted
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.model.topology import Topology, Weights
from controlplane.observe import doubts, states
from controlplane.observe.answers import ALL, GOOD, Card, Sorted, Sorter
from controlplane.observe.counters import LATE, CounterBook, Counters, Readings
from controlplane.observe.doubts import OLD_SCRAPE
from controlplane.observe.measures import Measures
from controlplane.observe.past import Past, Piece, Reader, pieces
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import SCRAPED_AT, Profile, Query, queries, serving
from controlplane.observe.queried import QueryBook
from controlplane.observe.series import Row, Rows, Source
from controlplane.observe.windows import WindowStore

TICK = 2.0
LAG = 0.3
"""Seconds. A scrape's samples are stored within a few tens of milliseconds of its time stamp."""
COLLECT = (100_000, 10, 10)
"""When to look for garbage in cycles: a tick makes and drops a hundred thousand objects, none in one."""
AT_ONCE = 60.0
"""Seconds that are read on start before anything else, at a tick's resolution: the fast tiers' windows."""
_LOST_AFTER = 30.0


@dataclass(slots=True)
class _SourceMemory:
    last_at: datetime | None = None
    detail: str = "never answered"
    optional: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What one tick saw. ``evidence`` says, per indicator and replica, which sources call it bad now."""

    at: datetime
    evaluated_at: datetime
    sources: tuple[SourceState, ...]
    evidence: Mapping[str, Mapping[Target, frozenset[str]]]
    states: Mapping[str, Mapping[Target, bool]]
    """Per-replica verdicts of this tick (availability, stalled), by indicator; missing means unknown."""
    cards: tuple[Card, ...] = ()
    queried: frozenset[str] = frozenset()
    """Objectives' own queries that have an answer of about now."""

    def is_fresh(self, source: str) -> bool:
        return any(state.name == source and state.state == "fresh" for state in self.sources)


@dataclass(slots=True)
class Observer:
    """Keeps one service's windows. One loop owns it; `probes` may be written by another thread."""

    service: Service
    source: Source
    profiles: Mapping[str, Profile]
    probes: ProbeBook
    tick: float = TICK
    lag: float = LAG
    measures: Measures = field(init=False)
    _queries: list[Query] = field(init=False)
    _sorter: Sorter = field(init=False)
    _asked: QueryBook = field(init=False)
    _book: CounterBook = field(init=False)
    _memory: dict[str, _SourceMemory] = field(init=False)
    _slos: list[Slo] = field(init=False, default_factory=list)
    _past: Past | None = field(init=False, default=None)
    _fed: dict[tuple[str, Target], tuple[tuple[int, ...], tuple[int, ...]]] = field(
        init=False, default_factory=dict
    )
    _canary: tuple[list[Target], Counters] | None = field(init=False, default=None)
    """Whom the canaries asked, and what is counted of them."""
    _progress: states.ProgressBook = field(init=False, default_factory=states.ProgressBook)

    def __post_init__(self) -> None:
        self.profiles = serving(self.profiles, self.service)
        store = WindowStore()
        folds = {
            name: measure.fold
            for profile in self.profiles.values()
            for name, measure in profile.measures.items()
            if measure.fold
        }
        self.measures = Measures(self.service, store, folds=folds, least=2 * self.tick)
        self._queries = [
            query for profile in self.profiles.values() for query in queries(profile, self.service)
        ]
        self._sorter = Sorter(self.service, store)
        self._asked = QueryBook(self.service, self._sorter)
        self._book = CounterBook(store, self.tick)
        self._memory = {
            profile.source: _SourceMemory(optional=profile.optional) for profile in self.profiles.values()
        }

    def want(self, slos: Iterable[Slo]) -> None:
        """Say which objectives there are: some have queries of their own."""
        self._slos = list(slos)
        self._asked.want(slo.spec.indicator for slo in self._slos if isinstance(slo.spec.indicator, Wanted))

    def observe(self, now: datetime, topology: Topology, weights: Weights | None) -> Observation:
        """Read one tick's samples and move the windows on."""
        at = now - timedelta(seconds=self.lag)
        moment = at.timestamp()
        replicas = [target for target, _ in topology.replicas()]
        evacuated = _evacuated(weights)
        self._place(replicas, evacuated)
        texts = {query.name: query.promql for query in self._queries} | self._asked.due(moment)
        answers = self.source.poll(texts, at)
        found = self._sort(self._sorter, answers)
        self._remember(answers, found, at)
        fresh = {name for name, memory in self._memory.items() if memory.fresh}
        if found.scraped_at and moment - max(found.scraped_at.values()) > OLD_SCRAPE * self.tick:
            found.counters.clear()  # nobody scraped meanwhile: they show what they showed before
        cost = self.probes.cost()
        if cost:
            found.counters.append(self._canaries(cost))
        self._book.step(found.counters, moment)
        self._asked.take(answers, moment)
        self.measures.gauges = found.gauges
        seen = states.Seen(found, self.probes, moment, now.timestamp(), OLD_SCRAPE * self.tick, fresh)
        verdicts = states.judge(replicas, seen, self._progress)
        self.measures.states = verdicts.states
        store = self.measures.store
        for indicator, by_replica in verdicts.states.items():
            self._sample(indicator, by_replica, evacuated)
            store.observe(indicator, max(moment - LATE * self.tick, store.last_at), moment)
        store.commit(moment)
        cards = tuple(found.cards.values())
        queried = self._asked.fresh(moment)
        return Observation(now, at, self._sources(at), verdicts.evidence, verdicts.states, cards, queried)

    def rebuild(self, now: datetime, topology: Topology, weights: Weights | None) -> None:
        """Fill the shortest windows from ranges; `catch_up` reads the rest, a piece each time.

        Sources that do not answer stay without history.
        """
        replicas = [target for target, _ in topology.replicas()]
        self._place(replicas, _evacuated(weights))
        end = math.floor((now.timestamp() - self.lag) / self.tick) * self.tick
        begin = end - AT_ONCE
        answers = self.source.ranges(self._texts(self.tick), from_unix(begin), from_unix(end), self.tick)
        store = self.measures.store
        reader = Reader(store, self._book, self._asked, partial(self._sort, self._sorter), self.tick)
        reader.read(Piece(begin, end, self.tick), answers)
        past = store.beside()
        sorter = self._sorter.beside(past)
        asked = QueryBook(self.service, sorter, self._asked.replicas, self._asked.evacuated)
        asked.want(slo.spec.indicator for slo in self._slos if isinstance(slo.spec.indicator, Wanted))
        sorter.place(replicas, self._asked.evacuated)
        reader = Reader(past, CounterBook(past, self.tick), asked, partial(self._sort, sorter), self.tick)
        until = begin if math.isinf(store.last_at) else store.first_at
        suspects = doubts.suspects(self._queries, self.service)
        self._past = Past(reader, self.source, self._texts, pieces(until, self.tick), suspects, self.tick)

    @property
    def warming(self) -> bool:
        """Whether the longer windows are still being read."""
        return self._past is not None

    def catch_up(self) -> None:
        """Read a piece of the past, while some is left and there is somebody to ask."""
        answers = any(memory.fresh for memory in self._memory.values())
        if self._past is not None and answers and self._past.go_on(self.measures.store, self._book):
            self._past = None

    def _texts(self, step: float) -> dict[str, str]:
        """Return the queries that have a past, for steps of this length."""
        counters = {query.name: query.promql for query in self._queries if query.counts}
        return counters | doubts.sight(self._queries) | self._asked.texts(step)

    def _place(self, replicas: Sequence[Target], evacuated: frozenset[str]) -> None:
        self._sorter.place(replicas, evacuated)
        self._asked.replicas = {target.name: target for target in replicas}
        self._asked.evacuated = evacuated

    def _sort(self, sorter: Sorter, answers: Mapping[str, Sequence[Row] | FleetwardError]) -> Sorted:
        found = Sorted()
        for query in self._queries:
            answer = answers.get(query.name)
            if answer is not None and not isinstance(answer, FleetwardError):
                sorter.sort(query, answer, found)
        return found

    def _remember(
        self, answers: Mapping[str, Sequence[Row] | FleetwardError], found: Sorted, at: datetime
    ) -> None:
        """Note which sources answered this tick with something that is recent."""
        problems: dict[str, str] = {}
        filled: set[str] = set()
        for query in self._queries:
            answer = answers.get(query.name, [])
            if isinstance(answer, FleetwardError):
                problems[query.profile.source] = str(answer)
            elif answer:
                filled.add(query.profile.source)
                newest = float(Rows.of(answer).values.max()) if query.name == SCRAPED_AT else None
                if newest is not None and at.timestamp() - newest > OLD_SCRAPE * self.tick:
                    problems[query.profile.source] = f"last scrape {at.timestamp() - newest:.0f} s ago"
        for name, memory in self._memory.items():
            problem = problems.get(name) or (None if name in filled else "no series")
            memory.fresh = problem is None
            memory.detail = problem or ""
            memory.last_at = at if memory.fresh else memory.last_at

    def _sources(self, at: datetime) -> tuple[SourceState, ...]:
        shown = []
        for name, memory in self._memory.items():
            if memory.optional and memory.last_at is None:
                continue
            age = (at - memory.last_at).total_seconds() if memory.last_at else math.inf
            state = "fresh" if memory.fresh else "stale" if age <= _LOST_AFTER else "lost"
            shown.append(
                SourceState.model_validate(
                    {"name": name, "state": state, "last_at": memory.last_at, "detail": memory.detail or None}
                )
            )
        return tuple(shown)

    def _sample(self, indicator: str, by_replica: Mapping[Target, bool], evacuated: frozenset[str]) -> None:
        """Count one event for each replica, where it is and in all that contains it."""
        rows: list[int] = []
        for target, good in by_replica.items():
            fed = self._fed.get((indicator, target))
            if fed is None:
                every = self._sorter.rows(indicator, ALL, target), self._sorter.rows(indicator, GOOD, target)
                fed = self._fed[indicator, target] = every
            for feeds in fed if good else fed[:1]:
                rows += feeds[:-1] if target.zone in evacuated else feeds
        self.measures.store.add(np.array(rows, dtype=np.int64), np.ones(len(rows)))

    def _canaries(self, cost: Mapping[Target, tuple[int, int]]) -> Readings:
        """Read what the canaries themselves added to the engines' counters."""
        asked = list(cost)
        if self._canary is None or self._canary[0] != asked:
            groups = [(name, target) for name in ("canary_tokens", "canary_aborts") for target in asked]
            rows = [self._sorter.rows(name, ALL, target) for name, target in groups]
            self._canary = asked, Counters(groups, groups, rows)
        return Readings(self._canary[1], np.array(list(cost.values()), dtype=np.float64).T.ravel())

    @property
    def needed(self) -> frozenset[str]:
        """Sources that decisions rest on: all that are not optional."""
        return frozenset(name for name, memory in self._memory.items() if not memory.optional)


def _evacuated(weights: Weights | None) -> frozenset[str]:
    return (
        frozenset(zone for zone, weight in weights.weights.items() if weight == 0) if weights else frozenset()
    )

"""The backtest: documents and a span go in, the loop looks at each tick of the past, a report comes out.

Every service has its own tick, the interval at which it was scraped; the documents, the store and the
clock are shared, as in the loop. It holds one chunk of samples a service in memory at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from controlplane.backtest import notes, summary
from controlplane.backtest.alerts import RecordedAlerts, names_of
from controlplane.backtest.fleet import RecordedFleet
from controlplane.backtest.imagined import ImaginedRuns
from controlplane.backtest.look import NoProber, RecordedTick
from controlplane.backtest.needs import narrowed, needs_of, reduced
from controlplane.backtest.recording import Recording
from controlplane.backtest.report import Report
from controlplane.backtest.span import Span, scrape_interval, tick_of
from controlplane.backtest.witness import Witness
from controlplane.controller.inputs import DocumentCache, Documents
from controlplane.controller.tick import Shared
from controlplane.kernel.clock import VirtualClock, from_unix
from controlplane.kernel.errors import InvalidInput
from controlplane.model.action import ActionRegistry
from controlplane.model.base import Mode
from controlplane.model.documents import Bundle
from controlplane.model.kind import Kind
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.model.triggers.budget import BUDGET
from controlplane.observe.archive import Archive
from controlplane.observe.observer import Observer
from controlplane.observe.profile import HEARTBEAT, SCRAPED_AT, Profile, queries, serving, shipped
from controlplane.platforms.port import Platform
from controlplane.store.memory import MemoryDatabase

Progress = Callable[[datetime], None]
"""Told the time that has been reached, now and then."""

_READ = (Service, Slo, Playbook, Policy)
TOLD_EVERY = 600.0
"""Seconds of the past between two words of progress."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be tested. ``mode`` stands in for the policy's; ``where`` is what the archive is called."""

    bundle: Bundle
    span: Span
    where: str
    mode: Mode | None = None
    profiles: Mapping[str, Profile] = field(default_factory=shipped)


@dataclass(frozen=True, slots=True)
class Watched:
    """One service under test."""

    service: Service
    interval: float
    tick: float
    look: RecordedTick
    fleet: RecordedFleet
    widened: tuple[str, ...]


class Backtest:
    """One run over the past."""

    def __init__(self, archive: Archive, order: Order, actions: ActionRegistry) -> None:
        self._archive, self._order, self._actions = archive, order, actions
        models = [entry.model for entry in order.bundle.loaded if isinstance(entry.model, _READ)]
        self._services = [model for model in models if isinstance(model, Service)]
        if not self._services:
            msg = "there is no Service among the files"
            raise InvalidInput(msg, hint="give the files with the Service, its SLOs and the playbooks")
        self._models = models
        self._clock = VirtualClock(from_unix(order.span.start))

    def run(self, progress: Progress = lambda _: None) -> Report:
        """Look at every tick of the span, and return what came of it."""
        intervals = {service.name: self._interval(service) for service in self._services}
        database = MemoryDatabase(self._clock)
        try:
            widened = self._store(database, {name: tick_of(found) for name, found in intervals.items()})
            with database.reading() as tx:
                documents = DocumentCache().read(tx)
            watched = [
                self._watch(service, intervals[service.name], database, documents, widened[service.name])
                for service in self._services
            ]
            self._play(watched, documents, progress)
            return self._report(database, watched, documents)
        finally:
            database.close()

    def _interval(self, service: Service) -> float:
        engine = self._order.profiles[service.spec.engine]
        beat = next(query for query in queries(engine, service) if query.name == HEARTBEAT)
        return scrape_interval(self._archive, beat.selector, self._order.span)

    def _store(self, database: MemoryDatabase, ticks: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """Put the documents in force; return by service the objectives whose short window was widened."""
        widened: dict[str, list[str]] = {name: [] for name in ticks}
        with database.transaction() as tx:
            for model in self._models:
                kept = _with_mode(model, self._order.mode)
                if isinstance(kept, Slo) and kept.spec.service in ticks:
                    wider = notes.widened(kept, ticks[kept.spec.service])
                    widened[kept.spec.service] += [kept.name] if wider is not kept else []
                    kept = wider
                tx.documents.put(kept, source="backtest")
        return {name: tuple(found) for name, found in widened.items()}

    def _watch(
        self,
        service: Service,
        interval: float,
        database: MemoryDatabase,
        documents: Documents,
        widened: tuple[str, ...],
    ) -> Watched:
        span, tick = self._order.span, tick_of(interval)
        needs = needs_of(documents.slos_of(service.name), documents.playbooks.values())
        profiles = reduced(serving(self._order.profiles, service), needs)
        instead = narrowed(self._archive, service, profiles.values(), needs, span)
        engine = profiles[service.spec.engine]
        beat = next(query for query in queries(engine, service) if query.name == SCRAPED_AT)
        recording = Recording(self._archive, span, tick, instead, (beat.name, beat.promql))
        prober = NoProber(service)
        observer = Observer(service, recording, profiles, prober.book, tick, lag=0.0)
        fleet = RecordedFleet(service, engine, recording, tick)
        imagined = ImaginedRuns(database)
        shared = Shared(
            database,
            lambda _: None,
            cast("Platform", fleet),  # what is asked of a platform is asked of the fleet below
            self._actions,
            imagined.wake,
            tick,
        )
        witness = Witness(observer.measures)
        triggers = [one for each in documents.playbooks.values() for one in each.spec.triggers]
        look = RecordedTick(
            shared,
            service,
            observer,
            prober,
            imagined=imagined,
            witness=witness,
            sent=RecordedAlerts(service, recording, wanted=bool(names_of(documents.playbooks.values()))),
            budgets=any(trigger.type == BUDGET for trigger in triggers),
        )
        look.fleet = fleet
        return Watched(service, interval, tick, look, fleet, widened)

    def _play(self, watched: list[Watched], documents: Documents, progress: Progress) -> None:
        told = self._order.span.start
        for at, each in _moments(watched, self._order.span):
            now = from_unix(at)
            self._clock.advance(max(0.0, (now - self._clock.now()).total_seconds()))
            each.look.look(documents, now)
            if at - told >= TOLD_EVERY:
                told = at
                progress(now)
        progress(from_unix(self._order.span.end))

    def _report(self, database: MemoryDatabase, watched: list[Watched], documents: Documents) -> Report:
        span = self._order.span
        with database.reading() as tx:
            incidents = summary.incidents(
                tx, {k: v for each in watched for k, v in each.look.witness.worst.items()}
            )
            scheduled = summary.scheduled(tx)
        return Report(
            prometheus=self._order.where,
            since=from_unix(span.start),
            until=from_unix(span.end),
            services=tuple(
                summary.seen(each.service.name, each.interval, each.tick, each.look.witness, each.fleet)
                for each in watched
            ),
            incidents=incidents,
            scheduled=scheduled,
            nearly=tuple(
                missed
                for each in watched
                for missed in summary.nearly(each.service.name, each.look.witness.close())
            ),
            notes=tuple(
                notes.notes(
                    documents,
                    {each.service.name: (each.tick, each.widened) for each in watched},
                    assumed=[each.service.name for each in watched if not each.fleet.weighed],
                )
            ),
        )


def _moments(watched: list[Watched], span: Span) -> Iterator[tuple[float, Watched]]:
    """Yield every tick of every service in the order of time."""
    due = [(-(-span.start // each.tick) * each.tick, place) for place, each in enumerate(watched)]
    heapq.heapify(due)
    while due and due[0][0] <= span.end:
        at, place = heapq.heappop(due)
        yield at, watched[place]
        heapq.heappush(due, (at + watched[place].tick, place))


def _with_mode(model: Kind, mode: Mode | None) -> Kind:
    if mode is None or not isinstance(model, Policy):
        return model
    return model.model_copy(update={"spec": model.spec.model_copy(update={"mode": mode})})

"""One look at one service: fleet, metrics, verdicts, incidents, runs, and the pictures left behind.

Each stage's results are committed before the next begins, under the leader's fence. What a
tick could not see it leaves unknown. It does not wait for anything that it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import structlog

from controlplane.controller.cases import RESOLVED, Desk
from controlplane.controller.dryrun import DryRuns
from controlplane.controller.inputs import Documents, Fleet
from controlplane.controller.ledger import IncidentKeeper, held_targets, reconcile
from controlplane.controller.readings import leave_readings
from controlplane.controller.standing import Standing
from controlplane.controller.timetable import Timetable
from controlplane.decide import (
    alerts,
    cards,
    guards,
    incidents,
    look,
    picture,
    service_state,
    signals,
)
from controlplane.decide.absence import absences
from controlplane.decide.folding import fold
from controlplane.decide.plan import Plan, verdict_window
from controlplane.model.action import ActionRegistry
from controlplane.model.base import Model
from controlplane.model.overview import OVERVIEW, HistoryPoint, Overview, SourceState
from controlplane.model.records import Incident
from controlplane.model.service import Service
from controlplane.model.signals import SIGNALS, CanaryState, SignalsSnapshot, Verdict
from controlplane.model.slo import Slo
from controlplane.model.states import IncidentState
from controlplane.model.target import Signal, Target
from controlplane.model.topology import Topology
from controlplane.model.triggers.base import Facts
from controlplane.observe.library import CANARY
from controlplane.observe.observer import Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

WARM_TICKS = 2
"""Ticks a new leader must have seen before anything is started."""


_BAD_STATES = {IncidentState.PENDING, IncidentState.FIRING, IncidentState.MITIGATED}


class Asks(Protocol):
    """What the tick needs of a canary prober."""

    book: ProbeBook

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def aim(self, replicas: dict[Target, str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Shared:
    """What all services' ticks use. ``fenced`` opens a transaction under the leader's fence."""

    database: Database
    fenced: Callable[[Transaction], None]
    platform: Platform
    actions: ActionRegistry
    wake: Callable[[str], None]
    tick: float

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.database.transaction() as tx:
            self.fenced(tx)
            yield tx


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What one tick concluded, before anything is written."""

    observation: Observation
    verdicts: Sequence[Verdict]
    """What decisions are made of; the objectives with which nothing is are only in ``judged``."""
    judged: signals.Judged
    accused: dict[Target, frozenset[str]]
    canaries: dict[str, CanaryState]
    isolated: AbstractSet[Target]
    traffic: dict[Target, bool | None]
    sources: Sequence[SourceState]
    alerts: Mapping[str, Sequence[Mapping[str, str]]]
    slos: Sequence[Slo]

    def every(self) -> list[Verdict]:
        """Return also those of the objectives with which nothing is; that takes time."""
        return [*self.judged.calm(), *self.verdicts]


@dataclass(slots=True)
class ServiceTick:
    """Everything that is kept between two looks at one service, by one leader."""

    shared: Shared
    service: Service
    observer: Observer
    prober: Asks
    ticks: int = 0
    rebuilt: bool = False
    fleet: Fleet = field(init=False)
    memories: dict[Signal, incidents.Memory] = field(default_factory=dict)
    history: list[HistoryPoint] = field(default_factory=list)
    last_seen: dict[Signal, datetime] = field(default_factory=dict)
    cards: cards.CardBook | None = None
    plan: Plan = field(default_factory=lambda: Plan((), ()))
    standing: Standing = field(init=False)
    read_at: datetime | None = None
    """When all indicators were last left behind."""
    calm_ticks: int = 0
    """Ticks without an open incident: for a while, one that was just resolved may still be answered."""

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.shared.platform, self.service)
        self.standing = Standing(self.service, self.shared.database, self.observer.measures)

    def start(self) -> None:
        """Start the canaries, and take over the history that was left behind."""
        with self.shared.database.reading() as tx:
            body = tx.snapshots.get(OVERVIEW, service=self.service.name)
        if body is not None:
            self.history = list(Overview.model_validate(body).history)
        self.prober.start()

    def stop(self) -> None:
        """Ask nobody any more."""
        self.prober.stop()
        self.fleet.close()

    def look(self, documents: Documents, now: datetime) -> None:
        """Do one tick. Without any picture of the fleet there is nothing to look at."""
        self.fleet.look(now)
        topology = self.fleet.topology
        if topology is None:
            log.warning("no picture of the fleet", service=self.service.name, error=self.fleet.error)
            return
        self.prober.aim({target: view.address for target, view in topology.replicas()})
        if not self.rebuilt:
            # A tick of its own: reading history takes as long as several, and the lease must be kept.
            self.rebuilt = True
            self.observer.want(documents.slos_of(self.service.name))
            self.observer.rebuild(now, topology, self.fleet.weights)
            return
        self.observer.catch_up()
        concluded = self._conclude(documents, topology, now)
        self.ticks += 1
        found = self._keep(documents, concluded, now)
        self._act(documents, concluded, found, now)
        self._leave(concluded, now)

    def _keep(self, documents: Documents, concluded: Conclusion, now: datetime) -> list[Incident]:
        """Move the incidents and the ledger; return the incidents that are open now."""
        with self.shared.transaction() as tx:
            reconcile(tx, self.service, self.fleet)
            held = held_targets(tx, self.service.name)
            playbooks = list(documents.playbooks.values())
            keeper = IncidentKeeper(
                self.service.name,
                self.memories,
                playbooks,
                self.shared.wake,
                warming=self.observer.warming,
            )
            return keeper.keep(tx, concluded.verdicts, self._around(concluded, held.keys(), now), now)

    def _conclude(self, documents: Documents, topology: Topology, now: datetime) -> Conclusion:
        slos = documents.slos_of(self.service.name)
        self.observer.want(slos)
        observation = self.observer.observe(now, topology, self.fleet.weights)
        targets = topology.targets()
        replicas = [target for target, _ in topology.replicas()]
        isolated = {target for target, view in topology.replicas() if not view.in_rotation}
        needed = [state for state in observation.sources if state.name in self.observer.needed]
        fresh = (
            {state.name for state in observation.sources if state.state == "fresh"}
            | {CANARY}
            | observation.queried
        )
        sight = signals.Sight(observation.evaluated_at, fresh, observation.evidence, replicas)
        if not self.plan.is_of(slos, targets):
            self.plan = Plan(slos, targets)
        open_signals, grouped = self._stands(targets)
        judged = signals.weigh(self.plan, self.observer.measures, sight, open_signals)
        found = list(judged.told)
        traffic = service_state.takes_traffic(topology, None if self.fleet.error else self.fleet.weights)
        found += absences(slos, found, traffic, self.last_seen, now)
        playbooks = list(documents.playbooks.values())
        sources = (*needed, self.fleet.source(now))
        seen = look.Look(
            targets,
            self.observer.measures,
            sight,
            {each.name: each.state for each in sources},
            self.standing.count(slos, targets, observation.evaluated_at, warming=self.observer.warming),
        )
        found += look.measured(playbooks, seen)
        found += alerts.verdicts(grouped, open_signals, sight.at, clients=judged.clients)
        found += self._cards(observation, targets, open_signals, fresh="gpu" in fresh)
        verdicts = fold(signals.with_clients(found, clients=judged.clients), targets, open_signals)
        accused = signals.witnesses(verdicts, self.prober.book.failing(replicas, now.timestamp()))
        return Conclusion(
            observation,
            verdicts,
            judged,
            accused,
            self.prober.book.states(replicas, now, isolated),
            isolated,
            traffic,
            sources,
            {str(signal): [each.labels for each in group] for signal, group in grouped.items()},
            slos,
        )

    def _stands(self, targets: Sequence[Target]) -> tuple[set[str], alerts.Grouped]:
        """Return the signals whose incidents are open, and the alerts that stand, by their signals."""
        with self.shared.database.reading() as tx:
            open_signals = {each.signal for each in tx.incidents.list(open=True, service=self.service.name)}
            grouped = alerts.group(tx.alerts.list(status="firing"), self.service, targets)
        return open_signals, grouped

    def _cards(
        self,
        observation: Observation,
        targets: Sequence[Target],
        open_signals: AbstractSet[str],
        *,
        fresh: bool,
    ) -> list[Verdict]:
        """Judge the cards; what is new about them is written down before anything is done about it."""
        service, at = self.service.name, observation.evaluated_at
        if self.cards is None:
            with self.shared.database.reading() as tx:
                self.cards = cards.CardBook.model_validate(
                    tx.snapshots.get(cards.SNAPSHOT, service=service) or {}
                )
        after = self.cards.after(observation.cards, at.timestamp())
        if after is not self.cards:
            with self.shared.transaction() as tx:
                tx.snapshots.put(cards.SNAPSHOT, _json(after), service=service)
            self.cards = after
        return cards.verdicts(after, observation.cards, targets, open_signals, at, fresh=fresh)

    def _around(
        self, concluded: Conclusion, held: AbstractSet[Target], now: datetime
    ) -> Callable[[Verdict], incidents.Circumstances]:
        def around(verdict: Verdict) -> incidents.Circumstances:
            target = verdict.signal.target
            return incidents.Circumstances(
                now,
                confirmed=signals.is_confirmed(verdict, concluded.accused),
                takes_traffic=concluded.traffic.get(target),
                isolated=target in concluded.isolated,
                out_of_service=any(claim.contains(target) for claim in held),
                canary=concluded.canaries.get(str(target)),
                refuses=self.fleet.shed,
                warming=self.observer.warming,
            )

        return around

    def _act(
        self, documents: Documents, concluded: Conclusion, found: Sequence[Incident], now: datetime
    ) -> None:
        desk = self._desk(documents, concluded, found, now)
        self.calm_ticks = 0 if found else self.calm_ticks + 1
        if self.calm_ticks * self.shared.tick <= RESOLVED.total_seconds():
            with self.shared.transaction() as tx:
                desk.decide(tx)
        self._keep_time(desk)
        if self.fleet.topology is not None and self.fleet.weights is not None:
            shared = self.shared
            runs = DryRuns(
                self.service,
                documents,
                shared.actions,
                shared.database,
                shared.transaction,
                shared.database.clock,
            )
            runs.keep(self.fleet.topology, self.fleet.weights)

    def _desk(
        self, documents: Documents, concluded: Conclusion, found: Sequence[Incident], now: datetime
    ) -> Desk:
        tiers = {str(verdict.signal): verdict.tiers for verdict in concluded.verdicts if verdict.bad}
        return Desk(
            self.service,
            documents,
            self._view(documents, concluded, found, now),
            Facts(tiers, concluded.canaries, concluded.alerts),
            self.shared.actions,
            self.shared.wake,
            now,
            self.shared.tick,
        )

    def _keep_time(self, desk: Desk) -> None:
        """Start what the clock calls for. At most ticks nothing is due, and nothing is written."""
        timetable = Timetable(desk)
        with self.shared.database.reading() as tx:
            idle = timetable.is_idle(tx)
        if not idle:
            with self.shared.transaction() as tx:
                timetable.keep(tx)

    def _view(
        self, documents: Documents, concluded: Conclusion, found: Sequence[Incident], now: datetime
    ) -> guards.View:
        assert self.fleet.topology is not None  # noqa: S101 - `look` returns without one
        zones = {
            str(verdict.signal.target.zone)
            for verdict in concluded.verdicts
            if verdict.bad and verdict.signal.target.level == "zone"
        }
        for each in found:
            target = Target.parse(each.target)
            canary = concluded.canaries.get(each.target)
            evacuated = each.state is IncidentState.MITIGATED and canary is not None and canary.good is True
            if target.level == "zone" and each.state in _BAD_STATES and not evacuated:
                zones.add(str(target.zone))
        states = concluded.observation.states.values()
        unhealthy = {target for by_target in states for target, good in by_target.items() if not good}
        slos = documents.slos_of(self.service.name)
        window = max((verdict_window(slo) for slo in slos if slo.spec.fast), default=0.0)
        covered = self.observer.measures.store.covered(window) >= 0.9 * window
        return guards.View(
            now=now,
            service=self.service,
            policy=documents.policy,
            topology=self.fleet.topology,
            sources={state.name: state.state for state in concluded.sources},
            bad_zones=sorted(zones),
            unhealthy=len(unhealthy),
            replicas=len(self.fleet.topology.replicas()),
            warm=self.ticks >= WARM_TICKS and covered,
            ticks=self.ticks,
        )

    def _leave(self, concluded: Conclusion, now: datetime) -> None:
        """Leave the pictures of this tick behind."""
        assert self.fleet.topology is not None  # noqa: S101 - `look` returns without one
        at = concluded.observation.evaluated_at
        with self.shared.transaction() as tx:
            open_incidents = tx.incidents.list(open=True, service=self.service.name)
            verdicts = concluded.every()
            snapshot = SignalsSnapshot.model_construct(
                at=now,
                evaluated_at=at,
                sources={state.name: state.state for state in concluded.sources},
                signals={str(verdict.signal): verdict.state for verdict in verdicts},
                canaries=concluded.canaries,
                takes_traffic={str(target): takes for target, takes in concluded.traffic.items()},
                incidents=tuple(each.title for each in open_incidents),
            )
            scene = picture.Scene(
                self.service,
                self.fleet.topology,
                self.fleet.weights,
                self.observer.measures,
                concluded.canaries,
                concluded.observation.states,
                open_incidents,
                tx.ledger.list(),
                (*concluded.observation.sources, self.fleet.source(now)),
            )
            overview = picture.draw(scene, now, at, self.history)
            self.history = list(overview.history)
            tx.snapshots.put(SIGNALS, _json(snapshot), service=self.service.name, at=now)
            tx.snapshots.put(OVERVIEW, _json(overview), service=self.service.name, at=now)
            self.standing.leave(tx, concluded.slos, verdicts, at, now)
            self.read_at = leave_readings(tx, self.observer.measures, at, now, self.read_at)


def _json(model: Model) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True)

"""One look at one service as it was: the loop's own, with a fleet, a prober and runs that are no real ones.

Nothing is left behind for people to read, and a tick at which nothing is bad and nothing is open writes
nothing at all. Apart from that it judges and decides as `controlplane.controller.tick` does, by being it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.backtest.alerts import RecordedAlerts
from controlplane.backtest.imagined import ImaginedRuns, RecordedDesk
from controlplane.backtest.witness import Witness
from controlplane.controller.cases import RESOLVED, Desk
from controlplane.controller.dryrun import DryRuns
from controlplane.controller.inputs import Documents
from controlplane.controller.standing import Standing
from controlplane.controller.tick import Conclusion, ServiceTick
from controlplane.decide import alerts
from controlplane.model.records import Decision, Incident
from controlplane.model.service import Service
from controlplane.model.signals import CanaryState
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.probes import ProbeBook
from controlplane.store.transaction import Transaction

TIMED_EVERY = timedelta(minutes=1)
"""How often is looked whether the clock calls for something: no schedule is finer than a minute."""
COUNTED_EVERY = timedelta(minutes=1)
"""How often budgets and slices of time are counted: neither moves much within one."""
NEWEST = 20
"""Decisions that are looked at first for runs without a plan; more, while none of them has one."""
PLAN = "plan"
"""What a decision's values call the plan."""


class Unasked(ProbeBook):
    """The book of a canary that asked nobody: it says nothing about anything."""

    def states(
        self, replicas: Sequence[Target], now: datetime, isolated: object = ()
    ) -> dict[str, CanaryState]:
        del replicas, now, isolated
        return {}


class NoProber:
    """Asks nobody: the past does not answer."""

    def __init__(self, service: Service) -> None:
        self.book: ProbeBook = Unasked(service.spec)

    def start(self) -> None:
        """Ask nobody."""

    def stop(self) -> None:
        """Go on asking nobody."""

    def aim(self, replicas: Mapping[Target, str]) -> None:
        """Forget where they were."""
        del replicas


@dataclass
class RecordedStanding(Standing):
    """Counts budgets only where something hangs on them, and each minute: people are shown none.

    ``asked``: a trigger asks what is left.
    """

    asked: bool = True
    counted_at: datetime | None = None
    left: dict[tuple[str, Target], float] = field(default_factory=dict)

    def count(
        self, slos: Sequence[Slo], targets: Sequence[Target], at: datetime, *, warming: bool
    ) -> dict[tuple[str, Target], float]:
        """Count, if a trigger asks for it or an objective counts slices; nothing in between is lost."""
        wanted = self.asked or any(slo.spec.slices for slo in slos)
        if wanted and (self.counted_at is None or at - self.counted_at >= COUNTED_EVERY):
            self.counted_at = at
            self.left = super().count(slos, targets, at, warming=warming)
        return self.left


@dataclass
class RecordedTick(ServiceTick):
    """What is kept between two looks at one service of the past."""

    imagined: ImaginedRuns = field(kw_only=True)
    witness: Witness = field(kw_only=True)
    sent: RecordedAlerts = field(kw_only=True)
    budgets: bool = field(kw_only=True)
    """Whether a trigger asks what is left of an error budget."""
    open: list[Incident] = field(default_factory=list)
    timed_at: datetime | None = None

    def look(self, documents: Documents, now: datetime) -> None:
        """Do one tick."""
        self.imagined.end(now)
        super().look(documents, now)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.standing = RecordedStanding(
            self.service, self.shared.database, self.observer.measures, asked=self.budgets
        )

    def _stands(self, targets: Sequence[Target]) -> tuple[set[str], alerts.Grouped]:
        """Ask no store: what is open is known, and the alerts are those that were recorded."""
        standing = self.sent.at(self.shared.database.now())
        return {each.signal for each in self.open}, alerts.group(standing, self.service, targets)

    def _keep(self, documents: Documents, concluded: Conclusion, now: datetime) -> list[Incident]:
        """Leave the store alone while nothing is bad and nothing is open; every memory is empty then."""
        if not self.open and not any(verdict.bad for verdict in concluded.verdicts):
            self.memories.clear()
            return []
        self.open = super()._keep(documents, concluded, now)
        return self.open

    def _act(
        self, documents: Documents, concluded: Conclusion, found: Sequence[Incident], now: datetime
    ) -> None:
        calm = not found and (self.calm_ticks + 1) * self.shared.tick > RESOLVED.total_seconds()
        if calm and not self._is_time(documents, now):
            self.calm_ticks += 1
            return
        super()._act(documents, concluded, found, now)
        self._draw(documents)
        self.imagined.begin(now)

    def _desk(
        self, documents: Documents, concluded: Conclusion, found: Sequence[Incident], now: datetime
    ) -> Desk:
        desk = super()._desk(documents, concluded, found, now)
        return RecordedDesk(
            desk.service,
            desk.documents,
            desk.view,
            desk.facts,
            desk.actions,
            desk.wake,
            desk.now,
            desk.tick,
            imagined=self.imagined,
            open=frozenset(each.id for each in found),
        )

    def _is_time(self, documents: Documents, now: datetime) -> bool:
        """Tell whether it is to be looked at what the clock calls for."""
        timed = any(
            trigger.timed for playbook in documents.playbooks.values() for trigger in playbook.spec.triggers
        )
        if not timed or (self.timed_at is not None and now - self.timed_at < TIMED_EVERY):
            return False
        self.timed_at = now
        return True

    def _draw(self, documents: Documents) -> None:
        """Add to each decision that started a run what the run would do, from the fleet as it was."""
        topology, weights = self.fleet.topology, self.fleet.weights
        if topology is None or weights is None:
            return
        database = self.shared.database
        with database.reading() as tx:
            started = [
                (each, tx.incidents.find(each.incident) if each.incident is not None else None)
                for each in _undrawn(tx)
            ]
        plans = DryRuns(
            self.service,
            documents,
            self.shared.actions,
            database,
            self.shared.transaction,
            database.clock,
        )
        for decision, incident in started:
            plan = plans.plan(decision, incident, topology, weights)
            with database.transaction() as tx:
                tx.decisions.add_value(decision.id, PLAN, plan)

    def _leave(self, concluded: Conclusion, now: datetime) -> None:
        """Leave no picture; let the witness look."""
        self.witness.see(concluded, self.open, now)


def _undrawn(tx: Transaction) -> list[Decision]:
    """Return the decisions for runs whose plan is missing: the newest, up to the first that has one."""
    limit = NEWEST
    while True:
        newest = tx.decisions.list(outcome="run", limit=limit)
        found = [each for each in newest if PLAN not in each.values]
        if len(found) < limit:
            return found
        limit *= 2

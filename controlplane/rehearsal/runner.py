"""Running one case: the event is decided on as the loop would, and the run is played to its end.

It judges nothing: what came of the case is an `Ending`, which `controlplane.rehearsal.compare`
holds against what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from controlplane.act.approve import StoreApprovals
from controlplane.act.byhand import Ask, Hand
from controlplane.act.cancel import cancel_run
from controlplane.act.executor import Executor
from controlplane.act.plan import RunPlan
from controlplane.controller.cases import Desk
from controlplane.controller.inputs import Documents
from controlplane.decide import guards
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Refused
from controlplane.kernel.ids import new_id
from controlplane.model.action import ActionRegistry, Dimension, SignalReader
from controlplane.model.approval import ApprovalRecord, Approvals
from controlplane.model.ports import Engines, Freezes, Halts, Metrics, Notifier, Web
from controlplane.model.records import (
    AttemptRecord,
    Decision,
    Halt,
    Incident,
    JournalLine,
    Run,
    StepRecord,
    UndoView,
)
from controlplane.model.rehearsal import Case, Earlier, Given, Meanwhile, OtherIncident
from controlplane.model.service import Service
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Signal, Target
from controlplane.model.topology import WriteRecord
from controlplane.model.triggers.base import Facts
from controlplane.model.triggers.gpu import is_event
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.rehearsal.people import People
from controlplane.rehearsal.scripted import with_scripts
from controlplane.rehearsal.suite import Suite
from controlplane.rehearsal.world import (
    Answers,
    AnyEngines,
    Measured,
    NoWeb,
    Outbox,
    build_fleet,
    check_target,
    take_down,
)
from controlplane.store.freeze_port import StoreFreezes
from controlplane.store.halt_port import StoreHalts
from controlplane.store.memory import MemoryDatabase
from controlplane.store.transaction import Transaction

WHO = "rehearsal"
TICK = 2.0
STORY = timedelta(seconds=60)
"""How long the incident has stood at the event: long enough that no wider one is waited for."""
MAX_TURNS = 20_000
"""So many deliveries in one case mean that it goes round in circles."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of a case. ``decision`` None: no trigger of the playbook was called for."""

    decision: Decision | None
    run: Run | None = None
    steps: Sequence[StepRecord] = ()
    attempts: Sequence[AttemptRecord] = ()
    journal: Sequence[JournalLine] = ()
    undo: Sequence[UndoView] = ()
    sent: dict[str, str] = field(default_factory=dict)
    writes: Sequence[WriteRecord] = ()
    weights: dict[str, int] = field(default_factory=dict)
    shed: Sequence[str] = ()
    ready: int = 0
    isolated: Sequence[str] = ()
    held: Sequence[str] = ()
    refused: Sequence[str] = ()
    """What was said to people whose decision did not count."""
    seconds: float = 0.0
    """How long it took on the virtual clock."""


class Stage:
    """Plays cases one after another, in one database that is emptied in between."""

    def __init__(self, actions: ActionRegistry) -> None:
        self._actions = actions
        self._database = MemoryDatabase(VirtualClock())

    def close(self) -> None:
        self._database.close()

    def play(self, suite: Suite, case: Case) -> Ending:
        """Return what comes of a case. Raises what the fleet says to names that it has not."""
        clock = VirtualClock()
        self._database.clear(clock)
        return _Play(self._database, clock, self._actions, suite, case).play()


class _Play:
    """One case on stage."""

    def __init__(
        self, database: MemoryDatabase, clock: VirtualClock, actions: ActionRegistry, suite: Suite, case: Case
    ) -> None:
        self.database, self.clock, self.suite, self.case = database, clock, suite, case
        self.began = clock.now()
        self.given: Given = suite.given(case)
        self.service: Service = suite.service(self.given)
        self.fleet: MemoryPlatform = build_fleet(self.given, self.service, clock)
        self.target = check_target(case.event.target, self.fleet.topology(self.service.name))
        self.measured = Measured(self.given, case.event, self.service, self.fleet, clock, self.began)
        self.outbox = Outbox()
        self.people = People(self.given.answers)
        used: dict[str, set[str]] = {}
        for step in suite.playbook.spec.steps:
            used.setdefault(step.uses, set()).add(step.id)
        self.actions = with_scripts(actions, used, self.given.steps)
        self.ports: dict[type, object] = {
            Platform: self.fleet,
            SignalReader: self.measured,
            Metrics: Answers(self.given),
            Notifier: self.outbox,
            Freezes: StoreFreezes(database),
            Halts: StoreHalts(database),
            Web: NoWeb(),
            Engines: AnyEngines(),
            Approvals: StoreApprovals(database),
        }
        self.woken: list[str] = []
        self.executor = Executor(
            database, self.actions, self.ports, self.woken.append, clock, WHO, keep_leases=False
        )
        self.turns = 0

    def play(self) -> Ending:
        with self.database.transaction() as tx:
            hashes = self._load(tx)
            self._before(tx)
        run = self._by_hand() if self.case.event.signal is None else self._by_loop(hashes)
        if run is not None:
            self._to_the_end(run)
        return self._ending(run)

    # ── before the event ────────────────────────────────────────────────────────────────────────────────────

    def _load(self, tx: Transaction) -> dict[tuple[str, str], str]:
        policy = self.suite.policy(self.given)
        found = [self.service, policy, *self.suite.needed]
        return {(each.kind, each.name): tx.documents.put(each) for each in found}

    def _before(self, tx: Transaction) -> None:
        for held in self.given.fleet.held if self.given.fleet is not None else ():
            target = Target.parse(held.target)
            wide = target.level in {"service", "zone"}
            lost = held.dimension or (Dimension.TRAFFIC if wide else Dimension.CAPACITY)
            tx.ledger.claim(target, lost, held.by, "held in the test")
        for earlier in self.given.earlier:
            tx.runs.add(self._earlier(earlier), RunPlan(steps=self.suite.playbook.spec.steps).to_json())
        for reason in self.given.halts:
            tx.halts.add(self._halt(reason))
        for other in self.given.incidents:
            tx.incidents.add(self._incident(other.target, other.signal, other.tier, other.state))
        event = self.case.event
        if event.signal is not None:
            incident = self._incident(event.target, event.signal, event.tier, event.state)
            known = {"value": event.value, "objective": event.objective, "calm_since": self._calm_since()}
            tx.incidents.add(incident.model_copy(update=known))

    def _calm_since(self) -> datetime | None:
        """Return since when nothing bad is measured, for a case that says that the signal is good already."""
        signal = Signal.parse(f"{self.case.event.signal}@{self.case.event.target}")
        good = self.measured.triggers_good()
        return self.began if good and not is_event(signal) else None

    def _incident(self, target: str, signal: str, tier: str, state: IncidentState) -> Incident:
        since = self.began - STORY
        reached = state in {IncidentState.MITIGATED, IncidentState.RESOLVED}
        return Incident(
            id=new_id("inc", self.clock),
            signal=f"{signal}@{target}",
            service=self.service.name,
            target=target,
            state=state,
            tier=tier,
            title=f"{signal} at {Target.parse(target).name}",
            opened_at=since,
            fired_at=None if state is IncidentState.PENDING else since,
            mitigated_at=since if reached else None,
            resolved_at=self.began if state is IncidentState.RESOLVED else None,
            changed_at=since,
        )

    def _earlier(self, earlier: Earlier) -> Run:
        at = self.began - timedelta(seconds=earlier.ago)
        return Run(
            id=new_id("run", self.clock),
            kind="playbook",
            name=earlier.playbook or self.suite.playbook.name,
            service=self.service.name,
            target=earlier.target or self.case.event.target,
            state=earlier.state,
            group=earlier.group,
            created_at=at,
            started_at=at,
            ended_at=at if is_final(earlier.state) else None,
        )

    def _halt(self, reason: str) -> Halt:
        return Halt(id=new_id("halt", self.clock), reason=reason, by="somebody", created_at=self.clock.now())

    # ── the decision ────────────────────────────────────────────────────────────────────────────────────────

    def _by_loop(self, hashes: dict[tuple[str, str], str]) -> Run | None:
        event = self.case.event
        snapshot = self.measured.latest(self.service.name)
        facts = Facts({f"{event.signal}@{event.target}": (event.tier,)}, snapshot.canaries)
        documents = Documents(
            services={self.service.name: self.service},
            playbooks={self.suite.playbook.name: self.suite.playbook},
            policy=self.suite.policy(self.given).spec,
            hashes=hashes,
        )
        desk = Desk(
            self.service,
            documents,
            self._view(dict(snapshot.sources)),
            facts,
            self.actions,
            self.woken.append,
            self.clock.now(),
            TICK,
        )
        with self.database.transaction() as tx:
            started = desk.decide(tx)
        return started[0] if started else None

    def _view(self, sources: dict[str, str]) -> guards.View:
        topology = self.fleet.topology(self.service.name)
        others: Sequence[OtherIncident] = self.given.incidents
        bad = {Target.parse(each.target) for each in others if each.state is IncidentState.FIRING}
        if self.case.event.state is IncidentState.FIRING:
            bad.add(self.target)
        views = [view for _, view in topology.replicas()]
        return guards.View(
            now=self.clock.now(),
            service=self.service,
            policy=self.suite.policy(self.given).spec,
            topology=topology,
            sources=sources,
            bad_zones=sorted(str(one.zone) for one in bad if one.level == "zone"),
            unhealthy=sum(not view.ready for view in views),
            replicas=len(views),
            ticks=10,
        )

    def _by_hand(self) -> Run | None:
        event = self.case.event
        hand = Hand(self.database, self.actions, self.ports, self.clock)
        ask = Ask(self.suite.playbook.name, event.target, "somebody", event.inputs)
        try:
            return hand.start(ask, self.woken.append)
        except Refused:
            return None

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────

    def _to_the_end(self, run: Run) -> None:
        over = self.began + timedelta(seconds=self.given.until)
        coming = sorted(self.given.meanwhile, key=lambda each: each.after)
        while True:
            with self.database.reading() as tx:
                due = tx.runs.due(resend_after=0.0, limit=100)
                due_at = None if due else tx.runs.due_at(run.id)
                asked = [] if due else tx.approvals.list(run=run.id, waiting=True)
            if due:
                self._advance(due)
                continue
            if due_at is None or self.clock.now() >= over:
                return
            if self.people.speak(self.database, asked):
                continue
            moment = self._next(due_at, asked, coming, over)
            self.clock.advance(max(0.0, (moment - self.clock.now()).total_seconds()))
            while coming and self._at(coming[0]) <= self.clock.now():
                self._happens(coming.pop(0), run.id)
            if self.clock.now() == due_at:
                self._advance([run.id])

    def _next(
        self, due_at: datetime, asked: Sequence[ApprovalRecord], coming: Sequence[Meanwhile], over: datetime
    ) -> datetime:
        """Return when something is due: of the run, of what others say and do, or the end of the case."""
        soonest = self.clock.now() + timedelta(seconds=0.1)  # due now, and not advanced: a lease, a retry
        moments = [over, *self.people.moments(asked), max(due_at, soonest)]
        moments += [self._at(each) for each in coming[:1]]
        return min(moments)

    def _advance(self, due: Sequence[str]) -> None:
        """Let the executor do what is due: sweeper and carrier in one."""
        for run_id in due:
            self.turns += 1
            if self.turns > MAX_TURNS:
                msg = f"it does not come to rest: {MAX_TURNS} turns"
                raise Refused(msg)
            self.executor.advance(run_id)

    def _at(self, event: Meanwhile) -> datetime:
        return self.began + timedelta(seconds=event.after)

    def _happens(self, event: Meanwhile, run: str) -> None:
        if event.weights:
            self.fleet.set_weights(self.service.name, event.weights, expected_version=None, by=None)
        take_down(self.fleet, self.service.name, event.down)
        actions: list[Callable[[Transaction], object]] = []
        if event.cancel is not None:
            actions.append(
                partial(cancel_run, run_id=run, by="somebody", reason=event.cancel, wake=self.woken.append)
            )
        if event.halt is not None:
            actions.append(partial(_add_halt, halt=self._halt(event.halt)))
        if event.resume:
            actions.append(_lift_halts)
        for act in actions:
            with self.database.transaction() as tx:
                act(tx)

    # ── what came of it ─────────────────────────────────────────────────────────────────────────────────────

    def _ending(self, run: Run | None) -> Ending:
        with self.database.reading() as tx:
            views = [view for _, view in self.fleet.topology(self.service.name).replicas()]
            decisions = tx.decisions.list(playbook=self.suite.playbook.name)
            ending = Ending(
                decisions[0] if decisions else None,
                sent=dict(self.outbox.sent),
                writes=[record for record in self.fleet.writes() if record.by is not None],
                weights=self.fleet.weights(self.service.name).weights,
                shed=self.fleet.admission(self.service.name).shed,
                ready=sum(view.ready for view in views),
                isolated=sorted(view.name for view in views if not view.in_rotation),
                held=sorted({row.target for row in tx.ledger.list()}),
                refused=tuple(self.people.refused),
                seconds=(self.clock.now() - self.began).total_seconds(),
            )
            if run is None:
                return ending
            return replace(
                ending,
                run=tx.runs.get(run.id),
                steps=tx.steps.list(run.id),
                attempts=tx.steps.attempts(run.id),
                journal=tx.journal.list(run.id),
                undo=tx.undo.list(run.id),
            )


def _add_halt(tx: Transaction, halt: Halt) -> None:
    tx.halts.add(halt)


def _lift_halts(tx: Transaction) -> None:
    for halt in tx.halts.in_force():
        tx.halts.lift(halt.id)

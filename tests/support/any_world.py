"""A world in which anything may happen: workers die or are stopped, messages are lost or doubled, people act.

The desk that decides, the hand of people, the engine and the actions are the real ones. Played
are the fleet (in memory), what is measured of it, the carrier, and who works when. The database
lives in memory and is emptied between stories; the clock is virtual.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from chaos.drills.actions import register as register_drills
from chaos.drills.ports import DrillPorts
from controlplane.act.approve import StoreApprovals
from controlplane.act.byhand import Ask, Hand
from controlplane.act.executor import Executor
from controlplane.act.sweep import sweep
from controlplane.actions import register
from controlplane.controller.cases import Desk
from controlplane.controller.inputs import Documents, Fleet
from controlplane.controller.ledger import reconcile
from controlplane.decide import guards
from controlplane.decide.service_state import takes_traffic
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionContext, ActionRegistry, SignalReader
from controlplane.model.approval import Approvals
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.ports import Notifier
from controlplane.model.records import Incident, Run
from controlplane.model.signals import CanaryState, SignalsSnapshot, SignalState
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Target
from controlplane.model.triggers.base import Facts
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.memory import MemoryDatabase
from controlplane.store.runs import RunQuery
from controlplane.store.transitions import move
from tests.support.any_drill import Drills
from tests.support.any_playbook import Shape
from tests.support.rig import LEASE_OVER, Crash, Fuse, FusedDatabase, FusedPlatform
from tests.support.scripted import Scripted, ScriptParameters
from tests.support.steps import Outbox

SLO = "slo:chat-success"
TICK = 2.0
MANY = 400
"""So many turns without rest mean that it goes round in circles."""


class FusedMemory(FusedDatabase, MemoryDatabase):
    """A database in memory whose process may die right before and right after each commit."""


class WatchedPlatform(FusedPlatform):
    """A platform that says when somebody has written, whatever the writer was told."""

    watch: Callable[[], None] | None = None

    def _write(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        try:
            return super()._write(call, *args, **more)
        finally:
            if self.watch is not None:
                self.watch()


@dataclass
class Measured:
    """Implements `SignalReader`: one SLO of each zone, and a canary of each part, as the world has them."""

    platform: WatchedPlatform
    clock: VirtualClock
    bad: set[str] = field(default_factory=set)
    """Zones whose clients are not served well."""
    ill: set[str] = field(default_factory=set)
    """Zones whose canaries fail."""

    def latest(self, service: str) -> SignalsSnapshot:
        now = self.clock.now()
        topology = self.platform.topology(service)
        traffic = takes_traffic(topology, self.platform.weights(service))
        since = now - timedelta(seconds=TICK)
        signals = {
            f"{SLO}@{place}": SignalState(
                good=place.zone not in self.bad,
                value=0.5,
                objective=0.9,
                since=since,
                until=now,
                clients_good=not self.bad,
            )
            for place in topology.targets()
            if place.level == "zone"
        }
        return SignalsSnapshot(
            at=now,
            evaluated_at=now,
            sources={"prometheus": "fresh"},
            signals=signals,
            canaries={
                str(place): CanaryState(good=place.zone not in self.ill, good_for=60.0, at=now)
                for place in topology.targets()
            },
            takes_traffic={str(place): takes for place, takes in traffic.items()},
        )


def _flaky(parameters: ScriptParameters, context: ActionContext) -> Outcome:
    return Failed(FailureKind.TRANSIENT, "not now") if context.attempt == 1 else Done()


def _wait(parameters: ScriptParameters, context: ActionContext) -> Outcome:
    return Done() if context.state else Again(7.0, {"waited": True}, "not yet")


def actions() -> ActionRegistry:
    """Return the shipped actions, those of drills, and three that wait, fail at first, or fail for good."""
    found: ActionRegistry = Registry("action")
    register(found)
    register_drills(found)
    for action in (
        Scripted("wait", _wait),
        Scripted("flaky", _flaky),
        Scripted("fail", lambda *_: Failed(FailureKind.PERMANENT, "no use")),
    ):
        found.add(action.name, action)
    return found


class World:
    """One story's database, fleet, workers and carrier."""

    def __init__(
        self, database: FusedMemory, shape: Shape, policy: Policy, playbooks: Sequence[Playbook]
    ) -> None:
        self.clock = VirtualClock()
        database.clear(self.clock)
        self.database, self.shape, self.policy = database, shape, policy
        self.service = shape.service()
        self.playbooks = {playbook.name: playbook for playbook in playbooks}
        self.platform = WatchedPlatform(
            self.clock,
            zones=shape.zones,
            nodes_per_zone=shape.node_count,
            replicas_per_node=shape.replica_count,
        )
        self.measured = Measured(self.platform, self.clock)
        self.drills = Drills(database, self.platform, shape.nodes_by_zone)
        self.outbox = Outbox()
        self.actions = actions()
        self.ports: dict[type, object] = {
            Platform: self.platform,
            SignalReader: self.measured,
            Approvals: StoreApprovals(database),
            Notifier: self.outbox,
            Database: database,
            DrillPorts: self.drills.ports,
        }
        self.hand = Hand(database, self.actions, self.ports, self.clock)
        self.woken: list[str] = []
        self.started = 0
        self.problems: list[str] = []
        """What went wrong where an assertion would not be heard: inside of the engine."""
        self.workers = [self._new_worker(), self._new_worker()]
        with database.transaction() as tx:
            kept = [self.service, policy, *playbooks]
            self.hashes = {(each.kind, each.name): tx.documents.put(each) for each in kept}

    def _new_worker(self) -> Executor:
        self.started += 1
        name = f"worker-{self.started}"
        return Executor(
            self.database, self.actions, self.ports, self.woken.append, self.clock, name, keep_leases=False
        )

    # ── who works, and what becomes of them ─────────────────────────────────────────────────────────────────

    def advance(self, worker: int, run_id: str) -> None:
        self.workers[worker].advance(run_id)

    def die(self, worker: int, run_id: str, at: int) -> None:
        """Let a worker die at the ``at``-th commit or effect of its turn, if there are so many."""
        self._arm(Fuse(at))
        try:
            self.advance(worker, run_id)
        except Crash:
            self.workers[worker] = self._new_worker()
        finally:
            self._arm(None)

    def stop(self, worker: int, run_id: str, at: int, meanwhile: Callable[[], None]) -> None:
        """Let a worker be stopped there for longer than its lease, the other go on, and it come back."""

        def stopped(point: str) -> None:
            self._arm(None)
            if point == "before a commit":  # the one connection is in the middle of a transaction
                return
            self.clock.advance(LEASE_OVER)
            meanwhile()
            self.deliver(1 - worker)

        self._arm(Fuse(at, stopped))
        try:
            self.advance(worker, run_id)
        finally:
            self._arm(None)

    def _arm(self, fuse: Fuse | None) -> None:
        self.platform.fuse = self.database.fuse = self.drills.driver.fuse = fuse

    def deliver(self, worker: int) -> None:
        """Sweep, and deliver what is sent, until nothing is due."""
        for _ in range(MANY):
            sweep(self.database, self.woken.append)
            if not self.woken:
                return
            woken, self.woken[:] = list(self.woken), []
            for run_id in woken:
                self.advance(worker, run_id)
        self.problems.append("there is always something due")

    def run_on(self, seconds: float, worker: int = 0) -> None:
        """Let time pass, from one thing that is due to the next."""
        end = self.clock.now() + timedelta(seconds=seconds)
        for _ in range(MANY):
            self.keep_ledger()
            self.deliver(worker)
            left = (end - self.clock.now()).total_seconds()
            if left <= 0:
                return
            self.clock.advance(min(left, self._until_due()))
        self.problems.append(f"it does not come to rest: {self.active()}")

    def _until_due(self) -> float:
        now = self.clock.now()
        moments = [_next(run, now) for run in self.active()]
        return max(0.05, (min(moments) - now).total_seconds()) if moments else TICK

    def keep_ledger(self) -> None:
        """Do what a tick does: hold the ledger against the platform, end faults that nobody answers for."""
        fleet = Fleet(self.platform, self.service)
        fleet.topology = self.platform.topology(self.service.name)
        fleet.weights = self.platform.weights(self.service.name)
        fleet.read_at, fleet.error = self.clock.now(), ""
        with self.database.transaction() as tx:
            reconcile(tx, self.service, fleet)
        self.drills.reaper.tick()

    # ── what starts runs ────────────────────────────────────────────────────────────────────────────────────

    def ask_for(self, playbook: str, target: str) -> Run:
        """Start a playbook as a person does; raises what the guards say."""
        return self.hand.start(Ask(playbook, target, "ada"), self.woken.append)

    def begin_drill(self, zone: str) -> Run:
        """Start a drill that takes a zone out; raises `Refused` while there is another."""
        pins = {kind: self.hashes[kind, name] for kind, name in (("Service", "chat"), ("Policy", "policy"))}
        return self.drills.start(zone, pins, self.woken.append)

    def decide(self, zone: str) -> None:
        """A zone fails its clients, and the loop decides what is done about it."""
        self.measured.bad.add(zone)
        target = f"chat/local/{zone}"
        now = self.clock.now()
        with self.database.transaction() as tx:
            if not tx.incidents.list(open=True, service="chat"):
                values = {"signal": f"{SLO}@{target}", "service": "chat", "target": target, "tier": "fast"}
                times = {"opened_at": now - timedelta(minutes=1), "changed_at": now, "fired_at": now}
                state = {"state": IncidentState.FIRING, "title": f"{zone} is bad"}
                tx.incidents.add(Incident(id=new_id("inc"), **values, **times, **state))
            self._desk(zone).decide(tx)

    def recover(self, zone: str) -> None:
        """The zone serves its clients well again."""
        self.measured.bad.discard(zone)
        with self.database.transaction() as tx:
            for incident in tx.incidents.list(open=True, service="chat"):
                if Target.parse(incident.target).zone == zone:
                    move(tx, incident, IncidentState.RESOLVED, "it is well")

    def _desk(self, zone: str) -> Desk:
        topology = self.platform.topology("chat")
        facts = Facts({f"{SLO}@chat/local/{zone}": ("fast",)}, self.measured.latest("chat").canaries)
        documents = Documents(
            services={"chat": self.service},
            playbooks=self.playbooks,
            policy=self.policy.spec,
            hashes=self.hashes,
        )
        view = guards.View(
            now=self.clock.now(),
            service=self.service,
            policy=self.policy.spec,
            topology=topology,
            sources={"prometheus": "fresh"},
            bad_zones=[f"chat/local/{zone}"],
            replicas=len(topology.replicas()),
            ticks=10,
        )
        wake, now = self.woken.append, self.clock.now()
        return Desk(self.service, documents, view, facts, self.actions, wake, now, TICK)

    # ── what is there ───────────────────────────────────────────────────────────────────────────────────────

    def runs(self) -> list[Run]:
        """Return every run, the oldest first."""
        with self.database.reading() as tx:
            return tx.runs.list(limit=1000)[::-1]

    def active(self) -> list[Run]:
        with self.database.reading() as tx:
            return tx.runs.list(RunQuery(active=True), limit=1000)


def _next(run: Run, now: datetime) -> datetime:
    """Return when a run is looked at next: due, its lost holder's lease over, or its message sent again."""
    if run.due_at is not None and run.due_at > now and run.lease_until is None:
        return run.due_at
    if run.lease_until is not None and run.lease_until > now:
        return run.lease_until
    return now + timedelta(seconds=1)


def ended(runs: Sequence[Run]) -> bool:
    return all(is_final(run.state) for run in runs)

"""A fleet with clients, on a virtual clock: what a drill breaks, and what its clients then get.

Arrivals come ten a second and go to zones by weight; what becomes of them follows from the
memory driver's state. The control plane is a function that may look and act once per step.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Literal

from chaos.drills.actions import register as register_actions
from chaos.drills.case import exercise_of
from chaos.drills.compile import start_drill
from chaos.drills.library import shipped_drills
from chaos.drills.ports import DrillPorts
from chaos.drills.truth import Request, Truth, known_at
from chaos.drivers.memory import MemoryDriver
from chaos.faults import register as register_faults
from chaos.faults.base import FaultRegistry
from chaos.faults.life import FaultLife
from chaos.reaper import Reaper
from controlplane.act.byhand import Hand
from controlplane.act.executor import Executor
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import Registry
from controlplane.model.action import Action, ActionContext, ActionRegistry, SignalReader
from controlplane.model.base import Model
from controlplane.model.documents import load_bundle
from controlplane.model.drill import Drill
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import Playbook
from controlplane.model.records import FaultRecord, Run
from controlplane.model.service import Objectives
from controlplane.model.states import RunState, is_final
from controlplane.model.target import Target
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from tests.support.rig import fresh_database
from tests.support.steps import Signals
from tests.unit.chaos.drills.rows import RATE, refused, request, slow

NODES = {f"zone-{letter}": (f"node-{letter}1", f"node-{letter}2") for letter in "abc"}
STEP = 1.0
CAPACITY = 18.0
"""Requests/s that the fleet serves without its standby; more wait for their turn."""
LAB = Path(__file__).parents[2] / "chaos" / "lab" / "fleet"

Controlplane = Callable[["World"], None]


class World:
    """Implements `chaos.drills.ports.Evidence` for what happens in it."""

    def __init__(self, folder: Path, controlplane: Controlplane) -> None:
        self.clock = VirtualClock()
        self.driver = MemoryDriver(self.clock, NODES)
        self.database = fresh_database(folder, self.clock)
        faults: FaultRegistry = FaultRegistry("fault")
        register_faults(faults)
        self.ports = DrillPorts(self.driver, self, faults, folder / "reports")
        self.life = FaultLife(self.database, faults, self.driver)
        self.reaper = Reaper(self.database, self.life)
        self.controlplane = controlplane
        self.shares = dict.fromkeys(NODES, 100)
        self.written_at: float | None = None
        self.rows: list[Request] = []
        self.deaf = False
        self.isolated: set[str] = set()
        self.shed: set[str] = set()
        self.backlog, self.capacity = 0.0, CAPACITY
        self._extra = 0.0
        self.hand: type[Hand] = Hand
        self._due = dict.fromkeys(NODES, 0.0)
        self.executor = self.worker("worker-1")
        with self.database.transaction() as tx:
            for file in ("service.yaml", "policy.yaml"):
                for loaded in load_bundle([(file, (LAB / file).read_text())]).raise_problems().loaded:
                    tx.documents.put(loaded.model)

    def worker(self, owner: str) -> Executor:
        actions: ActionRegistry = Registry("action")
        register_actions(actions)
        actions.add(Roll.name, Roll(self))
        ports: dict[type, object] = {
            Database: self.database,
            DrillPorts: self.ports,
            Platform: MemoryPlatform(self.clock),
            SignalReader: Signals(self.clock),
        }
        ports[Hand] = self.hand(self.database, actions, ports, self.clock)
        return Executor(self.database, actions, ports, lambda _: None, self.clock, owner, keep_leases=False)

    # ── Evidence ────────────────────────────────────────────────────────────────────────────────

    def truth(self, since: float, objectives: Objectives) -> Truth:
        if self.deaf:
            raise Unavailable("the traffic generator did not tell the truth")
        rows = (row for row in self.rows if row.planned_at >= since)
        return Truth(known_at(self.now, rows), now=self.now, objectives=objectives)

    def planned_tokens(self, start: float, end: float) -> float | None:
        return sum(row.planned_tokens for row in self.rows if start <= row.planned_at < end)

    def instant(self, query: str) -> float | None:
        return None

    def weights(self) -> dict[str, int]:
        return dict(self.shares)

    def weights_changed_at(self) -> float | None:
        return self.written_at

    def close(self) -> None:
        pass

    # ── the world goes on ───────────────────────────────────────────────────────────────────────

    @property
    def now(self) -> float:
        return self.clock.now().timestamp()

    def write_weight(self, zone: str, weight: int) -> None:
        if self.shares[zone] != weight:
            self.shares[zone], self.written_at = weight, self.now

    def step(self) -> None:
        self._crowd()
        for index in range(round(STEP * RATE)):
            self._arrive(self.now + index / RATE, "batch" if index % 4 == 3 else "interactive")
        self.backlog = max(0.0, self.backlog - self.capacity * STEP)
        self.clock.advance(STEP)
        self.controlplane(self)

    def live(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.step()

    def _crowd(self) -> None:
        """Let those come who come beside the plan."""
        for surge in self.driver.surges():
            self._extra += (surge.factor - 1) * RATE * STEP
            for index in range(int(self._extra)):
                self._arrive(self.now + STEP * index / int(self._extra), surge.tier or "interactive")
            self._extra %= 1

    def _arrive(self, at: float, tier: str) -> None:
        if tier in self.shed:
            away = refused(request(len(self.rows), at, None, replica=None, replica_uid=None, tier=tier))
            self.rows.append(away.model_copy(update={"status": 429}))
            return
        self.backlog += 1
        zone = self._next_zone()
        slot = zone.removeprefix("zone-")
        seq = len(self.rows)
        places = [(seq // 3 % 2 + 1, seq // 6 % 2), (seq // 3 % 2 + 1, 1 - seq // 6 % 2)]
        names = [(f"node-{slot}{node}", f"replica-{slot}{node}-{index}") for node, index in places]
        node, replica = next(each for each in names if each[1] not in self.isolated)
        target = Target("chat", "local", zone, node, replica)
        served = self._served(seq, at, target).model_copy(update={"tier": tier})
        self.rows.append(_later(served, max(0.0, self.backlog - self.capacity) / self.capacity))

    def _served(self, seq: int, at: float, target: Target) -> Request:
        zone = str(target.zone)
        try:
            status = self.driver.status(str(target.node)).replica(target.name)
        except Unavailable:
            return refused(request(seq, at, zone, replica=None, replica_uid=None))
        assert status is not None
        one = request(seq, at, zone, replica=target.name, replica_uid=status.uid)
        answer = self.driver.ask([target], tokens=16, timeout=1.1)[0]
        if status.state != "ready":
            return refused(one)
        if answer.ok:
            return slow(one) if (answer.tpot or 0) > 0.05 else one
        if self.driver.ask([target], tokens=1, timeout=10.0)[0].ok:
            return slow(one)
        lost = {"outcome": "timeout", "ended_at": at + 60, "first_token_at": None, "ttft": None, "tokens": 0}
        return one.model_copy(update=lost)

    def break_off(self, target: Target) -> None:
        """End the requests that wait in a replica whose process is replaced."""
        cut = {"outcome": "error", "ended_at": self.now}
        self.rows = [
            row.model_copy(update=cut)
            if row.replica == target.name and row.outcome == "timeout" and (row.ended_at or 0) > self.now
            else row
            for row in self.rows
        ]

    def _next_zone(self) -> str:
        """Smooth weighted round robin over the zones."""
        total = sum(self.shares.values())
        for zone, weight in self.shares.items():
            self._due[zone] += weight / total
        chosen = max((zone for zone in NODES if self.shares[zone]), key=lambda zone: self._due[zone])
        self._due[chosen] -= 1
        return chosen

    # ── drills ──────────────────────────────────────────────────────────────────────────────────

    def start(self, name: str) -> str:
        with self.database.transaction() as tx:
            return start_drill(tx, shipped_drills()[name], self.ports, started_by="test").id

    def start_within(self, name: str, seconds: float) -> str:
        """Start a shipped drill whose exercise may take so long."""
        return self.start_with(self.drill_running(name, within=seconds))

    def drill_running(self, name: str, **exercise: object) -> Drill:
        """Return a shipped drill with an exercise that is changed."""
        drill = shipped_drills()[name]
        assert drill.spec.exercise is not None
        changed = drill.spec.exercise.model_copy(update=exercise)
        return drill.model_copy(update={"spec": drill.spec.model_copy(update={"exercise": changed})})

    def start_with(self, drill: Drill) -> str:
        with self.database.transaction() as tx:
            return start_drill(tx, drill, self.ports, started_by="test").id

    def run_to_end(self, run_id: str, *, limit: float = 400.0) -> Run:
        """Let the world and the worker go on until the run has ended."""
        end = self.clock.now() + timedelta(seconds=limit)
        while self.clock.now() < end:
            self.step()
            self.executor.advance(run_id)
            if (exercise := self.exercise(run_id)) is not None:
                self.executor.advance(exercise.id)
            run = self.run(run_id)
            if is_final(run.state):
                return run
        raise AssertionError(f"{run_id} did not end: {self.run(run_id)}")

    def fire(self, playbook: str) -> str:
        """Leave the row of a playbook's run for the whole service, as a controller does."""
        now = self.clock.now()
        run = Run(
            id=new_id("run"),
            kind="playbook",
            name=playbook,
            service="chat",
            target="chat/local",
            trigger="slo",
            state=RunState.SUCCEEDED,
            created_at=now,
            started_at=now,
            ended_at=now,
        )
        with self.database.transaction() as tx:
            tx.runs.add(run, {})
        return run.id

    def run(self, run_id: str) -> Run:
        with self.database.reading() as tx:
            return tx.runs.get(run_id)

    def exercise(self, run_id: str) -> Run | None:
        with self.database.reading() as tx:
            return exercise_of(tx, run_id)

    def faults(self, *, standing: bool | None = None) -> list[FaultRecord]:
        with self.database.reading() as tx:
            return tx.faults.list(open=standing)

    def steps(self, run_id: str) -> dict[str, str]:
        with self.database.reading() as tx:
            return {step.id: step.state.value for step in tx.steps.list(run_id)}


def _later(one: Request, wait: float) -> Request:
    """The same request, after a wait for its turn."""
    if one.ttft is None or one.first_token_at is None or one.ended_at is None:
        return one
    times = {"ttft": one.ttft + wait, "first_token_at": one.first_token_at + wait}
    return one.model_copy(update={**times, "ended_at": one.ended_at + wait})


def assert_clean(world: World) -> None:
    """Nothing is left of a drill: no fault, no claim."""
    assert world.faults(standing=True) == []
    with world.database.reading() as tx:
        assert tx.ledger.list() == []
    status = [world.driver.status(one.name) for one in world.driver.targets() if one.level == "node"]
    assert [one.node for one in status if one.faults] == []


class RollParameters(Model):
    """How the engines are restarted, and which of them does not come back."""

    how: Literal["drained", "careless"] = "drained"
    lost: str = ""


class Roll(Action[RollParameters]):
    """Restarts the world's engines one after another, taken out before or not."""

    name: ClassVar[str] = "test.roll"
    parameters: ClassVar[type[Model]] = RollParameters

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, parameters: RollParameters, context: ActionContext) -> Outcome:
        driver, at = self._world.driver, int(context.state.get("at", 0))
        replicas = [target for target in driver.targets() if target.level == "replica"]
        taken = [target.name for target in replicas[at : at + 1]]
        self._world.isolated = set(taken if parameters.how == "drained" else ())
        if at == len(replicas):
            return Done({})
        if replicas[at].name == parameters.lost:
            return Failed(FailureKind.PERMANENT, f"{parameters.lost} does not come back")
        if not context.state.get("drained"):
            return Again(1.0, {"at": at, "drained": True}, f"{replicas[at].name} is drained")
        driver.restart(replicas[at])
        return Again(5.0, {"at": at + 1}, f"{replicas[at].name} loads")


def roll(world: World, **with_: str) -> None:
    """Put a playbook in force that restarts every engine."""
    spec = {
        "steps": [{"id": "roll", "uses": Roll.name, "with": with_, "timeout": "5m"}],
        "inputs": {"reason": {"type": "string", "default": "none"}},
        "windows": {"onlyIn": ["maintenance"]},
    }
    document = {"kind": "Playbook", "metadata": {"name": "scheduled-restart"}, "spec": spec}
    with world.database.transaction() as tx:
        tx.documents.put(Playbook.model_validate(document))

"""One step driven without the engine: the contract of an action's context over memory, with crashes.

`StepDriver` keeps what the engine keeps (resume state, undo records, keys that are the same after a
crash) and nothing else, so that an action's own promises are tested apart from the engine's.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from controlplane.kernel.clock import Clock, VirtualClock
from controlplane.kernel.errors import Ambiguous
from controlplane.model.action import Action, Change, Dimension, SignalReader, UndoRecord, UndoResult
from controlplane.model.approval import ApprovalRecord, Approvals, Question
from controlplane.model.outcome import Again, Outcome
from controlplane.model.ports import (
    Engines,
    Freezes,
    Halts,
    HttpAnswer,
    HttpCall,
    Metrics,
    Notification,
    Notifier,
    Web,
)
from controlplane.model.records import Freeze, Halt
from controlplane.model.service import Service
from controlplane.model.signals import CanaryState, SignalsSnapshot, SignalState
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView, Scale, WriteTag
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform

T = TypeVar("T")
S = TypeVar("S", Halt, Freeze)

SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {
            "model": "m",
            "zones": [{"name": "zone-a"}, {"name": "zone-b"}, {"name": "zone-c"}],
            "tiers": [{"name": "interactive"}, {"name": "batch", "mayShed": True}],
        },
    }
)


CANARIES = (
    "chat/local/zone-a",
    *(f"chat/local/zone-a/node-a{node}" for node in (1, 2)),
    *(f"chat/local/zone-a/node-a{node}/replica-a{node}-{index}" for node in (1, 2) for index in (0, 1)),
)


@dataclass
class Signals:
    """A `SignalReader` that a test writes: ``canary`` and ``slo`` of zone-a, or nothing at all.

    ``part``: the verdict on a threshold of replica-a1-0.
    """

    clock: Clock
    canary: bool | None = True
    slo: bool | None = True
    clients: bool | None = True
    part: bool | None = None
    silent: bool = False
    incidents: tuple[str, ...] = ()
    age: float = 0.0
    canary_age: float = 0.0
    window: float = 2.0
    """Seconds: how far back the samples of a verdict reach."""
    sources: dict[str, Any] = field(default_factory=lambda: {"prometheus": "fresh"})

    def latest(self, service: str) -> SignalsSnapshot | None:
        if self.silent:
            return None
        now = self.clock.now()
        at = _back(now, self.age)
        bounds: dict[str, Any] = {"objective": 0.95, "since": _back(at, self.window), "until": at}
        return SignalsSnapshot(
            at=at,
            evaluated_at=at,
            sources=self.sources,
            signals={
                "slo:tpot@chat/local/zone-a": SignalState(good=self.slo, value=0.5, **bounds),
                "slo:tpot@chat/local/zone-b": SignalState(good=False, value=0.1, **bounds),
                "slo:tpot@chat/local": SignalState(good=self.clients, value=0.7, **bounds),
                "threshold:kv@chat/local/zone-a": SignalState(good=False, value=0.99, **bounds),
                f"threshold:itl@{CANARIES[3]}": SignalState(good=self.part, value=0.09, **bounds),
            },
            canaries={
                place: CanaryState(good=self.canary, at=_back(now, self.canary_age)) for place in CANARIES
            },
            incidents=self.incidents,
        )


def _back(moment: datetime, seconds: float) -> datetime:
    return datetime.fromtimestamp(moment.timestamp() - seconds, moment.tzinfo)


@dataclass
class Numbers:
    """`Metrics` by script: each query gets the next value; an exception is raised; the last one stays."""

    values: list[float | Exception | None] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def instant(self, query: str) -> float | None:
        self.asked.append(query)
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if isinstance(value, Exception):
            raise value
        return value


@dataclass
class Outbox:
    """A `Notifier` that keeps what it was given."""

    sent: list[tuple[Notification, str | None, str | None, str]] = field(default_factory=list)
    error: Exception | None = None

    def send(
        self, notification: Notification, *, channel: str | None = None, url: str | None = None, key: str
    ) -> None:
        self.sent.append((notification, channel, url, key))
        if self.error is not None:
            raise self.error


@dataclass
class Book(Generic[S]):
    """`Halts` or `Freezes` in a dictionary."""

    clock: VirtualClock
    kept: dict[str, S] = field(default_factory=dict)

    def add(self, stop: S, /) -> S:
        return self.kept.setdefault(stop.id, stop)

    def get(self, stop_id: str, /) -> S | None:
        return self.kept.get(stop_id)

    def lift(self, stop_id: str, /) -> S:
        self.kept[stop_id] = self.kept[stop_id].model_copy(update={"lifted_at": self.clock.now()})
        return self.kept[stop_id]


@dataclass
class FakeWeb:
    """A `Web` by script: each call gets the next answer; an exception is raised; the last one stays."""

    answers: list[HttpAnswer | Exception] = field(
        default_factory=lambda: [HttpAnswer(status=200, body='{"id": 7}')]
    )
    calls: list[tuple[HttpCall, str]] = field(default_factory=list)

    def call(self, call: HttpCall, *, key: str) -> HttpAnswer:
        self.calls.append((call, key))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class FakeEngines:
    """`Engines` that keep what they were asked; ``errors`` are raised first, ``seen`` is called each time."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    seen: Callable[[str], object] = field(default=str)

    def complete(self, address: str, *, model: str, prompt: str, max_tokens: int) -> None:
        self.asked.append((address, prompt))
        self.seen(address)
        if self.errors:
            raise self.errors.pop(0)


@dataclass
class Yes:
    """`Approvals` of somebody who says yes to everything."""

    clock: Clock

    def ask(self, run: str, step: str, question: Question) -> ApprovalRecord:
        now = self.clock.now()
        return ApprovalRecord(
            id="apr-1",
            run=run,
            step=step,
            text=question.text,
            roles=question.roles,
            requested_at=now,
            expires_at=now,
            decision="approved",
            decided_at=now,
            decided_by="bob",
        )


@dataclass
class StepContext:
    """One call's context. ``records`` and ``notes`` are the driver's."""

    clock: Clock
    ports: dict[type, object]
    state: Mapping[str, Any]
    records: dict[tuple[str, str], UndoRecord]
    notes: list[str]
    started_at: datetime
    attempt: int = 1
    fence: int = 1
    undoing: bool = False
    run_id: str = "run-1"
    step_id: str = "step"
    service: Service = SERVICE
    scope: Mapping[str, Any] = field(default_factory=dict)
    claims: set[Target] = field(default_factory=set)
    no_room: str | None = None

    def port(self, port: type[T]) -> T:
        return self.ports[port]  # type: ignore[return-value]

    def take_out(self, target: Target, dimension: Dimension) -> str | None:
        if self.no_room is None:
            self.claims.add(target)
        return self.no_room

    def give_back(self, target: Target) -> None:
        self.claims.discard(target)

    def note(self, message: str, **data: Any) -> None:
        self.notes.append(message)

    @contextmanager
    def effect(self, change: Change, part: str = "") -> Iterator[WriteTag]:
        place = (str(change.target), change.field)
        if not self.undoing:
            known = self.records.get(place)
            fresh = UndoRecord(self.run_id, self.step_id, change.target, change.field, change.before, None)
            self.records[place] = replace(known or fresh, intended=change.intended)
        names = (self.run_id, self.step_id, "undo" if self.undoing else "", part)
        key = "/".join(name for name in names if name)
        yield WriteTag(run=self.run_id, step=self.step_id, attempt=self.attempt, fence=self.fence, key=key)
        if not self.undoing:
            self.records[place] = replace(self.records[place], applied=change.intended)


class StepDriver:
    """Runs one step of ``action`` on a memory platform of chat's three zones."""

    def __init__(self, action: Action[Any], **with_: Any) -> None:
        self.clock = VirtualClock()
        self.platform = MemoryPlatform(self.clock, standby_per_node=1)
        self.signals = Signals(self.clock)
        self.metrics = Numbers()
        self.outbox = Outbox()
        self.halts: Book[Halt] = Book(self.clock)
        self.freezes: Book[Freeze] = Book(self.clock)
        self.web = FakeWeb()
        self.engines = FakeEngines()
        self.action = action
        self.parameters = action.parameters.model_validate(with_)
        self.ports: dict[type, object] = {
            Platform: self.platform,
            SignalReader: self.signals,
            Metrics: self.metrics,
            Notifier: self.outbox,
            Freezes: self.freezes,
            Halts: self.halts,
            Web: self.web,
            Engines: self.engines,
            Approvals: Yes(self.clock),
        }
        self.state: dict[str, Any] = {}
        self.records: dict[tuple[str, str], UndoRecord] = {}
        self.notes: list[str] = []
        self.reasons: list[str] = []
        self.attempt = 1
        self.claims: set[Target] = set()
        self.no_room: str | None = None
        """Why nothing more may go out of service now."""

    def context(self, **more: Any) -> StepContext:
        return StepContext(
            clock=self.clock,
            ports=self.ports,
            state=self.state,
            records=self.records,
            notes=self.notes,
            started_at=self.clock.now(),
            attempt=self.attempt,
            claims=self.claims,
            no_room=self.no_room,
            **more,
        )

    def call(self) -> Outcome:
        """Call once as the engine does: an ambiguous end is observed; a new state is kept."""
        try:
            outcome = self.action.run(self.parameters, self.context())
        except Ambiguous:
            observed = self.action.observe(self.parameters, self.context())
            assert observed is not None, "nobody can tell"
            outcome = observed
        if isinstance(outcome, Again):
            self.state = outcome.state
            self.reasons.append(outcome.reason)
        return outcome

    def crash(self) -> None:
        """Call once and lose what came of it, as a worker does that dies before its commit."""
        self.action.run(self.parameters, self.context())
        self.attempt += 1

    def run(self, limit: float = 600.0) -> Outcome:
        """Call until the step ends; the clock moves as far as each `Again` asks."""
        end = self.clock.monotonic() + limit
        for _ in range(5_000):
            outcome = self.call()
            if not isinstance(outcome, Again):
                return outcome
            if self.clock.monotonic() + outcome.after > end:
                break
            self.clock.advance(outcome.after)
        msg = f"not done within {limit:g} s: {self.reasons[-1]}"
        raise AssertionError(msg)

    def undo(self) -> list[UndoResult]:
        """Take every record back, newest first."""
        return [
            self.action.restore(record, self.context(undoing=True))
            for record in reversed(list(self.records.values()))
        ]

    def standing(self) -> dict[str, Any]:
        """Return all that can be declared about the fleet, as it stands."""
        topology = self.platform.topology("chat")
        return {
            "weights": self.platform.weights("chat").weights,
            "admission": self.platform.admission("chat").model_dump(exclude={"version"}),
            "rotation": {view.name: view.in_rotation for _, view in topology.replicas()},
            "schedulable": {node.name: node.schedulable for zone in topology.zones for node in zone.nodes},
            "replicas": {zone.name: self.scale(zone.name).replicas for zone in topology.zones},
        }

    def scale(self, zone: str = "zone-a") -> Scale:
        return self.platform.scale(Target("chat", "local", zone))

    def view(self, replica: str = "replica-a1-0") -> ReplicaView:
        """Return a replica as the platform shows it."""
        topology = self.platform.topology("chat")
        return next(view for _, view in topology.replicas() if view.name == replica)

    def weight(self, zone: str = "zone-a") -> int:
        return self.platform.weights("chat").weights[zone]

    def set_weight(self, weight: int, zone: str = "zone-a") -> None:
        """Change a weight as a person would."""
        self.platform.set_weights("chat", {zone: weight}, expected_version=None, by=None)

    def written(self, zone: str = "zone-a") -> list[int]:
        """Return what the run wrote for ``zone``, from the platform's own log."""
        return [
            record.after[zone] for record in self.platform.writes() if record.by and record.op == "weights"
        ]

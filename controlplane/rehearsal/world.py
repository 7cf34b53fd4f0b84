"""The outside of one case: a fleet in memory, what is measured of it, what the metrics answer, who was told.

Everything follows from the case and the virtual clock, so that a case comes out the same
each time. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.decide.service_state import takes_traffic
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable
from controlplane.kernel.registry import did_you_mean
from controlplane.model.ports import HttpAnswer, HttpCall, Notification
from controlplane.model.rehearsal import Event, Given, Health, Turn
from controlplane.model.service import Service
from controlplane.model.signals import CanaryState, SignalsSnapshot, SignalState
from controlplane.model.target import LEVELS, Target
from controlplane.model.topology import Topology, Weights, ZoneView
from controlplane.platforms.memory import MemoryPlatform

WINDOW = timedelta(seconds=2)
"""How far back the samples of a verdict reach: one tick."""

_CURED = (Turn.model_construct(after=0.0, is_="cured"),)
_SAID: dict[Health, bool | None] = {"good": True, "bad": False, "unknown": None}


def build_fleet(given: Given, service: Service, clock: VirtualClock) -> MemoryPlatform:
    """Return the fleet before the event; raise `NotFound` or `InvalidInput` for names that it has not."""
    shape = given.fleet
    assert shape is not None, "defaults are filled in by the caller"  # noqa: S101
    fleet = MemoryPlatform(
        clock,
        service=service.name,
        cluster=service.spec.cluster,
        zones=service.zones,
        nodes_per_zone=shape.nodes_per_zone,
        replicas_per_node=shape.replicas_per_node,
        standby_per_node=shape.standby_per_node,
        standby_up=shape.standby_up,
        load_time=shape.load_time,
        slots=shape.slots,
    )
    take_down(fleet, service.name, shape.down)
    isolate(fleet, service.name, shape.isolated)
    if shape.shed:
        fleet.set_shed(service.name, shape.shed, expected_version=None, by=None)
    if shape.weights:
        fleet.set_weights(service.name, shape.weights, expected_version=None, by=None)
    for op, failures in given.platform_fails.items():
        fleet.fail_next(op, *failures)
    return fleet


def isolate(fleet: MemoryPlatform, service: str, names: Sequence[str]) -> None:
    """Take replicas out of rotation, by name, as somebody did before."""
    places = {view.name: target for target, view in fleet.topology(service).replicas()} if names else {}
    for name in names:
        if name not in places:
            msg = f"the fleet has no replica `{name}`"
            raise NotFound(msg, hint=did_you_mean(name, list(places)))
        fleet.set_rotation(places[name], False, expected_version=None, by=None)


def take_down(fleet: MemoryPlatform, service: str, names: Sequence[str]) -> None:
    """Let replicas, nodes and zones stop serving, by name."""
    if not names:
        return
    topology = fleet.topology(service)
    nodes = {node.name: [node.name] for zone in topology.zones for node in zone.nodes}
    zones = {zone.name: [node.name for node in zone.nodes] for zone in topology.zones}
    replicas = [view.name for _, view in topology.replicas()]
    for name in names:
        if name in replicas:
            fleet.stop_replica(name)
        elif name in zones or name in nodes:
            for node in zones.get(name) or nodes[name]:
                fleet.set_reachable(node, False)
        else:
            msg = f"the fleet has no replica, node or zone `{name}`"
            raise NotFound(msg, hint=did_you_mean(name, [*replicas, *nodes, *zones]))


@dataclass(frozen=True, slots=True)
class Picture:
    """What follows from the fleet as it stands, whatever the time."""

    zones: tuple[ZoneView, ...]
    weights: Weights
    traffic: dict[str, bool | None]
    """Whether new requests can reach a target."""
    canaries: list[tuple[str, str, bool]]
    """Each target, whose word its canary says as the case names it (empty: none), and whether it is ready."""


@dataclass(slots=True)
class Measured:
    """Implements `SignalReader`: what the loop would have measured at this moment."""

    given: Given
    event: Event
    service: Service
    fleet: MemoryPlatform
    clock: VirtualClock
    began: datetime
    _last: Picture | None = None

    def latest(self, service: str) -> SignalsSnapshot:
        """Return the picture of this moment; it is always fresh, its sources as the case says."""
        now = self.clock.now()
        picture = self._picture(service)
        return SignalsSnapshot(
            at=now,
            evaluated_at=now,
            sources=dict(self.given.sources) or {"prometheus": "fresh"},
            signals=self._signals(now),
            canaries=self._canaries(picture, now),
            takes_traffic=dict(picture.traffic),
            incidents=tuple(
                f"{each.signal} at {Target.parse(each.target).name}" for each in self.given.incidents
            ),
        )

    def _picture(self, service: str) -> Picture:
        """Return the fleet's picture: the last one, while the fleet is as it was then."""
        topology, weights = self.fleet.topology(service), self.fleet.weights(service)
        last = self._last
        if last is None or (topology.zones, weights) != (last.zones, last.weights):
            traffic = {str(target): takes for target, takes in takes_traffic(topology, weights).items()}
            last = self._last = Picture(topology.zones, weights, traffic, self._watched(topology))
        return last

    def _watched(self, topology: Topology) -> list[tuple[str, str, bool]]:
        """Return whose word counts for the canary of each target, and whether the target is ready.

        The case's names speak for all their parts, the narrowest one that there is.
        """
        named = {Target.parse(text): text for text in self.given.canaries}
        found = []
        for target, ready in _readiness(topology):
            over = [one for one in named if one.contains(target)]
            narrowest = named[max(over, key=lambda one: len(str(one)))] if over else ""
            found.append((str(target), narrowest, ready))
        return found

    def _canaries(self, picture: Picture, now: datetime) -> dict[str, CanaryState]:
        """Return what the canaries say: of parts of a target that the case names, the same as of it."""
        courses: dict[str, Sequence[Turn]] = {**self.given.canaries, "": ()}
        states = {}
        for name, course in courses.items():
            good = self._at(course, now) if name else True
            good_for = self._good_for(course, now) if good else 0.0
            states[name, True] = CanaryState(good=good, good_for=good_for, at=now)
            states[name, False] = CanaryState(good=False, at=now)
        return {target: states[name, ready] for target, name, ready in picture.canaries}

    def _signals(self, now: datetime) -> dict[str, SignalState]:
        trigger = self.given.signals.get("trigger", _CURED)
        clients = self.given.signals.get("clients")
        found: dict[str, SignalState] = {}
        for name, course in self.given.signals.items():
            if name not in {"trigger", "clients"}:
                found[name] = self._state(course, clients or course, now)
        signal = self.event.signal
        if signal is not None:
            found[f"{signal}@{self.event.target}"] = self._state(trigger, clients or trigger, now)
            if clients is not None:
                found.setdefault(f"{signal}@{self.service.target}", self._state(clients, clients, now))
        return found

    def _state(self, course: Sequence[Turn], clients: Sequence[Turn], now: datetime) -> SignalState:
        good, all_good = self._at(course, now), self._at(clients, now)
        numbers = {True: 1.0, False: 0.0, None: None}
        return SignalState(
            good=good,
            value=numbers[good],
            objective=1.0 if self.event.objective is None else self.event.objective,
            samples=0.0 if good is None else 100.0,
            since=now - WINDOW,
            until=now,
            clients_good=all_good,
            clients_value=numbers[all_good],
        )

    def triggers_good(self) -> bool | None:
        """Tell what is measured now of the signal that calls for the playbook."""
        return self._at(self.given.signals.get("trigger", _CURED), self.clock.now())

    def _at(self, course: Sequence[Turn], now: datetime) -> bool | None:
        word: Health = "good" if course and course[0].is_ != "good" else "bad"
        for turn in course:
            if self.began + timedelta(seconds=turn.after) <= now:
                word = turn.is_
        if word == "cured":
            return any(record.by is not None for record in self.fleet.writes())
        return _SAID[word]

    def _good_for(self, course: Sequence[Turn], now: datetime) -> float:
        """Return for how long a canary that is good now has been: since its last turn from something else."""
        since, word = self.began - timedelta(seconds=self.given.healthy_for), "good"
        for turn in course:
            at = self.began + timedelta(seconds=turn.after)
            if at <= now:
                first = at == self.began and turn.is_ == "good"
                since = at if word != "good" and turn.is_ == "good" and not first else since
                word = turn.is_
        return (now - since).total_seconds()


def _readiness(topology: Topology) -> list[tuple[Target, bool]]:
    """Return every target, and whether it or a part of it is ready."""
    ready = {place: view.ready for place, view in topology.replicas()}
    for replica, is_ready in list(ready.items()):
        for level in LEVELS[:3]:
            place = replica.at(level)
            ready[place] = ready.get(place, False) or is_ready
    return [(target, ready.get(target, False)) for target in topology.targets()]


@dataclass(slots=True)
class Answers:
    """Implements `Metrics` by script; what nothing answers has no data."""

    given: Given
    asked: dict[int, int] = field(default_factory=dict)

    def instant(self, query: str) -> float | None:
        for index, answer in enumerate(self.given.queries):
            if answer.contains in query:
                times = self.asked.get(index, 0)
                self.asked[index] = times + 1
                value = answer.values[min(times, len(answer.values) - 1)]
                if value == "unavailable":
                    msg = "scripted: the metrics do not answer"
                    raise Unavailable(msg)
                assert not isinstance(value, str), "the only word is `unavailable`"  # noqa: S101
                return value
        return None


@dataclass(slots=True)
class Outbox:
    """Implements `Notifier`: keeps where messages went, a repetition counted once."""

    sent: dict[str, str] = field(default_factory=dict)

    def send(
        self, notification: Notification, *, channel: str | None = None, url: str | None = None, key: str
    ) -> None:
        del notification
        self.sent[key] = str(channel or url)


class AnyEngines:
    """Implements `Engines`: every prompt is answered, and nobody reads it."""

    def complete(self, address: str, *, model: str, prompt: str, max_tokens: int) -> None:
        """Say nothing."""


class NoWeb:
    """Implements `Web` by refusing: a test calls nobody."""

    def call(self, call: HttpCall, *, key: str) -> HttpAnswer:
        del key
        msg = f"a test calls nobody, not {call.url}"
        raise InvalidInput(msg, hint="say what the step results in, in the test's `steps`")


def check_target(text: str, topology: Topology) -> Target:
    """Return the target that a case names, or raise `InvalidInput` with the nearest one."""
    target = Target.parse(text)
    known = [str(one) for one in topology.targets()]
    if str(target) not in known:
        msg = f"the fleet has no target `{text}`"
        raise InvalidInput(msg, hint=did_you_mean(text, known))
    return target

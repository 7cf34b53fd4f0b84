"""A fleet in memory that can be broken: for tests of faults and for rehearsals without processes.

It keeps the lab's promises: a kill hits one incarnation, a fault carries our id and ends at its
expiry, a hang and a single crash live in one incarnation, and who crashes again waits longer.
Nothing moves but by the clock it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from chaos.drivers.port import (
    ALL_CAPABILITIES,
    PROMETHEUS,
    Answer,
    Capability,
    FaultStatus,
    Incarnation,
    NodeFault,
    NodeStatus,
    ReplicaStatus,
    Surge,
    SurgeStatus,
)
from chaos.lab.node.xid import CATALOGUE, Effect
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable
from controlplane.model.target import Target

STEP = 0.022
"""Seconds of an undisturbed step."""
LOAD = 4.0
"""Seconds from a start until an engine is ready."""
USERS = "traffic"
RATE = 12.5
"""Requests/s of the users without a surge."""
BACKOFF = 10.0
"""Seconds from a crash until the next start; the first time there are none."""


@dataclass(slots=True)
class _Replica:
    name: str
    port: int
    uid: str
    since: float
    steps: float = 0.0
    waiting: int = 0
    restarts: int = 0
    dead: bool = False
    crashed_by: str = ""


@dataclass(slots=True)
class _Node:
    target: Target
    replicas: dict[str, _Replica]
    incarnation: Incarnation | None
    faults: dict[str, tuple[NodeFault, dict[str, str]]] = field(default_factory=dict)
    paused_until: datetime | None = None


class MemoryDriver:
    """Implements `chaos.drivers.port.Driver`; ``nodes`` maps a zone to the names of its nodes."""

    capabilities: frozenset[Capability] = ALL_CAPABILITIES

    def __init__(self, clock: Clock, nodes: Mapping[str, tuple[str, ...]], *, service: str = "chat") -> None:
        self._clock = clock
        self._numbers = count(1)
        self._ticked = clock.monotonic()
        self._nodes = {
            name: self._new_node(Target(service, "local", zone, name))
            for zone, names in nodes.items()
            for name in names
        }
        self._surges: dict[str, tuple[Surge, float]] = {}
        self._nodes[PROMETHEUS] = _Node(Target(service, "local"), {}, self._new_incarnation())
        self._struck: set[str] = set()
        self.unreachable: set[str] = set()
        """Nodes, `PROMETHEUS`, `USERS`: who does not answer at present, for whatever reason."""

    def _new_node(self, target: Target) -> _Node:
        slot = target.name.removeprefix("node-")
        born = self._clock.monotonic() - LOAD
        replicas = [
            _Replica(f"replica-{slot}-{index}", 20_000 + next(self._numbers), self._new_uid(), born)
            for index in range(2)
        ]
        return _Node(target, {one.name: one for one in replicas}, self._new_incarnation())

    def _new_uid(self) -> str:
        return f"uid-{next(self._numbers)}"

    def _new_incarnation(self) -> Incarnation:
        return Incarnation(pid=next(self._numbers), start_time=self._clock.now().timestamp())

    # ── Driver ──────────────────────────────────────────────────────────────────────────────────

    def targets(self) -> list[Target]:
        nodes = [node.target for node in self._nodes.values() if node.target.node]
        replicas = [
            replace(node.target, replica=name) for node in self._nodes.values() for name in node.replicas
        ]
        wider = {node.at(level) for node in nodes for level in ("service", "zone")}
        return sorted({*wider, *nodes, *replicas}, key=str)

    def incarnation(self, node: str) -> Incarnation | None:
        return self._node(node).incarnation

    def kill(self, node: str, incarnation: Incarnation) -> bool:
        self._tick()
        found = self._node(node)
        if found.incarnation != incarnation:
            return False
        found.incarnation = found.paused_until = None
        found.faults.clear()
        return True

    def pause(self, node: str, incarnation: Incarnation, until: datetime) -> bool:
        self._tick()
        found = self._node(node)
        if found.incarnation != incarnation:
            return False
        found.paused_until = until
        return True

    def resume(self, node: str, incarnation: Incarnation) -> bool:
        self._tick()
        found = self._node(node)
        if found.incarnation != incarnation:
            return False
        found.paused_until = None
        return True

    def is_paused(self, node: str) -> bool:
        self._tick()
        return self._node(node).paused_until is not None

    def respawn(self, node: str) -> None:
        self._tick()
        found = self._node(node)
        if found.incarnation is not None:
            return
        found.incarnation = self._new_incarnation()
        for name in found.replicas:
            self._renew(found, name)

    def status(self, node: str) -> NodeStatus:
        found = self._reached(node)
        return NodeStatus(
            node=node,
            zone=str(found.target.zone),
            replicas=tuple(
                ReplicaStatus(
                    name=one.name, uid=one.uid, port=one.port, waiting=one.waiting, steps=int(one.steps),
                    state=self._state(one), restarts=one.restarts, backoff=self._waits(one),
                )
                for one in found.replicas.values()
            ),
            faults=tuple(
                FaultStatus(id=name, kind=fault.kind)
                for name, (fault, bound) in found.faults.items()
                if any(self._hits(fault, bound, one) for one in found.replicas.values())
            ),
        )  # fmt: skip

    def put_fault(self, node: str, fault_id: str, fault: NodeFault) -> None:
        found = self._reached(node)
        if fault.expires_at <= self._clock.now():
            raise InvalidInput(f"fault {fault_id} would be over already")
        _, known = found.faults.get(fault_id, (fault, {}))
        names = fault.replicas or tuple(found.replicas)
        bound = {name: known.get(name, found.replicas[name].uid) for name in names}
        found.faults[fault_id] = (fault, bound)
        self._crash(found)
        if fault.code is not None and fault_id not in self._struck:
            self._struck.add(fault_id)
            for name in names:
                self._befall(found.replicas[name], fault_id, CATALOGUE[fault.code].effect)

    def put_surge(self, fault_id: str, surge: Surge) -> None:
        self._reach_users()
        _, since = self._surges.get(fault_id, (surge, self._clock.monotonic()))
        self._surges[fault_id] = (surge, since)

    def delete_surge(self, fault_id: str) -> None:
        self._reach_users()
        self._surges.pop(fault_id, None)

    def surge(self, fault_id: str) -> SurgeStatus | None:
        self._reach_users()
        if fault_id not in self._surges:
            return None
        surge, since = self._surges[fault_id]
        sent = (surge.factor - 1) * RATE * (self._clock.monotonic() - since)
        return SurgeStatus(id=fault_id, sent=int(sent))

    def surges(self) -> list[Surge]:
        """Return the surges under way, as the users know them."""
        self._tick()
        return [surge for surge, _ in self._surges.values()]

    def is_observed(self) -> bool:
        self._tick()
        return self._runs(self._nodes[PROMETHEUS]) and PROMETHEUS not in self.unreachable

    def gpu_fields(self, target: Target) -> dict[str, float]:
        found = self._reached(str(target.node))
        codes = [fault.code for fault, bound in found.faults.values() if fault.code and target.name in bound]
        lost = any(CATALOGUE[code].effect is Effect.LOST for code in codes)
        fields = {"DEV_XID_ERRORS": float(codes[-1] if codes else 0)}
        return fields if lost else {**fields, "DEV_GPU_TEMP": 40.0}

    def delete_fault(self, node: str, fault_id: str) -> None:
        self._end(self._reached(node), fault_id)

    def is_live(self, target: Target) -> bool:
        self._tick()
        found = self._node(str(target.node))
        return self._runs(found) and self._is_ready(found.replicas[target.name])

    def ask(self, targets: Sequence[Target], *, tokens: int, timeout: float) -> list[Answer]:
        return [self._ask(target, tokens, timeout) for target in targets]

    # ── what happens to the fleet by itself ─────────────────────────────────────────────────────

    def restart(self, target: Target) -> str:
        """Replace a replica's incarnation, as a playbook would, and return its uid."""
        found = self._reached(str(target.node))
        return self._renew(found, target.name)

    def _renew(self, node: _Node, name: str) -> str:
        old = node.replicas[name]
        node.replicas[name] = _Replica(name, old.port, self._new_uid(), self._clock.monotonic())
        return node.replicas[name].uid

    def _end(self, node: _Node, fault_id: str) -> None:
        """Forget a fault; who is down because of it starts at once."""
        node.faults.pop(fault_id, None)
        for one in list(node.replicas.values()):
            if one.crashed_by == fault_id and (one.dead or self._waits(one)):
                self._renew(node, one.name)

    def _crash(self, node: _Node) -> None:
        """Let those die whose fault says so."""
        now = self._clock.monotonic()
        for name, (fault, bound) in node.faults.items():
            for one in list(node.replicas.values()):
                hit = fault.kind == "crash" and self._hits(fault, bound, one) and not self._waits(one)
                if not hit or one.dead or now - one.since < (fault.every or 0.0):
                    continue
                if fault.keep_alive:
                    one.dead, one.crashed_by = True, name
                    continue
                self._renew(node, one.name)
                new = node.replicas[one.name]
                new.restarts, new.crashed_by = one.restarts + 1, name
                new.since = now + (BACKOFF if one.restarts else 0.0)

    def _reach_users(self) -> None:
        self._tick()
        if USERS in self.unreachable:
            raise Unavailable("the traffic does not answer")

    def _befall(self, replica: _Replica, fault_id: str, effect: Effect) -> None:
        """Let an error of its card have its effect on an engine; a start that fails is no start here."""
        if effect is Effect.NOTHING or effect is Effect.HANGS:
            return
        replica.uid, replica.since, replica.crashed_by = self._new_uid(), self._clock.monotonic(), fault_id
        replica.restarts += 1
        replica.dead = effect.starts_fail

    def _ask(self, target: Target, tokens: int, timeout: float) -> Answer:
        self._tick()
        node = self._node(str(target.node))
        replica = node.replicas[target.name]
        if not self._runs(node) or not self._is_ready(replica):
            return Answer(ok=False, detail="refused")
        pace = self._pace(node, replica)
        if pace == 0 or tokens * STEP / pace > timeout:
            replica.waiting += 1
            return Answer(ok=False, detail=f"no end within {timeout:g} s")
        return Answer(ok=True, ttft=STEP / pace, tpot=STEP / pace)

    def _tick(self) -> None:
        """Let the engines make the steps of the time that has passed, and end what has expired."""
        now = self._clock.monotonic()
        for name in [
            name for name, (surge, _) in self._surges.items() if surge.expires_at <= self._clock.now()
        ]:
            del self._surges[name]
        elapsed, self._ticked = now - self._ticked, now
        for node in self._nodes.values():
            if node.paused_until is not None and node.paused_until <= self._clock.now():
                node.paused_until = None
            for one in node.replicas.values():
                if self._runs(node) and self._is_ready(one):
                    one.steps += elapsed / STEP * self._pace(node, one)
            expired = [
                name for name, (fault, _) in node.faults.items() if fault.expires_at <= self._clock.now()
            ]
            for name in expired:
                self._end(node, name)
            if self._runs(node):
                self._crash(node)

    def _pace(self, node: _Node, replica: _Replica) -> float:
        """Return the engine's speed against an undisturbed one: 1, less when slow, 0 when hung."""
        pace = 1.0
        for fault, bound in node.faults.values():
            if self._hits(fault, bound, replica):
                hangs = fault.kind == "hang" or (
                    fault.code is not None and CATALOGUE[fault.code].effect is Effect.HANGS
                )
                pace = 0.0 if hangs else pace / (fault.factor or 1.0)
        return pace

    @staticmethod
    def _hits(fault: NodeFault, bound: dict[str, str], replica: _Replica) -> bool:
        stays = fault.kind == "slow" or fault.every is not None or fault.code is not None
        return replica.name in bound and (stays or bound[replica.name] == replica.uid)

    @staticmethod
    def _runs(node: _Node) -> bool:
        return node.incarnation is not None and node.paused_until is None

    def _is_ready(self, replica: _Replica) -> bool:
        return not replica.dead and self._clock.monotonic() - replica.since >= LOAD

    def _waits(self, replica: _Replica) -> bool:
        return replica.since > self._clock.monotonic()

    def _state(self, replica: _Replica) -> str:
        if replica.dead or self._waits(replica):
            return "stopped"
        return "ready" if self._is_ready(replica) else "loading"

    def _node(self, node: str) -> _Node:
        if node not in self._nodes:
            raise NotFound(f"no node `{node}`", hint=f"nodes: {', '.join(self._nodes)}")
        return self._nodes[node]

    def _reached(self, node: str) -> _Node:
        self._tick()
        found = self._node(node)
        if not self._runs(found) or node in self.unreachable:
            raise Unavailable(f"{node} does not answer")
        return found

"""A whole platform in memory, for tests and rehearsals: the same rules, no processes.

It keeps every promise of `controlplane.platforms.port` (versions, fences, keys, the write log)
and adds what a rehearsal needs: replicas that load for a while on the injected clock, nodes that
stop answering, and failures by script (`fail_next`). It does not model traffic or metrics.
"""

from __future__ import annotations

import string
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, Conflict, Fenced, NotFound, Unavailable, VersionConflict
from controlplane.model.target import DEFAULT_CLUSTER, Target
from controlplane.model.topology import (
    GpuView,
    NodeView,
    Owner,
    ReplicaState,
    ReplicaView,
    Topology,
    Weights,
    WriteRecord,
    WriteTag,
    ZoneView,
)
from controlplane.platforms.port import RESTART, WEIGHTS, check_changes, check_replica

When = Literal["before", "after", "lost"]
"""How a scripted failure strikes: ``before`` the effect (`Unavailable`), ``after`` it (`Ambiguous`), or
``lost``: `Ambiguous` to the caller, and nothing happened."""


@dataclass(slots=True)
class _Replica:
    name: str
    uid: str
    version: str
    phase: ReplicaState = "ready"
    loaded_at: float = 0.0


@dataclass(slots=True)
class _Node:
    name: str
    uid: str
    version: str
    replicas: dict[str, _Replica]
    reachable: bool = True


@dataclass(slots=True)
class _Admission:
    """What a key was used for, and the answer it got."""

    op: str
    target: str
    answer: Any


@dataclass(slots=True)
class _State:
    zones: dict[str, dict[str, _Node]] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    weights_version: str = "1"
    version: int = 1
    incarnations: int = 0
    log: list[WriteRecord] = field(default_factory=list)
    fences: dict[str, int] = field(default_factory=dict)
    keys: dict[str, _Admission] = field(default_factory=dict)
    failures: dict[str, list[When]] = field(default_factory=dict)


class MemoryPlatform:
    """One service's fleet, named as the lab names it: zone-a, node-a1, replica-a1-0. Safe between threads.

    ``load_time``: seconds from a restart until the replica is ready.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        service: str = "chat",
        cluster: str = DEFAULT_CLUSTER,
        zones: int = 3,
        nodes_per_zone: int = 2,
        replicas_per_node: int = 2,
        load_time: float = 4.0,
    ) -> None:
        self._clock = clock
        self._service = Target(service, cluster)
        self._load_time = load_time
        self._lock = threading.RLock()
        self._state = _State()
        for letter in string.ascii_lowercase[:zones]:
            nodes = [
                self._new_node(letter, number + 1, replicas_per_node) for number in range(nodes_per_zone)
            ]
            self._state.zones[f"zone-{letter}"] = {node.name: node for node in nodes}
            self._state.weights[f"zone-{letter}"] = 100

    # ── the port ────────────────────────────────────────────────────────────────────────────────────────────

    def topology(self, service: str) -> Topology:
        with self._lock:
            self._answer(service, "topology")
            self._load()
            return Topology(
                service=self._service.service,
                cluster=self._service.cluster,
                zones=tuple(self._zone_view(name, nodes) for name, nodes in self._state.zones.items()),
                observed_at=self._clock.now(),
            )

    def weights(self, service: str) -> Weights:
        with self._lock:
            self._answer(service, "read")
            return Weights(version=self._state.weights_version, weights=dict(self._state.weights))

    def set_weights(
        self, service: str, changes: Mapping[str, int], *, expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        with self._lock:
            self._known(service)
            after = check_changes(self._state.weights, changes)
            target = str(self._service)
            seen = self._admit(WEIGHTS, target, by)
            if seen:
                return Weights.model_validate(seen.answer)
            present = self._state.weights_version
            if expected_version is not None and expected_version != present:
                msg = f"the weights are at version {present}, not {expected_version}"
                raise VersionConflict(msg, hint="read them again")
            failure = self._strike(WEIGHTS)
            before = dict(self._state.weights)
            if after == before:
                return Weights(version=present, weights=before)
            self._state.weights = after
            self._state.weights_version = self._next_version()
            answer = Weights(version=self._state.weights_version, weights=dict(after))
            self._record(WEIGHTS, target, before, dict(after), by, answer)
            self._confirm(failure)
            return answer

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        with self._lock:
            node, replica = self._find(target)
            seen = self._admit(RESTART, str(target), by)
            if seen:
                return str(seen.answer)
            if expected_uid is not None and expected_uid != replica.uid:
                msg = f"{target} is {replica.uid}, not {expected_uid}: somebody has restarted it"
                raise VersionConflict(msg)
            if not node.reachable:
                msg = f"{node.name} does not answer"
                raise Unavailable(msg)
            failure = self._strike(RESTART)
            before = replica.uid
            replica.uid = self._new_uid(replica.name)
            replica.phase = "loading"
            replica.loaded_at = self._clock.monotonic() + self._load_time
            replica.version = self._next_version()
            self._record(RESTART, str(target), before, replica.uid, by, replica.uid)
            self._confirm(failure)
            return replica.uid

    def writes(self, after: int = 0) -> list[WriteRecord]:
        with self._lock:
            return [record for record in self._state.log if record.seq > after]

    # ── what a rehearsal does to it ─────────────────────────────────────────────────────────────────────────

    def fail_next(self, op: str, *when: When) -> None:
        """Let the next calls of ``op`` (weights, restart; reads: topology, read) fail, one entry a call.

        Reads know ``before`` only.
        """
        if op not in {WEIGHTS, RESTART} and set(when) != {"before"}:
            msg = f"{op} has no effect that could be unknown: only `before` makes sense"
            raise ValueError(msg)
        with self._lock:
            self._state.failures.setdefault(op, []).extend(when)

    def set_reachable(self, node: str, reachable: bool) -> None:  # noqa: FBT001 - the node is or is not
        """Cut a node off, or bring it back; its replicas keep their incarnations."""
        with self._lock:
            found = self._node(node)
            found.reachable = reachable
            found.version = self._next_version()

    def stop_replica(self, name: str) -> None:
        """End a replica's incarnation; only a restart brings the slot back."""
        with self._lock:
            for _, node, replica in self._slots():
                if replica.name == name:
                    replica.phase = "stopped"
                    replica.version = self._next_version()
                    node.version = self._next_version()
                    return
        msg = f"no replica `{name}`"
        raise NotFound(msg)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────

    def _known(self, service: str) -> None:
        if service != self._service.service:
            msg = f"no service `{service}`"
            raise NotFound(msg, hint=f"services: {self._service.service}")

    def _answer(self, service: str, op: str) -> None:
        self._known(service)
        self._strike(op)

    def _admit(self, op: str, target: str, by: WriteTag | None) -> _Admission | None:
        """Refuse a late writer; return what the key was answered before, if it was."""
        if by is None:
            return None
        highest = self._state.fences.get(by.run, by.fence)
        if by.fence < highest:
            msg = f"fence {by.fence} of run {by.run} is below {highest}, the highest seen"
            raise Fenced(msg)
        self._state.fences[by.run] = by.fence
        seen = self._state.keys.get(by.key)
        if seen and (seen.op, seen.target) != (op, target):
            msg = f"key {by.key} was used for {seen.op} of {seen.target}"
            raise Conflict(msg)
        return seen

    def _strike(self, op: str) -> When | None:
        script = self._state.failures.get(op)
        when = script.pop(0) if script else None
        if when == "before":
            msg = f"scripted: {op} is not available"
            raise Unavailable(msg)
        if when == "lost":
            msg = f"scripted: no answer to {op}"
            raise Ambiguous(msg)
        return when

    def _confirm(self, failure: When | None) -> None:
        if failure == "after":
            msg = "scripted: the answer was lost"
            raise Ambiguous(msg)

    def _record(
        self, op: str, target: str, before: Any, after: Any, by: WriteTag | None, answer: Any
    ) -> None:
        record = WriteRecord(
            seq=len(self._state.log) + 1,
            at=self._clock.now(),
            op=op,
            target=target,
            before=before,
            after=after,
            version=str(self._state.version),
            by=by,
        )
        self._state.log.append(record)
        if by is not None:
            self._state.keys[by.key] = _Admission(op, target, answer)

    def _next_version(self) -> str:
        self._state.version += 1
        return str(self._state.version)

    def _new_uid(self, name: str) -> str:
        self._state.incarnations += 1
        return f"{name}-{self._state.incarnations:04d}"

    def _new_node(self, letter: str, number: int, replicas: int) -> _Node:
        names = [f"replica-{letter}{number}-{index}" for index in range(replicas)]
        slots = {name: _Replica(name, self._new_uid(name), "1") for name in names}
        return _Node(f"node-{letter}{number}", self._new_uid(f"node-{letter}{number}"), "1", slots)

    def _slots(self) -> list[tuple[str, _Node, _Replica]]:
        return [
            (zone, node, replica)
            for zone, nodes in self._state.zones.items()
            for node in nodes.values()
            for replica in node.replicas.values()
        ]

    def _node(self, name: str) -> _Node:
        for nodes in self._state.zones.values():
            if name in nodes:
                return nodes[name]
        msg = f"no node `{name}`"
        raise NotFound(msg)

    def _find(self, target: Target) -> tuple[_Node, _Replica]:
        check_replica(target)
        service, cluster = self._service.service, self._service.cluster
        for zone, node, replica in self._slots():
            if Target(service, cluster, zone, node.name, replica.name) == target:
                return node, replica
        msg = f"no replica {target}"
        raise NotFound(msg)

    def _load(self) -> None:
        """Let replicas whose load time is over become ready."""
        now = self._clock.monotonic()
        for _, node, replica in self._slots():
            if replica.phase == "loading" and now >= replica.loaded_at and node.reachable:
                replica.phase = "ready"
                replica.version = self._next_version()

    def _zone_view(self, name: str, nodes: Mapping[str, _Node]) -> ZoneView:
        labels = {"topology.kubernetes.io/zone": name}
        return ZoneView(
            name=name,
            labels=labels,
            nodes=tuple(self._node_view(name, node, labels) for node in nodes.values()),
        )

    def _node_view(self, zone: str, node: _Node, labels: dict[str, str]) -> NodeView:
        gpus = tuple(
            GpuView(uuid=f"GPU-{node.name}-{index}", index=index, model="NVIDIA H100 80GB HBM3")
            for index in range(len(node.replicas))
        )
        return NodeView(
            name=node.name,
            uid=node.uid,
            ready=node.reachable,
            version=node.version,
            labels={**labels, "kubernetes.io/hostname": node.name},
            gpus=gpus,
            replicas=tuple(self._replica_view(zone, node, replica) for replica in node.replicas.values()),
        )

    def _replica_view(self, zone: str, node: _Node, replica: _Replica) -> ReplicaView:
        state: ReplicaState = replica.phase if node.reachable else "unknown"
        return ReplicaView(
            name=replica.name,
            uid=replica.uid,
            ready=state == "ready",
            state=state,
            address=f"memory://{replica.name}",
            version=replica.version,
            owner=Owner(kind="Deployment", name=f"{self._service.service}-{zone}"),
            labels={"app": self._service.service},
        )

"""The port over a fleet in memory: every promise of `controlplane.platforms.port`, and failures by script.

It adds what a rehearsal needs: replicas that load for a while on the injected clock, nodes that
stop answering, requests that are under way, and writes that fail (`fail_next`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import NotFound, Unavailable, VersionConflict
from controlplane.model.target import DEFAULT_CLUSTER, Target
from controlplane.model.topology import Admission, Scale, Topology, Weights, WriteRecord, WriteTag
from controlplane.platforms.memory.fleet import Fleet, Node, Replica
from controlplane.platforms.memory.journal import Journal, When
from controlplane.platforms.port import (
    FENCE,
    LIMIT,
    RECYCLE,
    REPLACE,
    RESTART,
    ROTATION,
    SCALE,
    SCHEDULABLE,
    SHED,
    WEIGHTS,
    check_changes,
    check_limit,
    check_node,
    check_replica,
    check_scale,
    check_tiers,
    check_zone,
)

_WRITES = frozenset({WEIGHTS, RESTART, ROTATION, SCHEDULABLE, REPLACE, RECYCLE, LIMIT, SHED, SCALE})


class MemoryPlatform:
    """One service's fleet, named as the lab names it: zone-a, node-a1, replica-a1-0. Safe between threads.

    ``zones``: how many, or their names. ``load_time``: seconds from a restart until the replica is ready.
    ``slots``: how many requests each replica serves at once, None where nobody can tell.
    """

    def __init__(  # noqa: PLR0913 - the shape of a fleet, by name
        self,
        clock: Clock,
        *,
        service: str = "chat",
        cluster: str = DEFAULT_CLUSTER,
        zones: int | Sequence[str] = 3,
        nodes_per_zone: int = 2,
        replicas_per_node: int = 2,
        standby_per_node: int = 0,
        standby_up: bool = False,
        load_time: float = 4.0,
        slots: int | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self._journal = Journal(clock)
        self._fleet = Fleet(Target(service, cluster), clock, self._journal, load_time, slots)
        named = zones if not isinstance(zones, int) else [f"zone-{each}" for each in ascii_lowercase[:zones]]
        self._fleet.build(named, nodes_per_zone, replicas_per_node, standby_per_node, standby_up=standby_up)
        self._weights = dict.fromkeys(self._fleet.zones, 100)
        self._weights_version = "1"
        self._admission = Admission(version="1")

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────

    def topology(self, service: str) -> Topology:
        with self._lock:
            self._answer(service, "topology")
            self._fleet.load()
            return self._fleet.topology()

    def weights(self, service: str) -> Weights:
        with self._lock:
            self._answer(service, "read")
            return Weights(version=self._weights_version, weights=dict(self._weights))

    def admission(self, service: str) -> Admission:
        with self._lock:
            self._answer(service, "read")
            return self._admission

    def scale(self, target: Target) -> Scale:
        with self._lock:
            zone = self._zone(target)
            self._journal.strike("read")
            self._fleet.load()
            return self._scale(zone)

    def writes(self, after: int = 0) -> list[WriteRecord]:
        with self._lock:
            return [record for record in self._journal.records if record.seq > after]

    # ── writing ─────────────────────────────────────────────────────────────────────────────────────────────

    def show_fence(self, service: str, *, by: WriteTag) -> None:
        with self._lock:
            self._known(service)
            self._journal.strike(FENCE)
            self._journal.see(by)

    def set_weights(
        self, service: str, changes: Mapping[str, int], *, expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        with self._lock:
            self._known(service)
            after = check_changes(self._weights, changes)
            target = str(self._fleet.service)
            seen = self._journal.admit(WEIGHTS, target, by)
            if seen:
                return Weights.model_validate(seen.answer)
            present = self._weights_version
            if expected_version is not None and expected_version != present:
                msg = f"the weights are at version {present}, not {expected_version}"
                raise VersionConflict(msg, hint="read them again")
            failure = self._journal.strike(WEIGHTS)
            before = dict(self._weights)
            if after == before:
                return Weights(version=present, weights=before)
            self._weights = after
            self._weights_version = self._journal.next_version()
            answer = Weights(version=self._weights_version, weights=dict(after))
            self._journal.record(WEIGHTS, target, before, dict(after), by, answer)
            self._journal.confirm(failure)
            return answer

    def set_limit(
        self, target: Target, limit: int | None, *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        with self._lock:
            zone = check_limit(target, limit)
            if target.at("service") != self._fleet.service or zone not in self._fleet.zones:
                msg = f"no zone {target}"
                raise NotFound(msg)
            present = self._admission.limits
            others = {name: each for name, each in present.items() if name != zone}
            after = others if limit is None else {**others, zone: limit}
            return self._admit(LIMIT, target, expected_version, by, present.get(zone), limit, limits=after)

    def set_shed(
        self, service: str, tiers: Sequence[str], *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        with self._lock:
            self._known(service)
            after = check_tiers(tiers)
            before = list(self._admission.shed)
            target = self._fleet.service
            return self._admit(SHED, target, expected_version, by, before, after, shed=tuple(after))

    def set_scale(
        self, target: Target, replicas: int, *, expected_version: str | None, by: WriteTag | None
    ) -> Scale:
        with self._lock:
            zone = self._zone(target)
            seen = self._journal.admit(SCALE, str(target), by)
            if seen:
                return Scale.model_validate(seen.answer)
            present = self._scale(zone)
            check_scale(target, replicas, present.most)
            if expected_version is not None and expected_version != present.version:
                msg = f"{target} is at version {present.version}, not {expected_version}"
                raise VersionConflict(msg, hint="read it again")
            failure = self._journal.strike(SCALE)
            if replicas == present.replicas:
                return present
            self._fleet.scale(zone, replicas)
            answer = self._scale(zone)
            self._journal.record(SCALE, str(target), present.replicas, replicas, by, answer)
            self._journal.confirm(failure)
            return answer

    def set_rotation(
        self,
        target: Target,
        in_rotation: bool,  # noqa: FBT001 - as the port has it
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        with self._lock:
            check_replica(target)
            _, replica = self._fleet.replica_at(target)
            return self._declare(ROTATION, target, replica, in_rotation, expected_version, by)

    def set_schedulable(
        self,
        target: Target,
        schedulable: bool,  # noqa: FBT001 - as the port has it
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        with self._lock:
            check_node(target)
            node = self._fleet.node_at(target)
            return self._declare(SCHEDULABLE, target, node, schedulable, expected_version, by)

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        return self._restart(RESTART, target, expected_uid, by)

    def recycle_gpu(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        return self._restart(RECYCLE, target, expected_uid, by)

    def replace_node(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        with self._lock:
            check_node(target)
            node = self._fleet.node_at(target)

            def replace() -> None:
                node.uid = self._fleet.new_uid(node.name)
                node.reachable = True
                node.version = self._journal.next_version()
                for replica in node.replicas.values():
                    self._fleet.restart(replica)

            return self._renew(REPLACE, target, node, expected_uid, by, replace)

    def _admit(
        self,
        op: str,
        target: Target,
        expected_version: str | None,
        by: WriteTag | None,
        before: Any,
        after: Any,
        **changes: Any,
    ) -> Admission:
        seen = self._journal.admit(op, str(target), by)
        if seen:
            return Admission.model_validate(seen.answer)
        present = self._admission.version
        if expected_version is not None and expected_version != present:
            msg = f"the admission is at version {present}, not {expected_version}"
            raise VersionConflict(msg, hint="read it again")
        failure = self._journal.strike(op)
        if before == after:
            return self._admission
        changes["version"] = self._journal.next_version()
        self._admission = self._admission.model_copy(update=changes)
        self._journal.record(op, str(target), before, after, by, self._admission)
        self._journal.confirm(failure)
        return self._admission

    def _restart(self, op: str, target: Target, expected_uid: str | None, by: WriteTag | None) -> str:
        with self._lock:
            check_replica(target)
            node, replica = self._fleet.replica_at(target)

            def restart() -> None:
                self._fleet.restart(replica)

            return self._renew(op, target, replica, expected_uid, by, restart, on=node)

    def _declare(
        self,
        op: str,
        target: Target,
        item: Replica | Node,
        value: bool,  # noqa: FBT001 - as the port has it
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        """Write a field that says what shall be, on the version that was read."""
        seen = self._journal.admit(op, str(target), by)
        if seen:
            return str(seen.answer)
        if expected_version is not None and expected_version != item.version:
            msg = f"{target} is at version {item.version}, not {expected_version}"
            raise VersionConflict(msg, hint="read it again")
        failure = self._journal.strike(op)
        before = item.in_rotation if isinstance(item, Replica) else item.schedulable
        if before == value:
            return item.version
        if isinstance(item, Replica):
            item.in_rotation = value
        else:
            item.schedulable = value
        item.version = self._journal.next_version()
        self._journal.record(op, str(target), before, value, by, item.version)
        self._journal.confirm(failure)
        return item.version

    def _renew(
        self,
        op: str,
        target: Target,
        item: Replica | Node,
        expected_uid: str | None,
        by: WriteTag | None,
        effect: Callable[[], None],
        on: Node | None = None,
    ) -> str:
        """Replace an incarnation, if it is still the expected one; ``on`` is the node that must answer."""
        seen = self._journal.admit(op, str(target), by)
        if seen:
            return str(seen.answer)
        before = item.uid
        if expected_uid is not None and expected_uid != before:
            msg = f"{target} is {before}, not {expected_uid}: somebody has restarted it"
            raise VersionConflict(msg)
        if on is not None and not on.reachable:
            msg = f"{on.name} does not answer"
            raise Unavailable(msg)
        failure = self._journal.strike(op)
        effect()
        self._journal.record(op, str(target), before, item.uid, by, item.uid)
        self._journal.confirm(failure)
        return item.uid

    # ── what a rehearsal does to it ─────────────────────────────────────────────────────────────────────────

    def fail_next(self, op: str, *when: When) -> None:
        """Let the next calls of ``op`` fail, one entry a call; reads and fence know ``before``."""
        if op not in _WRITES and set(when) != {"before"}:
            msg = f"{op} has no effect that could be unknown: only `before` makes sense"
            raise ValueError(msg)
        with self._lock:
            self._journal.script(op, *when)

    def set_reachable(self, node: str, reachable: bool) -> None:  # noqa: FBT001 - the node is or is not
        """Cut a node off, or bring it back; its replicas keep their incarnations."""
        with self._lock:
            found = self._fleet.node(node)
            found.reachable = reachable
            found.version = self._journal.next_version()

    def set_requests(self, name: str, requests: int) -> None:
        """Say how many requests are inside a replica."""
        with self._lock:
            self._fleet.set_requests(name, requests)

    def stop_replica(self, name: str) -> None:
        """End a replica's incarnation; only a restart brings the slot back."""
        with self._lock:
            replica = self._fleet.replica(name)
            replica.phase = "stopped"
            replica.version = self._journal.next_version()

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────

    def _zone(self, target: Target) -> str:
        zone = check_zone(target)
        if target.at("service") != self._fleet.service or zone not in self._fleet.zones:
            msg = f"no zone {target}"
            raise NotFound(msg)
        return zone

    def _scale(self, zone: str) -> Scale:
        workload, nodes = self._fleet.workloads[zone], self._fleet.zones[zone].values()
        replicas = (replica for node in nodes if node.reachable for replica in node.replicas.values())
        return Scale(
            version=workload.version,
            replicas=workload.replicas,
            ready=sum(replica.phase == "ready" for replica in replicas),
            usual=workload.usual,
            most=len(workload.slots),
        )

    def _known(self, service: str) -> None:
        if service != self._fleet.service.service:
            msg = f"no service `{service}`"
            raise NotFound(msg, hint=f"services: {self._fleet.service.service}")

    def _answer(self, service: str, op: str) -> None:
        self._known(service)
        self._journal.strike(op)

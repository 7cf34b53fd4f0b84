"""The fleet that the memory platform holds: zones of nodes of replicas, and how it looks from outside.

Named as the lab names it: zone-a, node-a1, replica-a1-0. Replicas load for a while on the
injected clock. It does not model traffic or metrics, and refuses nothing: the platform does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import NotFound
from controlplane.model.target import Target
from controlplane.model.topology import (
    GpuView,
    NodeView,
    Owner,
    ReplicaState,
    ReplicaView,
    Topology,
    ZoneView,
)
from controlplane.platforms.memory.journal import Journal


@dataclass(slots=True)
class Replica:
    """A slot and the incarnation in it."""

    name: str
    uid: str
    version: str
    phase: ReplicaState = "ready"
    loaded_at: float = 0.0
    in_rotation: bool = True
    requests: int = 0


@dataclass(slots=True)
class Node:
    """A machine's name and the machine behind it."""

    name: str
    uid: str
    version: str
    replicas: dict[str, Replica]
    reachable: bool = True
    schedulable: bool = True


@dataclass(slots=True)
class Workload:
    """A zone's replicas: how many there usually are and shall be now, and their slots as node and name."""

    slots: list[tuple[str, str]]
    usual: int
    replicas: int
    version: str = "1"


class Fleet:
    """One service's zones. ``load_time``: seconds from a restart until the replica is ready.

    ``slots``: how many requests each replica serves at once.
    """

    def __init__(
        self, service: Target, clock: Clock, journal: Journal, load_time: float, slots: int | None = None
    ) -> None:
        self.service = service
        self.zones: dict[str, dict[str, Node]] = {}
        self.workloads: dict[str, Workload] = {}
        self._clock = clock
        self._journal = journal
        self._load_time = load_time
        self._slots = slots
        self._incarnations = 0
        self._views: dict[str, tuple[object, NodeView]] = {}
        self._seen: tuple[int, tuple[ZoneView, ...]] | None = None

    def build(
        self,
        zones: Sequence[str],
        nodes_per_zone: int,
        replicas_per_node: int,
        standby_per_node: int = 0,
        *,
        standby_up: bool = False,
    ) -> None:
        """Fill it with zones that are all alike and ready; nodes and replicas are called after their zone."""
        slots = replicas_per_node + standby_per_node
        up = slots if standby_up else replicas_per_node
        for zone in zones:
            short = zone.removeprefix("zone-")
            nodes = [self._new_node(short, number + 1, up) for number in range(nodes_per_zone)]
            self.zones[zone] = {node.name: node for node in nodes}
            places = [
                (f"node-{short}{number + 1}", f"replica-{short}{number + 1}-{index}")
                for index in range(slots)
                for number in range(nodes_per_zone)
            ]
            usual = replicas_per_node * nodes_per_zone
            self.workloads[zone] = Workload(places, usual, up * nodes_per_zone)

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────────

    def slots(self) -> list[tuple[str, Node, Replica]]:
        """List every replica with its node and its zone's name."""
        return [
            (zone, node, replica)
            for zone, nodes in self.zones.items()
            for node in nodes.values()
            for replica in node.replicas.values()
        ]

    def node(self, name: str) -> Node:
        """Return the node called ``name``, or raise `NotFound`."""
        for nodes in self.zones.values():
            if name in nodes:
                return nodes[name]
        msg = f"no node `{name}`"
        raise NotFound(msg)

    def node_at(self, target: Target) -> Node:
        """Return the node that is exactly at ``target``, or raise `NotFound`."""
        node = self.zones.get(str(target.zone), {}).get(str(target.node))
        if node is None or target.at("service") != self.service:
            msg = f"no node {target}"
            raise NotFound(msg)
        return node

    def replica_at(self, target: Target) -> tuple[Node, Replica]:
        """Return the replica that is exactly at ``target``, with its node, or raise `NotFound`."""
        service, cluster = self.service.service, self.service.cluster
        for zone, node, replica in self.slots():
            if Target(service, cluster, zone, node.name, replica.name) == target:
                return node, replica
        msg = f"no replica {target}"
        raise NotFound(msg)

    def replica(self, name: str) -> Replica:
        """Return the replica called ``name``, or raise `NotFound`."""
        for _, _, replica in self.slots():
            if replica.name == name:
                return replica
        msg = f"no replica `{name}`"
        raise NotFound(msg)

    # ── changes ─────────────────────────────────────────────────────────────────────────────────────────────

    def set_requests(self, name: str, requests: int) -> None:
        """Say how many requests are inside a replica; that gives it no other version."""
        self.replica(name).requests = requests
        self._seen = None

    def new_uid(self, name: str) -> str:
        self._incarnations += 1
        return f"{name}-{self._incarnations:04d}"

    def restart(self, replica: Replica) -> str:
        """Begin a new incarnation, which loads; what the former one held is lost."""
        replica.uid = self.new_uid(replica.name)
        replica.phase = "loading"
        replica.requests = 0
        replica.loaded_at = self._clock.monotonic() + self._load_time
        replica.version = self._journal.next_version()
        return replica.uid

    def scale(self, zone: str, replicas: int) -> str:
        """Fill as many of a zone's slots, which load, or empty the last ones; returns the new version."""
        workload = self.workloads[zone]
        for place, (node, name) in enumerate(workload.slots):
            slots = self.zones[zone][node].replicas
            if place >= replicas:
                slots.pop(name, None)
            elif name not in slots:
                slots[name] = Replica(name, "", "")
                self.restart(slots[name])
        workload.replicas, workload.version = replicas, self._journal.next_version()
        return workload.version

    def load(self) -> None:
        """Let replicas whose load time is over become ready."""
        now = self._clock.monotonic()
        for _, node, replica in self.slots():
            if replica.phase == "loading" and now >= replica.loaded_at and node.reachable:
                replica.phase = "ready"
                replica.version = self._journal.next_version()

    def _new_node(self, zone: str, number: int, replicas: int) -> Node:
        names = [f"replica-{zone}{number}-{index}" for index in range(replicas)]
        slots = {name: Replica(name, self.new_uid(name), "1") for name in names}
        return Node(f"node-{zone}{number}", self.new_uid(f"node-{zone}{number}"), "1", slots)

    # ── views ───────────────────────────────────────────────────────────────────────────────────────────────

    def topology(self) -> Topology:
        return Topology(
            service=self.service.service,
            cluster=self.service.cluster,
            zones=self._zones_seen(),
            observed_at=self._clock.now(),
        )

    def _zones_seen(self) -> tuple[ZoneView, ...]:
        """Return the zones' views: the last ones, if nothing has got another version since."""
        if self._seen is None or self._seen[0] != self._journal.version:
            views = tuple(self._zone_view(name, nodes) for name, nodes in self.zones.items())
            self._seen = self._journal.version, views
        return self._seen[1]

    def _zone_view(self, name: str, nodes: Mapping[str, Node]) -> ZoneView:
        views = tuple(self._node_seen(name, node) for node in nodes.values())
        return ZoneView(name=name, labels=_labels(name), nodes=views)

    def _node_seen(self, zone: str, node: Node) -> NodeView:
        """Return a node's view: the last one, if each value that it shows is as it was then."""
        shown = (
            *(node.uid, node.reachable, node.schedulable, node.version),
            *((r.uid, r.version, r.phase, r.in_rotation, r.requests) for r in node.replicas.values()),
        )
        last = self._views.get(node.name)
        if last is None or last[0] != shown:
            last = self._views[node.name] = (shown, self._node_view(zone, node))
        return last[1]

    def _node_view(self, zone: str, node: Node) -> NodeView:
        gpus = tuple(
            GpuView(uuid=f"GPU-{node.name}-{index}", index=index, model="NVIDIA H100 80GB HBM3")
            for index in range(len(node.replicas))
        )
        return NodeView(
            name=node.name,
            uid=node.uid,
            ready=node.reachable,
            schedulable=node.schedulable,
            version=node.version,
            labels={**_labels(zone), "kubernetes.io/hostname": node.name},
            gpus=gpus,
            replicas=tuple(self._replica_view(zone, node, replica) for replica in node.replicas.values()),
        )

    def _replica_view(self, zone: str, node: Node, replica: Replica) -> ReplicaView:
        state: ReplicaState = replica.phase if node.reachable else "unknown"
        return ReplicaView(
            name=replica.name,
            uid=replica.uid,
            ready=state == "ready",
            state=state,
            in_rotation=replica.in_rotation,
            requests=replica.requests if node.reachable else None,
            slots=self._slots,
            address=f"memory://{replica.name}",
            version=replica.version,
            owner=Owner(kind="Deployment", name=f"{self.service.service}-{zone}"),
            labels={"app": self.service.service},
        )


def _labels(zone: str) -> dict[str, str]:
    return {"topology.kubernetes.io/zone": zone}

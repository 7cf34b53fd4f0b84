"""What a fleet looks like, as any platform reports it: zones, nodes, replicas, weights, with versions.

Shaped after Kubernetes: names are slots, uids incarnations, every object carries the
version it was read at, labels, and who owns it. Views are values; nobody changes them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.target import Target

ReplicaState = Literal["loading", "ready", "stopped", "unknown"]


class Owner(Model):
    """What manages an object: a Deployment, a StatefulSet, a LeaderWorkerSet."""

    kind: str
    name: str


class GpuView(Model):
    uuid: str
    index: int
    model: str


class ReplicaView(Model):
    """One engine instance. ``address`` is where it is reached past the gateway.

    ``ready``: it can serve. ``in_rotation``: the gateway may send it new requests. ``requests``: how
    many are inside it, running and waiting; None where the platform cannot tell. ``slots``: how many
    requests its engine serves at once, None where that is not known.
    """

    name: str
    uid: str
    ready: bool
    state: ReplicaState = "unknown"
    in_rotation: bool = True
    requests: int | None = None
    slots: int | None = None
    address: str
    version: str
    owner: Owner | None = None
    labels: dict[str, str] = Field(default_factory=dict)

    @property
    def serves(self) -> bool:
        """Tell whether it takes new requests and can answer them."""
        return self.ready and self.in_rotation


class NodeView(Model):
    name: str
    uid: str
    ready: bool
    schedulable: bool = True
    version: str
    labels: dict[str, str] = Field(default_factory=dict)
    gpus: tuple[GpuView, ...] = ()
    replicas: tuple[ReplicaView, ...] = ()


class ZoneView(Model):
    name: str
    labels: dict[str, str] = Field(default_factory=dict)
    nodes: tuple[NodeView, ...] = ()

    @property
    def replicas(self) -> tuple[ReplicaView, ...]:
        return tuple(replica for node in self.nodes for replica in node.replicas)

    @property
    def ready_replicas(self) -> int:
        return sum(replica.ready for replica in self.replicas)

    @property
    def serving_replicas(self) -> int:
        return sum(replica.serves for replica in self.replicas)


class Topology(Model):
    """The fleet of one service, as last seen."""

    service: str
    cluster: str
    zones: tuple[ZoneView, ...]
    observed_at: datetime

    def zone(self, name: str) -> ZoneView | None:
        return next((zone for zone in self.zones if zone.name == name), None)

    def replicas(self) -> list[tuple[Target, ReplicaView]]:
        """List all replicas with their full targets."""
        return [
            (Target(self.service, self.cluster, zone.name, node.name, replica.name), replica)
            for zone in self.zones
            for node in zone.nodes
            for replica in node.replicas
        ]

    def nodes(self) -> list[tuple[Target, NodeView]]:
        """List all nodes with their full targets."""
        return [
            (Target(self.service, self.cluster, zone.name, node.name), node)
            for zone in self.zones
            for node in zone.nodes
        ]

    def targets(self) -> list[Target]:
        """List every target of the fleet, wide before narrow."""
        service = Target(self.service, self.cluster)
        zones = [Target(self.service, self.cluster, zone.name) for zone in self.zones]
        nodes = [
            Target(self.service, self.cluster, zone.name, node.name)
            for zone in self.zones
            for node in zone.nodes
        ]
        return [service, *zones, *nodes, *(target for target, _ in self.replicas())]


class Weights(Model):
    """How new requests are shared out between zones: 0 to 100 each, relative to their sum."""

    version: str
    weights: dict[str, int]

    def share(self, zone: str) -> float:
        """Return the share of new requests that ``zone`` gets, 0..1."""
        total = sum(self.weights.values())
        return self.weights.get(zone, 0) / total if total else 0.0


class Admission(Model):
    """What the gateway lets in: requests/s per zone (any number where none is given), refused tiers."""

    version: str
    limits: dict[str, int] = Field(default_factory=dict)
    shed: tuple[str, ...] = ()


class Scale(Model):
    """How many replicas a zone's workload shall have, as a Deployment's ``spec.replicas``.

    ``ready``: how many can serve now. ``usual``: without the standby; ``most``: as many as there is room for.
    """

    version: str
    replicas: int
    ready: int
    usual: int
    most: int


class WriteTag(Model):
    """Who writes: carried by every write to a platform, kept in the platform's own log.

    The platform refuses a ``fence`` lower than the highest it has seen for ``run``, and
    answers a ``key`` that it has seen with the first answer and no second effect.
    """

    run: str
    step: str
    attempt: int
    fence: int
    key: str


class WriteRecord(Model):
    """One line of a platform's write log: an effect that happened."""

    seq: int
    at: datetime
    op: str
    target: str
    before: Any = None
    after: Any = None
    version: str
    by: WriteTag | None = None
    outcome: Literal["applied", "ambiguous"] = "applied"  # ambiguous: accepted, but not seen in force in time

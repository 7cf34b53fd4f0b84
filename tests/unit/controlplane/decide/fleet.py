"""A small fleet for the tests of decisions: three zones of two nodes of two replicas."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, ZoneView

AT = datetime(2026, 1, 1, tzinfo=UTC)
SERVICE = Target("chat")
ZONES = ("zone-a", "zone-b", "zone-c")


def at(path: str) -> Target:
    """Return a target of the fleet by the short names of its parts: ``a``, ``a/a1``, ``a/a1/0``."""
    zone, *rest = path.split("/")
    node = f"node-{rest[0]}" if rest else None
    replica = f"replica-{rest[0]}-{rest[1]}" if len(rest) > 1 else None
    return Target("chat", "local", f"zone-{zone}", node, replica)


def topology(not_ready: Collection[Target] = ()) -> Topology:
    """Return the fleet; replicas inside any of ``not_ready`` are not ready."""
    return Topology(
        service="chat",
        cluster="local",
        zones=tuple(_zone(letter, not_ready) for letter in "abc"),
        observed_at=AT,
    )


def _zone(letter: str, not_ready: Collection[Target]) -> ZoneView:
    nodes = []
    for number in (1, 2):
        replicas = tuple(_replica(letter, number, slot, not_ready) for slot in (0, 1))
        name = f"node-{letter}{number}"
        nodes.append(NodeView(name=name, uid=f"u-{name}", ready=True, version="1", replicas=replicas))
    return ZoneView(name=f"zone-{letter}", nodes=tuple(nodes))


def _replica(letter: str, number: int, slot: int, not_ready: Collection[Target]) -> ReplicaView:
    target = at(f"{letter}/{letter}{number}/{slot}")
    ready = not any(gone.contains(target) for gone in not_ready)
    return ReplicaView(
        name=str(target.replica),
        uid=f"u-{target.replica}",
        ready=ready,
        state="ready" if ready else "stopped",
        address=f"http://127.0.0.1/{target.replica}",
        version="1",
    )

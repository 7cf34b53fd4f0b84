"""What is in service, by the platform's own word: traffic, readiness, and the ledger held against them.

The ledger of what is out of service is ours, the platform is the truth. What the platform
shows back is released, unless whoever claimed it is still at it; what somebody else took
out is claimed in the platform's name, so that the one budget counts it. Pure comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from controlplane.model.action import Dimension
from controlplane.model.records import OutOfService
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import Topology, Weights

FOREIGN = "platform"
"""Holder of what neither a run nor a drill of ours took out."""


def takes_traffic(topology: Topology, weights: Weights | None) -> dict[Target, bool | None]:
    """Tell for every target whether new requests can reach it; None when the weights are not known."""
    found: dict[Target, bool | None] = {}
    service = Target(topology.service, topology.cluster)
    for zone in topology.zones:
        weight = None if weights is None else weights.weights.get(zone.name, 0)
        place = Target(service.service, service.cluster, zone.name)
        found[place] = None if weight is None else weight > 0
        for node in zone.nodes:
            spot = Target(service.service, service.cluster, zone.name, node.name)
            ready = {replica.name: replica.serves for replica in node.replicas}
            found[spot] = None if weight is None else weight > 0 and any(ready.values())
            for name, is_ready in ready.items():
                replica = Target(service.service, service.cluster, zone.name, node.name, name)
                found[replica] = None if weight is None else weight > 0 and is_ready
    zones = [found[target] for target in found if target.level == "zone"]
    found[service] = None if None in zones else any(zones)
    return found


def in_service(topology: Topology, weights: Weights) -> set[Target]:
    """Return the targets that the platform shows in service.

    A replica that is ready and in rotation, a node all of whose replicas are, a zone that has
    weight and at least half of its replicas serving.
    """
    found = set[Target]()
    for zone in topology.zones:
        place = Target(topology.service, topology.cluster, zone.name)
        for node in zone.nodes:
            ready = [replica.name for replica in node.replicas if replica.serves]
            found |= {
                Target(topology.service, topology.cluster, zone.name, node.name, name) for name in ready
            }
            if node.replicas and len(ready) == len(node.replicas):
                found.add(Target(topology.service, topology.cluster, zone.name, node.name))
        if weights.weights.get(zone.name, 0) > 0 and 2 * zone.serving_replicas >= len(zone.replicas):
            found.add(place)
    return found


def gone(ledger: Sequence[OutOfService], topology: Topology) -> set[Target]:
    """Return claimed replicas that are no part of the fleet any more: their zone was scaled in.

    A replica that is only down is listed still, as a part of its node.
    """
    claimed = {Target.parse(row.target) for row in ledger}
    return {target for target in claimed if target.level == "replica"} - set(topology.targets())


def to_release(
    ledger: Sequence[OutOfService], seen: Collection[Target], busy: Collection[str]
) -> list[OutOfService]:
    """Return the claims whose target is back, and whose holder (a run, a fault) is not ``busy`` with it."""
    return [row for row in ledger if row.holder not in busy and Target.parse(row.target) in seen]


def to_claim(
    ledger: Sequence[OutOfService], service: Service, topology: Topology, weights: Weights
) -> list[tuple[Target, Dimension]]:
    """Return what somebody else took out, and nobody claims.

    Active zones without weight, and in those zones replicas that are ready and out of rotation.
    """
    held = [Target.parse(row.target) for row in ledger]
    zones = [
        Target(service.name, service.spec.cluster, z.name) for z in service.spec.zones if z.role == "active"
    ]
    out = [(zone, Dimension.TRAFFIC) for zone in zones if weights.weights.get(str(zone.zone)) == 0]
    out += [
        (target, Dimension.CAPACITY)
        for target, view in topology.replicas()
        if view.ready and not view.in_rotation and target.at("zone") in zones
    ]
    return [found for found in out if not any(claim.contains(found[0]) for claim in held)]

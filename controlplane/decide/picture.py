"""The overview: the fleet as the loop sees it, for every console, from the values it decides on.

It builds `controlplane.model.overview.Overview` and nothing else. A reading nobody knows is
None. Health is the worst of what the platform, the metrics and the canary say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.model.overview import (
    Headline,
    Health,
    HistoryPoint,
    NodeCell,
    Overview,
    Readings,
    ReplicaCell,
    SourceState,
    ZoneCell,
)
from controlplane.model.records import Incident, OutOfService
from controlplane.model.service import Service
from controlplane.model.signals import CanaryState
from controlplane.model.states import IncidentState
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, Weights, ZoneView
from controlplane.observe.measures import Measures

HISTORY = timedelta(minutes=15)
HISTORY_STEP = timedelta(seconds=5)

_HEADLINE = ("etpm", "etpm_estimate", "tokens_per_second", "ttft_p95", "tpot_p95")
_READINGS = ("etpm", "tokens_per_second", "ttft_p95", "tpot_p95", "running", "queue", "kv_use")
_BAD = {Health.FAILED, Health.DEGRADED}


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the picture is drawn from. ``states``: this tick's verdicts by indicator and replica."""

    service: Service
    topology: Topology
    weights: Weights | None
    measures: Measures
    canaries: Mapping[str, CanaryState]
    states: Mapping[str, Mapping[Target, bool]]
    incidents: Sequence[Incident]
    ledger: Sequence[OutOfService]
    sources: Sequence[SourceState]


def draw(
    scene: Scene, tick_at: datetime, evaluated_at: datetime, history: Sequence[HistoryPoint]
) -> Overview:
    """Draw the fleet; ``history`` gets this tick's headline when its last point is old enough."""
    service = scene.service.target
    headline = Headline.model_validate(_values(scene, service, _HEADLINE))
    points = [point for point in history if point.at > tick_at - HISTORY]
    if not points or tick_at - points[-1].at >= HISTORY_STEP:
        points.append(HistoryPoint(at=tick_at, **headline.model_dump()))
    return Overview(
        service=scene.service.name,
        cluster=scene.service.spec.cluster,
        tick_at=tick_at,
        evaluated_at=evaluated_at,
        headline=headline,
        zones=tuple(_zone(scene, zone) for zone in scene.topology.zones),
        history=tuple(points),
        sources=tuple(scene.sources),
    )


def _zone(scene: Scene, zone: ZoneView) -> ZoneCell:
    target = Target(scene.service.name, scene.service.spec.cluster, zone.name)
    nodes = tuple(_node(scene, target, node) for node in zone.nodes)
    weight = scene.weights.weights.get(zone.name, 0) if scene.weights else 0
    holder = next((row.holder for row in scene.ledger if Target.parse(row.target).contains(target)), None)
    health, reason = _worst([(node.health, node.name) for node in nodes])
    incident = _incident(scene, target)
    if incident is not None and incident.state is not IncidentState.MITIGATED:
        health = health if health is Health.FAILED else Health.DEGRADED
        reason = f"{incident.title}: {incident.detail}"
    if scene.weights is not None and weight == 0:
        why = f"held by {holder}" if holder else "no weight"
        health, reason = Health.SUSPENDED, f"{why}; {reason}" if reason else why
    return ZoneCell(
        name=zone.name,
        target=str(target),
        weight=weight,
        share=scene.weights.share(zone.name) if scene.weights else 0.0,
        health=health,
        reason=reason,
        holder=holder,
        readings=_readings(scene, target),
        nodes=nodes,
    )


def _node(scene: Scene, zone: Target, node: NodeView) -> NodeCell:
    target = Target(zone.service, zone.cluster, zone.zone, node.name)
    replicas = tuple(_replica(scene, target, replica) for replica in node.replicas)
    health, reason = _worst([(replica.health, replica.name) for replica in replicas])
    if not node.ready:
        health, reason = Health.FAILED, "the platform says not ready"
    return NodeCell(
        name=node.name,
        target=str(target),
        ready=node.ready,
        schedulable=node.schedulable,
        health=health,
        reason=reason,
        replicas=replicas,
    )


def _replica(scene: Scene, node: Target, replica: ReplicaView) -> ReplicaCell:
    target = Target(node.service, node.cluster, node.zone, node.node, replica.name)
    canary = scene.canaries.get(str(target))
    health, reason = _replica_health(scene, target, replica, canary)
    return ReplicaCell(
        name=replica.name,
        target=str(target),
        uid=replica.uid,
        health=health,
        reason=reason,
        canary=canary.good if canary else None,
        readings=_readings(scene, target),
    )


def _replica_health(
    scene: Scene, target: Target, replica: ReplicaView, canary: CanaryState | None
) -> tuple[Health, str | None]:
    if replica.state == "loading":
        return Health.PROGRESSING, "loading"
    if not replica.ready:
        return Health.FAILED, f"the platform says {replica.state}"
    if scene.states.get("stalled", {}).get(target) is False:
        return Health.FAILED, "stalled: it holds work and does not move"
    if scene.states.get("availability", {}).get(target) is False:
        return Health.FAILED, "it does not answer its scrape, or is not ready"
    if canary is not None and canary.good is False:
        return Health.DEGRADED, f"canary: {canary.detail}"
    if canary is None or canary.good is None:
        seen = target in scene.states.get("availability", {})
        return (Health.HEALTHY, None) if seen else (Health.UNKNOWN, "nobody has seen it lately")
    return Health.HEALTHY, None


def _worst(parts: Sequence[tuple[Health, str]]) -> tuple[Health, str | None]:
    """Return the health of a whole: failed when all parts are, degraded when any is not well."""
    if not parts:
        return Health.UNKNOWN, "it has no parts"
    found = [health for health, _ in parts]
    for alike in (Health.FAILED, Health.UNKNOWN, Health.PROGRESSING, Health.HEALTHY):
        if all(health is alike for health in found):
            return alike, None
    names = [name for health, name in parts if health in _BAD]
    if names:
        return Health.DEGRADED, f"not well: {', '.join(names)}"
    whole = Health.PROGRESSING if Health.PROGRESSING in found else Health.UNKNOWN
    return whole, None


def _incident(scene: Scene, target: Target) -> Incident | None:
    states = {IncidentState.FIRING, IncidentState.PENDING, IncidentState.MITIGATED}
    open_here = [each for each in scene.incidents if each.target == str(target) and each.state in states]
    order = [IncidentState.FIRING, IncidentState.PENDING, IncidentState.MITIGATED]
    return min(open_here, key=lambda each: (order.index(each.state), each.opened_at), default=None)


def _readings(scene: Scene, target: Target) -> Readings:
    return Readings.model_validate(_values(scene, target, _READINGS))


def _values(scene: Scene, target: Target, names: Sequence[str]) -> dict[str, float | None]:
    """Measure, to the fields of the overview; the success rate is the one whose name differs."""
    found = {name: scene.measures.value(name, target) for name in names}
    found["success_rate"] = scene.measures.value("success", target)
    return {name: None if value is None else round(value, 6) for name, value in found.items()}

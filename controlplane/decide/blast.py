"""The one blast-radius budget: how much would be out of service, through anything, after this step.

Counted is the union of distinct targets after containment (replica in node in zone), from
the ledger and from the step: a drill's own fault and the fail-over that answers it are one
zone, not two. A step that takes out nothing more than what is out already is never refused.
It claims nothing; the engine judges and claims in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from controlplane.model.action import Dimension, Touch
from controlplane.model.base import Level
from controlplane.model.playbook import Limits
from controlplane.model.records import GuardVerdict, OutOfService, Verdict
from controlplane.model.target import Target, minimal
from controlplane.model.topology import Topology

GUARD = "blastRadius"
_COUNTED: tuple[Level, ...] = ("zone", "node", "replica")


@dataclass(frozen=True, slots=True)
class Reach:
    """What is out of service at one moment: targets counted once, and replicas that serve."""

    out: frozenset[Target]
    healthy: int
    totals: Mapping[Level, int]

    def count(self, level: Level) -> int:
        return sum(target.level == level for target in self.out)

    @property
    def healthy_share(self) -> float:
        """Share of all replicas that still serve, 0..1; 0 for a fleet without replicas."""
        return self.healthy / self.totals["replica"] if self.totals["replica"] else 0.0


def reach(targets: Iterable[Target], topology: Topology) -> Reach:
    """Fold ``targets`` into the widest ones they make up, and count the replicas that still serve.

    All nodes of a zone are the zone, all replicas of a node the node; the whole service
    counts as each of its zones. A replica serves when the platform says ready and in rotation, and nothing
    that contains it is out. Targets of other services are not counted.
    """
    service = Target(topology.service, topology.cluster)
    out = {target for target in targets if service.contains(target)}
    replicas = topology.replicas()
    totals: dict[Level, int] = {
        "zone": len(topology.zones),
        "node": sum(len(zone.nodes) for zone in topology.zones),
        "replica": len(replicas),
    }
    if not out:
        return Reach(frozenset(), sum(view.serves for _, view in replicas), totals)
    fleet = topology.targets()
    if service in out:
        out = {one for one in fleet if one.level == "zone"}
    if any(one.level != "zone" for one in out):
        out = _folded(out, fleet)
    out = minimal(out)
    healthy = sum(view.serves and not _is_out(one, out) for one, view in replicas)
    return Reach(frozenset(out), healthy, totals)


def _folded(out: set[Target], fleet: Sequence[Target]) -> set[Target]:
    """Return ``out`` with the nodes and zones whose parts are all out."""
    children: dict[Target | None, list[Target]] = {}
    for one in fleet:
        children.setdefault(one.parent(), []).append(one)
    folded = set(out)
    for level in ("node", "zone"):
        for parent in (one for one in fleet if one.level == level):
            if parent in children and all(_is_out(child, folded) for child in children[parent]):
                folded.add(parent)
    return folded


def _is_out(target: Target, out: AbstractSet[Target]) -> bool:
    """Tell whether a target or anything that contains it is out."""
    return any(one.contains(target) for one in out)


def blast_radius(
    touches: Sequence[Touch],
    out_of_service: Sequence[OutOfService],
    topology: Topology,
    limits: Sequence[Limits],
    *,
    holder: str,
    protected: Sequence[str] = (),
) -> GuardVerdict:
    """Judge a step's ``touches`` against every one of ``limits`` (the policy's, the playbook's, ...).

    ``holder`` is who asks (a run's or a fault's id): what it holds itself is not counted as
    somebody else's. ``wait`` when the touches alone would fit and only what others hold
    stands in the way; ``refuse`` when they can never fit, or hit a protected target.
    """
    wanted = {t.target for t in touches if t.dimension is not Dimension.NOTHING and not t.returns}
    rows = [row for row in out_of_service if row.dimension is not Dimension.NOTHING]
    held = {Target.parse(row.target) for row in rows}
    own = {Target.parse(row.target) for row in rows if row.holder == holder}
    before = reach(held, topology)
    after = before if wanted <= held else reach(held | wanted, topology)
    values = _values(wanted, rows, before, after, holder)
    guarded = sorted(text for text in protected if any(Target.parse(text).overlaps(one) for one in wanted))
    if guarded:
        values["protected"] = guarded
        return _verdict(Verdict.REFUSE, f"{', '.join(guarded)} is protected by the policy", values)
    if after.out == before.out:
        return _verdict(Verdict.ALLOW, "nothing more goes out of service", values)
    broken = _broken(before, after, limits)
    if not broken:
        return _verdict(Verdict.ALLOW, _summary(after), values)
    values["broken"] = broken
    alone = _broken(reach(set(), topology), reach(own | wanted, topology), limits)
    return _verdict(Verdict.REFUSE if alone else Verdict.WAIT, "; ".join(broken), values)


def _broken(before: Reach, after: Reach, limits: Sequence[Limits]) -> list[str]:
    """Say which limits ``after`` breaks, beyond what ``before`` does already."""
    broken: list[str] = []
    for limit in limits:
        bounds = {"zone": limit.max_zones, "node": limit.max_nodes, "replica": limit.max_replicas}
        for level in _COUNTED:
            most = bounds[level]
            count, total = after.count(level), after.totals[level]
            if most is not None and count > most.of(total) and count > before.count(level):
                broken.append(f"{count} of {total} {level}s would be out of service, the limit is {most}")
        least, total = limit.min_healthy, after.totals["replica"]
        if least is not None and after.healthy < least.of(total) and after.healthy < before.healthy:
            broken.append(f"{after.healthy} of {total} replicas would stay healthy, {least} must")
    return list(dict.fromkeys(broken))


def _values(
    wanted: set[Target], rows: Sequence[OutOfService], before: Reach, after: Reach, holder: str
) -> dict[str, Any]:
    return {
        "wanted": sorted(map(str, wanted)),
        "heldByOthers": sorted(f"{row.target} by {row.holder}" for row in rows if row.holder != holder),
        "outBefore": sorted(map(str, before.out)),
        "outAfter": sorted(map(str, after.out)),
        "zonesAfter": after.count("zone"),
        "zones": after.totals["zone"],
        "healthyBefore": before.healthy,
        "healthyAfter": after.healthy,
        "replicas": after.totals["replica"],
        "healthyShareAfter": round(after.healthy_share, 4),
    }


def _summary(after: Reach) -> str:
    return (
        f"{after.count('zone')} of {after.totals['zone']} zones out, "
        f"{after.healthy} of {after.totals['replica']} replicas healthy ({after.healthy_share:.0%})"
    )


def _verdict(verdict: Verdict, message: str, values: dict[str, Any]) -> GuardVerdict:
    return GuardVerdict(guard=GUARD, verdict=verdict, message=message, values=values)

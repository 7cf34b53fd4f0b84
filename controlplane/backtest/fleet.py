"""The fleet as its metrics showed it: replicas by their scrapes, weights as far as Fleetward recorded them.

A replica belongs to the fleet from its first scrape, answered or not, until it has not been a target for
a while; time in which nothing at all was scraped does not count. Where no weights are recorded, every
active zone is taken to have users' traffic. It is never told anything, and refuses to be asked for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controlplane.controller.inputs import Fleet
from controlplane.kernel.errors import FleetwardError
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, Weights, ZoneView
from controlplane.observe.profile import HEARTBEAT, Profile, Query, queries, target_labels
from controlplane.observe.series import Row, Source

GONE_AFTER = 600.0
"""Seconds that others were scraped and a replica was not even tried: it was scaled in, not lost."""
FULL = 100
"""The weight of a zone that takes its share."""
_WEIGHTS = "recorded weights"


@dataclass(slots=True)
class _Seen:
    up: bool
    missed: float = 0.0


class RecordedFleet(Fleet):
    """One service's fleet, tick by tick. ``tick``: seconds between two looks."""

    def __init__(self, service: Service, engine: Profile, source: Source, tick: float) -> None:
        self.topology: Topology | None = None
        self.weights: Weights | None = None
        self.read_at: datetime | None = None
        self.error = "nothing was scraped yet"
        self.shed: tuple[str, ...] = ()
        self._of, self._source, self._tick = service, source, tick
        self._labels = target_labels(engine, service)
        self._heartbeat = _heartbeat(engine, service)
        self._seen: dict[Target, _Seen] = {}
        self._usual = {zone.name: FULL if zone.role == "active" else 0 for zone in service.spec.zones}
        self._shown: dict[Target, bool] = {}
        self.weighed = False
        """Whether weights were recorded."""

    @property
    def replicas(self) -> int:
        """How many replicas it has now."""
        return len(self._seen)

    def look(self, now: datetime) -> None:
        """Take over what the scrapes of this tick say."""
        weights = f'max by (zone) (fleetward_zone_weight{{service="{self._of.name}"}})'
        answers = self._source.poll({HEARTBEAT: self._heartbeat.promql, _WEIGHTS: weights}, now)
        rows, weighed = answers[HEARTBEAT], answers[_WEIGHTS]
        if isinstance(rows, FleetwardError) or isinstance(weighed, FleetwardError):
            return
        self._take({target: row.value > 0 for row in rows if (target := self._target(row)) is not None})
        self._weigh({row.labels.get("zone", ""): round(row.value) for row in weighed})
        if self._seen:
            self.read_at, self.error = now, ""
            self._show(now)

    def close(self) -> None:
        """Nothing was opened."""

    def _take(self, found: Mapping[Target, bool]) -> None:
        if not found:
            return
        for target in self._seen.keys() - found.keys():
            seen = self._seen[target]
            seen.up, seen.missed = False, seen.missed + self._tick
        self._seen = {target: seen for target, seen in self._seen.items() if seen.missed < GONE_AFTER}
        for target, up in found.items():
            self._seen[target] = _Seen(up)

    def _weigh(self, recorded: Mapping[str, int]) -> None:
        self.weighed = self.weighed or bool(recorded)
        weights = {zone: recorded.get(zone, usual) for zone, usual in self._usual.items()}
        if self.weights is None or weights != self.weights.weights:
            self.weights = Weights(version="recorded", weights=weights)

    def _target(self, row: Row) -> Target | None:
        names = (self._labels.zone, self._labels.node, self._labels.replica)
        parts = [row.labels.get(name or "", "") for name in names]
        if not all(parts):
            return None
        return Target(self._of.name, self._of.spec.cluster, *parts)

    def _show(self, now: datetime) -> None:
        shown = {target: seen.up for target, seen in self._seen.items()}
        if self.topology is not None and shown == self._shown:
            return
        self._shown = shown
        places: dict[str, dict[str, list[ReplicaView]]] = {zone: {} for zone in self._usual}
        for target in sorted(shown):
            nodes = places.setdefault(str(target.zone), {})
            nodes.setdefault(str(target.node), []).append(_replica(target.name, up=shown[target]))
        zones = [
            ZoneView(name=zone, nodes=tuple(_node(name, views) for name, views in nodes.items()))
            for zone, nodes in places.items()
        ]
        self.topology = Topology(
            service=self._of.name, cluster=self._of.spec.cluster, zones=tuple(zones), observed_at=now
        )


def _heartbeat(engine: Profile, service: Service) -> Query:
    return next(query for query in queries(engine, service) if query.name == HEARTBEAT)


def _replica(name: str, *, up: bool) -> ReplicaView:
    return ReplicaView(
        name=name,
        uid=name,
        ready=up,
        state="ready" if up else "unknown",
        address="",
        version="recorded",
    )


def _node(name: str, replicas: list[ReplicaView]) -> NodeView:
    ready = any(replica.ready for replica in replicas)
    return NodeView(name=name, uid=name, ready=ready, version="recorded", replicas=tuple(replicas))

"""How actions name a replica, look at it, and take it out of rotation or give it back.

Shared by everything that works on replicas. It refuses to decide which replica is meant when
two bear the name, and to send users to one that is not known to be good.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from controlplane.actions import places
from controlplane.actions.evidence import canary_of
from controlplane.kernel.errors import VersionConflict
from controlplane.model.action import ActionContext, Change, UndoRecord, UndoResult, UndoStatus
from controlplane.model.base import Model
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView, Topology
from controlplane.platforms.port import Platform

IN_ROTATION = "inRotation"
PERMISSIONS = ("list core/pods", "patch core/pods/status")
"""A replica leaves the load balancing by a readiness gate of ours: a condition in the pod's status."""

_TRIES = 5  # changes of the replica that may come between a read and a write


class ReplicaParameters(Model):
    """Parameters that name one replica, in either of two ways."""

    target: str | None = Field(None, description="the replica, as service/cluster/zone/node/replica")
    replica: str | None = Field(None, description="or its name alone, for example replica-a1-0")

    @model_validator(mode="after")
    def _names_one_replica(self) -> Self:
        if (self.target is None) == (self.replica is None):
            msg = "write either `target` or `replica`"
            raise ValueError(msg)
        return self


def topology(context: ActionContext) -> Topology:
    """Return the service's fleet as it stands."""
    return context.port(Platform).topology(context.service.name)


def find(parameters: ReplicaParameters, context: ActionContext) -> tuple[Target, ReplicaView]:
    """Return the replica that the parameters name, or raise `NotFound` with the nearest one."""
    found, target, name = topology(context).replicas(), parameters.target, parameters.replica
    return places.find(found, target=target, name=name, what="replica", service=context.service.name)


def view_of(target: Target, context: ActionContext) -> ReplicaView:
    """Return a replica as it stands, or raise `NotFound`."""
    return places.at(target, topology(context).replicas())


def zone_would_starve(targets: set[Target], context: ActionContext) -> str | None:
    """Say so if without ``targets`` a zone that gets traffic had no replica left that serves."""
    weights = context.port(Platform).weights(context.service.name).weights
    replicas = topology(context).replicas()
    for zone in sorted({str(target.zone) for target in targets}):
        left = [
            place for place, view in replicas if place.zone == zone and view.serves and place not in targets
        ]
        taken = [place for place, view in replicas if place in targets and place.zone == zone and view.serves]
        if taken and not left and weights.get(zone, 0) > 0:
            return f"{zone} gets traffic and would have no replica left: shift its traffic away first"
    return None


def set_rotation(context: ActionContext, target: Target, wanted: bool, *, part: str) -> ReplicaView:  # noqa: FBT001
    """Take ``target`` out of rotation or give it back, whatever else changes about it meanwhile."""
    for _ in range(_TRIES):
        view = view_of(target, context)
        if view.in_rotation == wanted:
            return view
        change = Change(target, IN_ROTATION, view.in_rotation, wanted)
        try:
            with context.effect(change, f"{part}.{target.name}") as tag:
                context.port(Platform).set_rotation(target, wanted, expected_version=view.version, by=tag)
        except VersionConflict:
            continue
        return view_of(target, context)
    msg = f"{target.name} changed {_TRIES} times while its rotation was to be written"
    raise VersionConflict(msg)


def restore_rotation(record: UndoRecord, context: ActionContext) -> UndoResult:
    """Put a replica's rotation back; it gets users again only while its canary is good."""
    before, name = bool(record.before), record.target.name
    view = view_of(record.target, context)
    if view.in_rotation == before:
        if record.applied is None:
            _show_fence(record, view, context)
        return UndoResult(UndoStatus.UNDONE, f"{name} is {_words(before)} already")
    if before:
        canary = canary_of(record.target, context)
        if canary.good is not True:
            return UndoResult(UndoStatus.WITHHELD, f"{name} stays out of rotation: {canary.why}")
    set_rotation(context, record.target, before, part="undo")
    return UndoResult(UndoStatus.UNDONE, f"{name} is {_words(before)} again")


def _show_fence(record: UndoRecord, view: ReplicaView, context: ActionContext) -> None:
    """Write what stands there: the step's own write may be under way still, and comes too late then."""
    before = bool(record.before)
    with context.effect(Change(record.target, IN_ROTATION, before, before), "fence") as tag:
        context.port(Platform).set_rotation(record.target, before, expected_version=view.version, by=tag)


def _words(in_rotation: bool) -> str:  # noqa: FBT001 - it is or is not
    return "in rotation" if in_rotation else "out of rotation"

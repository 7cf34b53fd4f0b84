"""How actions name a node, look at it, and cordon it or end that.

Shared by everything that works on nodes. It refuses to decide which node is meant when two
bear the name.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from controlplane.kernel.errors import InvalidInput, NotFound, VersionConflict
from controlplane.kernel.registry import did_you_mean
from controlplane.model.action import ActionContext, Change, UndoRecord, UndoResult, UndoStatus
from controlplane.model.base import Model
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, Topology
from controlplane.platforms.port import Platform

SCHEDULABLE = "schedulable"
PERMISSIONS = ("list core/nodes", "patch core/nodes")

_TRIES = 5  # changes of the node that may come between a read and a write


class NodeParameters(Model):
    """Parameters that name one node, in either of two ways."""

    target: str | None = Field(None, description="the node, as service/cluster/zone/node")
    node: str | None = Field(None, description="or its name alone, for example node-a1")

    @model_validator(mode="after")
    def _names_one_node(self) -> Self:
        if (self.target is None) == (self.node is None):
            msg = "write either `target` or `node`"
            raise ValueError(msg)
        return self


def of(topology: Topology) -> list[tuple[Target, NodeView]]:
    """List all nodes with their full targets."""
    return [
        (Target(topology.service, topology.cluster, zone.name, node.name), node)
        for zone in topology.zones
        for node in zone.nodes
    ]


def find(parameters: NodeParameters, context: ActionContext) -> tuple[Target, NodeView]:
    """Return the node that the parameters name, or raise `NotFound` with the nearest one."""
    nodes = of(context.port(Platform).topology(context.service.name))
    wanted = str(Target.parse(parameters.target)) if parameters.target else str(parameters.node)
    found = [
        (target, view)
        for target, view in nodes
        if wanted == (str(target) if parameters.target else view.name)
    ]
    if not found:
        names = [str(target) if parameters.target else view.name for target, view in nodes]
        msg = f"{context.service.name} has no node `{wanted}`"
        raise NotFound(msg, hint=did_you_mean(wanted, names))
    if len(found) > 1:
        msg = f"{len(found)} nodes are called `{wanted}`"
        raise InvalidInput(msg, hint="write `target` instead of `node`")
    return found[0]


def view_of(target: Target, context: ActionContext) -> NodeView:
    """Return a node as it stands, or raise `NotFound`."""
    for place, view in of(context.port(Platform).topology(context.service.name)):
        if place == target:
            return view
    msg = f"{target} is gone"
    raise NotFound(msg)


def set_schedulable(context: ActionContext, target: Target, wanted: bool, *, part: str) -> NodeView:  # noqa: FBT001
    """Cordon ``target`` or end that, whatever else changes about it meanwhile."""
    for _ in range(_TRIES):
        view = view_of(target, context)
        if view.schedulable == wanted:
            return view
        change = Change(target, SCHEDULABLE, view.schedulable, wanted)
        try:
            with context.effect(change, part) as tag:
                context.port(Platform).set_schedulable(target, wanted, expected_version=view.version, by=tag)
        except VersionConflict:
            continue
        return view_of(target, context)
    msg = f"{target.name} changed {_TRIES} times while it was to be {_words(wanted)}"
    raise VersionConflict(msg)


def restore_schedulable(record: UndoRecord, context: ActionContext) -> UndoResult:
    """Put back what stood before a step."""
    before, name = bool(record.before), record.target.name
    view = view_of(record.target, context)
    if view.schedulable == before:
        if record.applied is None:
            # The step's own write may be under way still: ours shows the fence, and it comes too late.
            with context.effect(Change(record.target, SCHEDULABLE, before, before), "fence") as tag:
                context.port(Platform).set_schedulable(
                    record.target, before, expected_version=view.version, by=tag
                )
        return UndoResult(UndoStatus.UNDONE, f"{name} is {_words(before)} already")
    set_schedulable(context, record.target, before, part="undo")
    return UndoResult(UndoStatus.UNDONE, f"{name} is {_words(before)} again")


def _words(schedulable: bool) -> str:  # noqa: FBT001 - it is or is not
    return "open for new work" if schedulable else "cordoned"

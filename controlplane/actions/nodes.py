"""How actions name a node, look at it, and cordon it or end that.

Shared by everything that works on nodes. It refuses to decide which node is meant when two
bear the name.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from controlplane.actions import places
from controlplane.kernel.errors import VersionConflict
from controlplane.model.action import ActionContext, Change, UndoRecord, UndoResult, UndoStatus
from controlplane.model.base import Model
from controlplane.model.target import Target
from controlplane.model.topology import NodeView
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


def find(parameters: NodeParameters, context: ActionContext) -> tuple[Target, NodeView]:
    """Return the node that the parameters name, or raise `NotFound` with the nearest one."""
    target, name = parameters.target, parameters.node
    return places.find(_all(context), target=target, name=name, what="node", service=context.service.name)


def view_of(target: Target, context: ActionContext) -> NodeView:
    """Return a node as it stands, or raise `NotFound`."""
    return places.at(target, _all(context))


def _all(context: ActionContext) -> list[tuple[Target, NodeView]]:
    return context.port(Platform).topology(context.service.name).nodes()


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

"""`node.restore`: wait until a node is well, give its replicas back to users, and open it for new work.

What follows a drain, whether the node came back by itself, was mended, or is another machine by now.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from controlplane.actions import nodes, replicas
from controlplane.actions.evidence import canary_of
from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView

LOOK_EVERY = 1.0
"""Seconds between looks at a node that is not well yet."""

Slots = list[tuple[Target, ReplicaView]]


class RestoreNodeParameters(nodes.NodeParameters):
    """Parameters of `node.restore`."""

    replicas: tuple[str, ...] | None = Field(
        None,
        description="which of its replicas get users again, as targets, for example those that "
        "`node.drain` took out; all when left out",
    )


class NodeRestore(Action[RestoreNodeParameters]):
    """Give a node's replicas back to the load balancing, once all of it is well, and open it for new work.

    It waits until the node is ready, each of the replicas is ready and its canary is good; the step's
    timeout bounds the wait. Nothing is written before that. Replicas that are not listed stay as they
    are: somebody else may have taken them out for a reason.

    Undo takes the replicas out again that this step gave back, and cordons the node if this step opened it.

    ```yaml
    uses: node.restore
    with: {node: node-a1}
    ```
    """

    name = "node.restore"
    parameters = RestoreNodeParameters
    reversible = True
    permissions = tuple(dict.fromkeys((*nodes.PERMISSIONS, *replicas.PERMISSIONS)))
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "replicas": "the replicas that have users again, as targets",
    }

    def touches(self, parameters: RestoreNodeParameters, context: ActionContext) -> list[Touch]:
        return [Touch(nodes.find(parameters, context)[0], Dimension.CAPACITY, returns=True)]

    def plan(self, parameters: RestoreNodeParameters, context: ActionContext) -> list[Change]:
        target, view = nodes.find(parameters, context)
        back = [
            Change(place, replicas.IN_ROTATION, False, True)
            for place, seen in _slots(parameters, target, view)
            if not seen.in_rotation
        ]
        opened = [] if view.schedulable else [Change(target, nodes.SCHEDULABLE, False, True)]
        return back + opened

    def run(self, parameters: RestoreNodeParameters, context: ActionContext) -> Outcome:
        target, view = nodes.find(parameters, context)
        slots = _slots(parameters, target, view)
        if (why := _not_well(view, slots, context)) is not None:
            return Again(LOOK_EVERY, dict(context.state), f"waits: {why}")
        for place, _ in slots:
            replicas.set_rotation(context, place, True, part="back")
        nodes.set_schedulable(context, target, True, part="open")
        return Done({"node": str(target), "replicas": [str(place) for place, _ in slots]})

    def observe(self, parameters: RestoreNodeParameters, context: ActionContext) -> Outcome:
        """Go on: node and replicas say by themselves whether they were written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the node")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        if record.field == nodes.SCHEDULABLE:
            return nodes.restore_schedulable(record, context)
        return replicas.restore_rotation(record, context)


def _slots(parameters: RestoreNodeParameters, target: Target, view: NodeView) -> Slots:
    """Return the replicas that are meant; raises `NotFound` for one that the node does not hold."""
    held = {
        str(place): (place, each)
        for each in view.replicas
        for place in [Target(target.service, target.cluster, target.zone, target.node, each.name)]
    }
    if parameters.replicas is None:
        return list(held.values())
    for wanted in parameters.replicas:
        if wanted not in held:
            msg = f"{target.name} has no replica `{wanted}`"
            raise NotFound(msg, hint=did_you_mean(wanted, list(held)))
    return [held[wanted] for wanted in parameters.replicas]


def _not_well(view: NodeView, slots: Slots, context: ActionContext) -> str | None:
    """Say what is not well yet, None when everything is known to be."""
    if not view.ready:
        return f"{view.name} is not ready"
    for place, each in slots:
        if not each.ready:
            return f"{each.name} is {each.state}"
        canary = canary_of(place, context)
        if canary.good is not True:
            return canary.why
    return None

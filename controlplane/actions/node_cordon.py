"""`node.cordon` and `node.uncordon`: whether a node may be given new work. What runs there runs on."""

from __future__ import annotations

from typing import ClassVar

from controlplane.actions import nodes
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.outcome import Again, Done, Outcome


class CordonParameters(nodes.NodeParameters):
    """Parameters of `node.cordon` and `node.uncordon`."""


class _Scheduling(Action[CordonParameters]):
    parameters = CordonParameters
    reversible = True
    permissions = nodes.PERMISSIONS
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "before": "whether it was open for new work before the step",
    }
    wanted: ClassVar[bool]

    def touches(self, parameters: CordonParameters, context: ActionContext) -> list[Touch]:
        return [Touch(nodes.find(parameters, context)[0], Dimension.NOTHING)]

    def plan(self, parameters: CordonParameters, context: ActionContext) -> list[Change]:
        target, view = nodes.find(parameters, context)
        if view.schedulable == self.wanted:
            return []
        return [Change(target, nodes.SCHEDULABLE, view.schedulable, self.wanted)]

    def run(self, parameters: CordonParameters, context: ActionContext) -> Outcome:
        if "before" not in context.state:
            # Kept before anything is written, so that it is the same after a crash.
            target, view = nodes.find(parameters, context)
            state = {"node": str(target), "before": view.schedulable}
            return Again(0.0, state, f"{target.name} is looked at")
        target, _ = nodes.find(parameters, context)
        nodes.set_schedulable(context, target, self.wanted, part="set")
        return Done({"node": str(target), "before": context.state["before"]})

    def observe(self, parameters: CordonParameters, context: ActionContext) -> Outcome:
        """Go on: the node says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the node")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return nodes.restore_schedulable(record, context)


class NodeCordon(_Scheduling):
    """Keep new work off a node. What runs there runs on and keeps its traffic.

    The first step when a node is suspected: replicas that are scaled up, or that move, go elsewhere.
    To take its replicas out of service too, use `node.drain`. A node that is cordoned already is left
    so, and undo does not open it. Undo opens the node if this step cordoned it and it still stands so.

    ```yaml
    uses: node.cordon
    with: {node: node-a1}
    ```
    """

    name = "node.cordon"
    wanted = False


class NodeUncordon(_Scheduling):
    """Let a node be given new work again. It gives no replica back to traffic.

    The last step after a node was mended or replaced. A node that is open already is left so, and
    undo does not cordon it. Undo cordons the node if this step opened it and it still stands so.

    ```yaml
    uses: node.uncordon
    with: {node: node-a1}
    ```
    """

    name = "node.uncordon"
    wanted = True

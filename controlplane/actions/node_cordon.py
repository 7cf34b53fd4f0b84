"""`node.cordon` and `node.uncordon`: whether a node may be given new work. What runs there runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from controlplane.actions import nodes, standing
from controlplane.model.action import ActionContext, Dimension
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.target import Target


class CordonParameters(nodes.NodeParameters):
    """Parameters of `node.cordon` and `node.uncordon`."""


class _Scheduling(standing.Declaration[CordonParameters]):
    parameters = CordonParameters
    loses = Dimension.NOTHING
    permissions = nodes.PERMISSIONS
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "before": "whether it was open for new work before the step",
    }

    def stands(
        self, parameters: CordonParameters, context: ActionContext
    ) -> tuple[Target, Sequence[standing.Stand]]:
        target, view = nodes.find(parameters, context)
        return target, [standing.opening_of(target, view)]

    def run(self, parameters: CordonParameters, context: ActionContext) -> Outcome:
        if "before" not in context.state:
            # Kept before anything is written, so that it is the same after a crash.
            target, view = nodes.find(parameters, context)
            state = {"node": str(target), "before": view.schedulable}
            return Again(0.0, state, f"{target.name} is looked at")
        target, _ = nodes.find(parameters, context)
        nodes.set_schedulable(context, target, self.wanted, part="set")
        return Done({"node": str(target), "before": context.state["before"]})


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

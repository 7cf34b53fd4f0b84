"""`node.replace`: put another machine behind a node's name, and wait until its replicas serve.

The last rung: for a machine that does not come back by itself, or whose hardware is broken.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from controlplane.actions import nodes
from controlplane.actions.renewal import Renewal, Seen
from controlplane.model.action import ActionContext
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, WriteTag
from controlplane.platforms.port import Platform


class ReplaceParameters(nodes.NodeParameters):
    """Parameters of `node.replace`."""

    reason: str = Field("", max_length=500, description="why; goes into the platform's records")


class NodeReplace(Renewal[ReplaceParameters]):
    """Replace a node by a new machine of the same name, and wait until all its replicas are ready.

    It works on a node that does not answer. All that runs there is lost: drain it first if it still
    serves. The machine that was seen when the step began is the one that is replaced; if somebody has
    replaced it already, the step waits for the new one. Replicas that were out of rotation stay out, and
    a cordon stays. A replacement cannot be undone.

    ```yaml
    uses: node.replace
    with: {node: node-a1, reason: its GPU fell off the bus}
    ```
    """

    name = "node.replace"
    parameters = ReplaceParameters
    permissions = (
        "list core/nodes",
        "list core/pods",
        "list cluster.x-k8s.io/machines",
        "delete cluster.x-k8s.io/machines",
    )
    past = "replaced"
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "before": "the uid of the machine that was replaced",
        "uid": "the uid of the new machine",
        "seconds": "from the step's begin until all replicas were ready",
    }

    def subject(self, parameters: ReplaceParameters, context: ActionContext) -> tuple[Target, Seen]:
        target, view = nodes.find(parameters, context)
        return target, _seen(view)

    def look(self, target: Target, context: ActionContext) -> Seen:
        return _seen(nodes.view_of(target, context))

    def renew(
        self,
        parameters: ReplaceParameters,
        target: Target,
        expected_uid: str,
        by: WriteTag,
        context: ActionContext,
    ) -> str:
        return context.port(Platform).replace_node(
            target, expected_uid=expected_uid, reason=parameters.reason, by=by
        )


def _seen(view: NodeView) -> Seen:
    ready = [replica.ready for replica in view.replicas]
    state = f"{sum(ready)} of {len(ready)} replicas ready" if view.ready else "not ready"
    return Seen(view.uid, view.ready and all(ready), state)

"""`node.restore`: wait until a node is well, give its replicas back to users, and open it for new work.

What follows a drain, whether the node came back by itself, was mended, or is another machine by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from pydantic import Field

from controlplane.actions import giving_back, nodes, standing
from controlplane.actions.evidence import Evidence
from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.action import ActionContext
from controlplane.model.base import Duration
from controlplane.model.outcome import Done
from controlplane.model.target import Target
from controlplane.model.topology import NodeView


class RestoreNodeParameters(nodes.NodeParameters, giving_back.HoldParameters):
    """Parameters of `node.restore`."""

    replicas: tuple[str, ...] | None = Field(
        None,
        description="which of its replicas get users again, as targets, for example those that "
        "`node.drain` took out; all when left out",
    )
    within: Duration | None = Field(
        None, gt=0, description="how long it waits until all is well; for the step's timeout when left out"
    )


class NodeRestore(
    giving_back.GiveBack[RestoreNodeParameters], standing.NodeDeclaration[RestoreNodeParameters]
):
    """Give a node's replicas back to the load balancing, once all of it is well, and open it for new work.

    It waits until the node is ready, each of the replicas is ready and its canary is good. Nothing is
    written before that, and nothing if it takes longer than `within`. Then the replicas get users, and are
    watched for `hold`: when the canary of one, or anything that is measured of one on samples since then,
    is bad, all that the step gave back are taken out again at once and the step fails. Only what holds is
    opened for new work. Replicas that are not listed stay as they are: somebody else may have taken them
    out for a reason.

    Undo takes the replicas out again that this step gave back, and cordons the node if this step opened it.

    ```yaml
    uses: node.restore
    with: {node: node-a1, hold: 15s}
    ```
    """

    name = "node.restore"
    parameters = RestoreNodeParameters
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "replicas": "the replicas that have users again, as targets",
        "reason": "why it was not given back, or taken out again; only when the step failed",
    }

    def given(
        self, parameters: RestoreNodeParameters, context: ActionContext
    ) -> tuple[Target, standing.Slots]:
        target, view = nodes.find(parameters, context)
        return target, self.slots(parameters, target, view)

    def slots(self, parameters: RestoreNodeParameters, target: Target, view: NodeView) -> standing.Slots:
        """Return the replicas that are meant; raises `NotFound` for one that the node does not hold."""
        held = {str(place): (place, each) for place, each in standing.slots_of(target, view)}
        if parameters.replicas is None:
            return list(held.values())
        for wanted in parameters.replicas:
            if wanted not in held:
                msg = f"{target.name} has no replica `{wanted}`"
                raise NotFound(msg, hint=did_you_mean(wanted, list(held)))
        return [held[wanted] for wanted in parameters.replicas]

    def readiness(
        self,
        parameters: RestoreNodeParameters,
        slots: standing.Slots,
        began: datetime,
        context: ActionContext,
    ) -> Evidence:
        """Wait for a node that loads, or that nobody hears of: it is not bad, it is not back yet."""
        why = _not_well(nodes.find(parameters, context)[1], slots, context)
        if why is None:
            return Evidence(True, "all of it is well")
        waited = (context.clock.now() - began).total_seconds()
        over = parameters.within is not None and waited >= parameters.within
        return Evidence(False, f"{why}, after {waited:.0f} s") if over else Evidence(None, why)

    def finish(self, target: Target, places: Sequence[Target], context: ActionContext) -> Done:
        nodes.set_schedulable(context, target, True, part="open")
        return Done({"node": str(target), "replicas": [str(place) for place in places]})


def _not_well(view: NodeView, slots: standing.Slots, context: ActionContext) -> str | None:
    """Say what is not well yet, None when everything is known to be."""
    if not view.ready:
        return f"{view.name} is not ready"
    loading = [f"{each.name} is {each.state}" for _, each in slots if not each.ready]
    canaries = giving_back.canaries_of(slots, context)
    bad = None if canaries.good is True or not slots else canaries.why
    return loading[0] if loading else bad

"""`node.drain`: keep new work off a node, take its replicas out of rotation, wait until they are empty."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from controlplane.actions import draining, nodes, replicas, standing
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import ActionContext
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome


class NodeDrainParameters(nodes.NodeParameters, draining.DrainingParameters):
    """Parameters of `node.drain`."""


class NodeDrain(standing.NodeDeclaration[NodeDrainParameters]):
    """Cordon a node, take all its replicas out of the load balancing, and wait until they are empty.

    What comes before `node.replace`, or before people open the machine. At most `within` is waited;
    `requests` says how many were left then. A node that holds the last replicas of a zone with traffic
    is not drained: shift the zone's traffic away first. Replicas stay where they are and run on.

    Undo gives each replica back that was in rotation before, only while its canary is good, and opens
    the node for new work.

    ```yaml
    uses: node.drain
    with: {node: node-a1, within: 45s}
    ```
    """

    name = "node.drain"
    parameters = NodeDrainParameters
    wanted = False
    outputs: ClassVar = {
        "node": "the node, as service/cluster/zone/node",
        "replicas": "the replicas that it took out of rotation, as targets",
        "requests": "how many requests were left; null when the platform cannot tell",
    }

    def run(self, parameters: NodeDrainParameters, context: ActionContext) -> Outcome:
        target, view = nodes.find(parameters, context)
        slots = {place: each.in_rotation for place, each in standing.slots_of(target, view)}
        state = dict(context.state)
        if "taken" not in state:
            if (why := replicas.zone_would_starve(set(slots), context)) is not None:
                return Failed(FailureKind.PERMANENT, why)
            # Kept before anything is written, so that it is the same after a crash.
            taken = [str(place) for place, in_rotation in slots.items() if in_rotation]
            return Again(0.0, {"taken": taken}, f"{target.name} is looked at")
        if "out" not in state:
            nodes.set_schedulable(context, target, False, part="cordon")
            for place in slots:
                replicas.set_rotation(context, place, False, part="out")
            state["out"] = to_rfc3339(context.clock.now())
            return Again(draining.LOOK_EVERY, state, f"{target.name} gets no new work")
        out = datetime.fromisoformat(state["out"])
        look = draining.look(slots, out, parameters.within, context)
        if not look.over:
            return Again(draining.LOOK_EVERY, state, look.words)
        if look.requests != 0 and parameters.on_timeout == "fail":
            return Failed(FailureKind.PERMANENT, f"{target.name} is not empty: {look.words}")
        return Done({"node": str(target), "replicas": state["taken"], "requests": look.requests})

"""`replica.drain`: take a replica out of rotation, and wait until its requests are over.

What comes before a restart or a reset that shall cost nobody an answer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from controlplane.actions import draining, replicas
from controlplane.actions.standing import ReplicaDeclaration
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import ActionContext
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target


class DrainParameters(replicas.ReplicaParameters, draining.DrainingParameters):
    """Parameters of `replica.drain`."""


class ReplicaDrain(ReplicaDeclaration[DrainParameters]):
    """Take one replica out of the load balancing, and wait until the requests inside it are over.

    At most `within` is waited; `requests` says how many were left then. A replica that hangs never gets
    empty, so the default is to go on. Where the platform cannot tell how many requests are inside, the
    whole time is waited. The last replica that serves a zone with traffic is not taken out.

    Undo gives the replica back, if it was in rotation before, and only while its canary is good;
    otherwise the undo is withheld.

    ```yaml
    uses: replica.drain
    with: {replica: replica-a1-0, within: 45s}
    ```
    """

    name = "replica.drain"
    parameters = DrainParameters
    wanted = False
    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "uid": "the uid of the incarnation that was drained",
        "requests": "how many requests were left; null when the platform cannot tell",
    }

    def run(self, parameters: DrainParameters, context: ActionContext) -> Outcome:
        if "out" not in context.state:
            target, view = replicas.find(parameters, context)
            if view.in_rotation and (why := replicas.zone_would_starve({target}, context)) is not None:
                return Failed(FailureKind.PERMANENT, why)
            replicas.set_rotation(context, target, False, part="out")
            state = {"target": str(target), "uid": view.uid, "out": to_rfc3339(context.clock.now())}
            return Again(draining.LOOK_EVERY, state, f"{target.name} gets no new requests")
        state = dict(context.state)
        target = Target.parse(state["target"])
        if replicas.view_of(target, context).uid != state["uid"]:
            context.note(f"{target.name} was restarted meanwhile: nothing is under way on {state['uid']}")
            return _done(state, 0)
        out = datetime.fromisoformat(state["out"])
        look = draining.look({target}, out, parameters.within, context)
        if not look.over:
            return Again(draining.LOOK_EVERY, state, look.words)
        if look.requests != 0 and parameters.on_timeout == "fail":
            return Failed(FailureKind.PERMANENT, f"{target.name} is not empty: {look.words}")
        return _done(state, look.requests)


def _done(state: dict[str, Any], requests: int | None) -> Done:
    return Done({"replica": state["target"], "uid": state["uid"], "requests": requests})

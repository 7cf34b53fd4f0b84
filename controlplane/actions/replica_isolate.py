"""`replica.isolate`: take a replica out of the load balancing while it runs on.

For a replica that answers slowly or wrongly: users are spared, and whoever looks for the cause
finds it as it is. It ends nothing: requests under way run on.
"""

from __future__ import annotations

from typing import ClassVar

from controlplane.actions import replicas
from controlplane.actions.standing import ReplicaDeclaration
from controlplane.model.action import ActionContext
from controlplane.model.outcome import Done, Failed, FailureKind, Outcome


class IsolateParameters(replicas.ReplicaParameters):
    """Parameters of `replica.isolate`."""


class ReplicaIsolate(ReplicaDeclaration[IsolateParameters]):
    """Take one replica out of the load balancing. It runs on, and its canary is still asked.

    New requests go to the zone's other replicas; those under way run on. The slot stays out when the
    replica is restarted, until it is given back. The last replica that serves a zone with traffic is
    not taken out: shift the zone's traffic away first.

    Undo gives the replica back, if it was in rotation before, and only while its canary is good;
    otherwise the undo is withheld.

    ```yaml
    uses: replica.isolate
    with: {replica: replica-a1-0}
    ```
    """

    name = "replica.isolate"
    parameters = IsolateParameters
    wanted = False
    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "uid": "the uid of the incarnation that was isolated",
    }

    def run(self, parameters: IsolateParameters, context: ActionContext) -> Outcome:
        target, view = replicas.find(parameters, context)
        if not view.in_rotation:
            context.note(f"{target.name} is out of rotation already")
        elif (why := replicas.zone_would_starve({target}, context)) is not None:
            return Failed(FailureKind.PERMANENT, why)
        replicas.set_rotation(context, target, False, part="out")
        return Done({"replica": str(target), "uid": view.uid})

"""`replica.restore`: give an isolated replica its clients back, and take them away again if it does not hold.

The other half of `replica.isolate`.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from controlplane.actions import giving_back, replicas
from controlplane.actions.evidence import Evidence
from controlplane.actions.standing import ReplicaDeclaration, Slots
from controlplane.model.action import ActionContext
from controlplane.model.target import Target


class RestoreReplicaParameters(replicas.ReplicaParameters, giving_back.HoldParameters):
    """Parameters of `replica.restore`."""


class ReplicaRestore(
    giving_back.GiveBack[RestoreReplicaParameters], ReplicaDeclaration[RestoreReplicaParameters]
):
    """Give one replica back to the load balancing, and watch it for `hold`.

    It gets new requests only while its canary is good; while that is not known the step waits, until its
    timeout. When its canary, or anything that is measured of the replica itself on samples since then, is
    bad, it is taken out again at once and the step fails. A replica that is in rotation already is left as
    it is.

    Undo takes it out again, if it was out before the step.

    ```yaml
    uses: replica.restore
    with: {replica: replica-a1-0, hold: 15s}
    ```
    """

    name = "replica.restore"
    parameters = RestoreReplicaParameters
    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "reason": "why it was taken out again; only when the step failed",
    }

    def given(self, parameters: RestoreReplicaParameters, context: ActionContext) -> tuple[Target, Slots]:
        target, view = replicas.find(parameters, context)
        return target, [(target, view)]

    def readiness(
        self, parameters: RestoreReplicaParameters, slots: Slots, began: datetime, context: ActionContext
    ) -> Evidence:
        """Leave alone what has its users; give nothing back that is known to be bad."""
        if all(view.in_rotation for _, view in slots):
            return Evidence(True, "it has its users")
        return giving_back.canaries_of(slots, context)

"""`gpu.recycle`: reset the GPU under a replica with its engine down, and wait until it serves again.

The second rung of the ladder for GPU errors, above a restart and below a replacement of the node.
"""

from __future__ import annotations

from pydantic import Field

from controlplane.actions import replicas
from controlplane.actions.renewal import ReplicaRenewal
from controlplane.model.action import ActionContext
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag
from controlplane.platforms.port import Platform


class RecycleParameters(replicas.ReplicaParameters):
    """Parameters of `gpu.recycle`."""

    reason: str = Field("", max_length=500, description="why; goes into the platform's records")


class GpuRecycle(ReplicaRenewal[RecycleParameters]):
    """Stop a replica's engine, reset its GPU, start the engine again, and wait until it is ready.

    For errors that outlive a restart of the engine but not a reset of the card. What a reset cannot
    mend (a card that fell off the bus, a row that cannot be remapped) wants `node.replace`. Requests
    under way on the replica are lost: isolate or drain it first if that matters. As with a restart, the
    incarnation that was seen when the step began is the one that is stopped. It cannot be undone.

    ```yaml
    uses: gpu.recycle
    with: {replica: replica-a1-0, reason: XID 94}
    ```
    """

    name = "gpu.recycle"
    parameters = RecycleParameters
    permissions = ("list core/pods", "delete core/pods", "create batch/jobs")

    def renew(
        self,
        parameters: RecycleParameters,
        target: Target,
        expected_uid: str,
        by: WriteTag,
        context: ActionContext,
    ) -> str:
        return context.port(Platform).recycle_gpu(
            target, expected_uid=expected_uid, reason=parameters.reason, by=by
        )

"""`replica.restart`: replace the incarnation in a replica's slot, and wait until it serves."""

from __future__ import annotations

from pydantic import Field

from controlplane.actions import replicas
from controlplane.actions.renewal import ReplicaRenewal
from controlplane.model.action import ActionContext
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag
from controlplane.platforms.port import Platform


class RestartParameters(replicas.ReplicaParameters):
    """Parameters of `replica.restart`."""

    reason: str = Field("", max_length=500, description="why; goes into the platform's records")


class ReplicaRestart(ReplicaRenewal[RestartParameters]):
    """Restart one replica and wait until it is ready; the step's timeout bounds the wait.

    Requests under way on it are lost: evacuate or drain it first if that matters. The restart names
    the incarnation that was seen when the step began. If that is gone already, through somebody else
    or an earlier attempt of this step, nothing is restarted and the step waits for the new one.
    A restart cannot be undone.

    ```yaml
    uses: replica.restart
    with: {replica: replica-a1-0, reason: its memory leaks}
    ```
    """

    name = "replica.restart"
    parameters = RestartParameters
    permissions = ("list core/pods", "delete core/pods")

    def renew(
        self,
        parameters: RestartParameters,
        target: Target,
        expected_uid: str,
        by: WriteTag,
        context: ActionContext,
    ) -> str:
        return context.port(Platform).restart_replica(
            target, expected_uid=expected_uid, reason=parameters.reason, by=by
        )

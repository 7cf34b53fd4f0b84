"""`replica.restore`: give an isolated replica its clients back, and take them away again if it does not hold.

The other half of `replica.isolate`. It refuses to give back what is not known to be good.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field

from controlplane.actions import replicas
from controlplane.actions.evidence import Evidence, canary_of, measured_at
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.base import Duration
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target

LOOK_EVERY = 1.0
"""Seconds between looks while it is watched: half a tick."""


class RestoreReplicaParameters(replicas.ReplicaParameters):
    """Parameters of `replica.restore`."""

    hold: Duration = Field(
        15.0, description="how long it is watched once it has its clients back", validate_default=False
    )


class ReplicaRestore(Action[RestoreReplicaParameters]):
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
    reversible = True
    permissions = replicas.PERMISSIONS
    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "reason": "why it was taken out again; only when the step failed",
    }

    def touches(self, parameters: RestoreReplicaParameters, context: ActionContext) -> list[Touch]:
        return [Touch(replicas.find(parameters, context)[0], Dimension.CAPACITY, returns=True)]

    def plan(self, parameters: RestoreReplicaParameters, context: ActionContext) -> list[Change]:
        target, view = replicas.find(parameters, context)
        return [] if view.in_rotation else [Change(target, replicas.IN_ROTATION, False, True)]

    def run(self, parameters: RestoreReplicaParameters, context: ActionContext) -> Outcome:
        phase = context.state.get("phase")
        if phase is None:
            return self._begin(parameters, context)
        target, state = Target.parse(context.state["target"]), dict(context.state)
        match phase:
            case "give":
                return self._give(target, state, context)
            case "hold":
                return self._hold(target, state, parameters.hold, context)
            case _:
                return self._take_away(target, state, context)

    def observe(self, parameters: RestoreReplicaParameters, context: ActionContext) -> Outcome:
        """Go on: the replica's rotation says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the replica's rotation")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return replicas.restore_rotation(record, context)

    @staticmethod
    def _begin(parameters: RestoreReplicaParameters, context: ActionContext) -> Outcome:
        target, view = replicas.find(parameters, context)
        if view.in_rotation:
            context.note(f"{target.name} is in rotation already")
            return Done({"replica": str(target)})
        return Again(0.0, {"phase": "give", "target": str(target)}, f"{target.name} is out of rotation")

    @staticmethod
    def _give(target: Target, state: dict[str, Any], context: ActionContext) -> Outcome:
        canary = canary_of(target, context)
        if canary.good is False:
            outputs = {"replica": str(target), "reason": canary.why}
            return Failed(
                FailureKind.PERMANENT, f"{target.name} stays out of rotation: {canary.why}", outputs
            )
        if canary.good is None:
            return Again(LOOK_EVERY, state, f"waiting: {canary.why}")
        replicas.set_rotation(context, target, True, part="in")
        since = to_rfc3339(context.clock.now())
        return Again(LOOK_EVERY, {**state, "phase": "hold", "since": since}, f"watching {target.name}")

    @staticmethod
    def _hold(target: Target, state: dict[str, Any], hold: float, context: ActionContext) -> Outcome:
        if not replicas.view_of(target, context).in_rotation:
            return Failed(FailureKind.PERMANENT, f"somebody else has taken {target.name} out again")
        since = datetime.fromisoformat(state["since"])
        found: tuple[Evidence, ...] = (canary_of(target, context), measured_at(target, context, since=since))
        for evidence in found:
            if evidence.good is False:
                # Durably: a later look that is better must not leave it in.
                return Again(0.0, {**state, "phase": "back", "reason": evidence.why}, evidence.why)
        if context.clock.now() < since + timedelta(seconds=hold):
            return Again(LOOK_EVERY, state, f"watching {target.name}")
        for evidence in found:
            if evidence.good is None:
                return Again(LOOK_EVERY, state, f"waiting: {evidence.why}")
        return Done({"replica": str(target)})

    @staticmethod
    def _take_away(target: Target, state: dict[str, Any], context: ActionContext) -> Outcome:
        replicas.set_rotation(context, target, False, part="back")
        outputs = {"replica": str(target), "reason": state["reason"]}
        message = f"{target.name} did not hold and is out of rotation again: {state['reason']}"
        return Failed(FailureKind.PERMANENT, message, outputs)

"""`traffic.restore`: give a zone its users back, a few first, and take them away again if it does not hold.

It refuses to go up a stage that is not proved, and to prove one by silence.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from controlplane.actions import weights
from controlplane.actions.evidence import Evidence, broken_for_all, canary_of, clients_of
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome

LOOK_EVERY = 1.0
"""Seconds between looks while a stage is held: half a tick."""


class RestoreParameters(Model):
    """Parameters of `traffic.restore`."""

    zone: str = Field(min_length=1, description="the zone that gets its users back")
    weight: int = Field(100, ge=1, le=100, description="the weight it ends with")
    stages: tuple[float, ...] = Field(
        (5, 25, 100), min_length=1, max_length=20, description="per cent of `weight`, rising to 100"
    )
    hold: Duration = Field(
        10.0, description="how long a stage is watched before the next one", validate_default=False
    )

    @model_validator(mode="after")
    def _stages_rise_to_100(self) -> Self:
        rising = all(low < high for low, high in zip((0.0, *self.stages), self.stages, strict=False))
        if not rising or self.stages[-1] != 100:
            msg = "stages must rise and end with 100, for example [5, 25, 100]"
            raise ValueError(msg)
        return self

    def weight_at(self, stage: int) -> int:
        """Return the weight of a stage, counted from 0; never 0."""
        return max(1, round(self.weight * self.stages[stage] / 100))


class TrafficRestore(Action[RestoreParameters]):
    """Raise a zone's weight stage by stage, each one watched for `hold` before the next.

    A stage begins only while the zone's canary is good. It is passed when `hold` is over, the canary
    is still good and no SLO of the zone or of the whole service is broken on samples of this stage;
    one of the whole service that was broken before the zone got anything does not count against it.
    When one is broken, or the canary is bad, the zone goes back at once to the weight it had before
    the step, and the step fails. What cannot be measured passes no stage: the step waits until its
    timeout. Stages below the weight that the zone has already are left out.

    Undo lowers the weight to what it was before the step, if it still stands as the step left it.

    ```yaml
    uses: traffic.restore
    with: {zone: zone-a, stages: [5, 25, 100], hold: 10s}
    ```
    """

    name = "traffic.restore"
    parameters = RestoreParameters
    reversible = True
    looks_first = True
    permissions = weights.PERMISSIONS
    outputs: ClassVar = {
        "weight": "the zone's weight at the end",
        "before": "its weight before the step",
        "version": "the platform's version of the weights at the end",
        "reason": "why the zone was sent back; only when the step failed",
    }

    def touches(self, parameters: RestoreParameters, context: ActionContext) -> list[Touch]:
        target = weights.zone_target(parameters.zone, context)
        return [Touch(target, Dimension.TRAFFIC, returns=True)]

    def plan(self, parameters: RestoreParameters, context: ActionContext) -> list[Change]:
        present = weights.weight_of(parameters.zone, weights.read(context))
        if present >= parameters.weight:
            return []
        target = weights.zone_target(parameters.zone, context)
        return [Change(target, weights.FIELD, present, parameters.weight)]

    def run(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        match context.state.get("phase"):
            case None:
                return self._begin(parameters, context)
            case "raise":
                return self._raise(parameters, context)
            case "hold":
                return self._hold(parameters, context)
            case _:
                return self._send_back(parameters, context)

    def observe(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        """Go on: a stage's weight says by itself whether it was written, and its key bars a second effect."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the weight that stands")

    def undo_touches(
        self, record: UndoRecord, parameters: RestoreParameters, context: ActionContext
    ) -> list[Touch]:
        del parameters
        return weights.undo_touches(record, context)

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return weights.restore(record, context)

    def _begin(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        present = weights.read(context)
        before = weights.weight_of(parameters.zone, present)
        if before >= parameters.weight:
            context.note(f"{parameters.zone} is at weight {before} already")
            return Done({"weight": before, "before": before, "version": present.version})
        stage = next(index for index in range(len(parameters.stages)) if parameters.weight_at(index) > before)
        state = {"phase": "raise", "stage": stage, "before": before, "ours": before}
        return Again(0.0, state, f"{parameters.zone} is at {before}")

    def _raise(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        state, stage = dict(context.state), int(context.state["stage"])
        canary = canary_of(weights.zone_target(parameters.zone, context), context)
        if canary.good is False:
            return self._turn(state, canary)
        if canary.good is None:
            return Again(LOOK_EVERY, state, f"waiting: {canary.why}")
        wanted = parameters.weight_at(stage)
        written = weights.write(context, parameters.zone, wanted, ours={int(state["ours"])}, part=str(stage))
        if isinstance(written, Failed):
            return written
        excused = state.get("excused", broken_for_all(context))
        state |= {
            "phase": "hold",
            "ours": wanted,
            "since": to_rfc3339(context.clock.now()),
            "excused": excused,
        }
        return Again(min(LOOK_EVERY, parameters.hold), state, f"{parameters.zone} is at {wanted}")

    def _hold(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        state, zone = dict(context.state), parameters.zone
        target, since = weights.zone_target(zone, context), datetime.fromisoformat(state["since"])
        clients = clients_of(target, context, since=since, excused=state["excused"])
        found = (canary_of(target, context), clients)
        for evidence in found:
            if evidence.good is False:
                return self._turn(state, evidence)
        present = weights.read(context)
        foreign = weights.check_ours(zone, int(state["ours"]), present)
        if foreign is not None:
            return foreign
        if context.clock.now() < since + timedelta(seconds=parameters.hold):
            return Again(LOOK_EVERY, state, f"watching {zone} at {state['ours']}")
        for evidence in found:
            if evidence.good is None:
                return Again(LOOK_EVERY, state, f"waiting at {state['ours']}: {evidence.why}")
        if state["stage"] + 1 == len(parameters.stages):
            return Done({"weight": state["ours"], "before": state["before"], "version": present.version})
        context.note(f"{zone} holds at {state['ours']}: {found[0].why}, {found[1].why}")
        return Again(0.0, {**state, "phase": "raise", "stage": state["stage"] + 1}, "the stage holds")

    def _turn(self, state: dict[str, Any], evidence: Evidence) -> Outcome:
        """Decide to go back, durably: a later look that is better must not leave the zone half-way."""
        return Again(0.0, {**state, "phase": "back", "reason": evidence.why}, evidence.why)

    def _send_back(self, parameters: RestoreParameters, context: ActionContext) -> Outcome:
        state, zone = context.state, parameters.zone
        before, reason = int(state["before"]), str(state["reason"])
        # The stage's own weight counts as ours too: it may stand although a crash kept it from being noted.
        ours = {int(state["ours"]), parameters.weight_at(int(state["stage"]))}
        written = weights.write(context, zone, before, ours=ours, part="back")
        if isinstance(written, Failed):
            return written
        message = f"{zone} did not hold at {state['ours']} and is back at {before}: {reason}"
        if state["ours"] == before:
            message = f"{zone} was not raised from {before}: {reason}"
        outputs = {"weight": before, "before": before, "version": written.version, "reason": reason}
        return Failed(FailureKind.PERMANENT, message, outputs)

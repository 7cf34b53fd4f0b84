"""`traffic.shift`: give a zone another share of new requests, at once or along a ramp.

The way down, away from harm. The way up is `traffic.restore`, which looks at every stage;
this action raises a weight too when told to, and looks at nothing.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import ClassVar

from pydantic import Field

from controlplane.actions import weights
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome

STAGE_SECONDS = 1.0
MAX_STAGES = 60
FIRST_POINTS = 10
"""The least that a ramp's first stage moves: harm is answered at once, the rest may follow."""


class ShiftParameters(Model):
    """Parameters of `traffic.shift`."""

    zone: str = Field(min_length=1, description="the zone whose weight is changed")
    weight: int = Field(ge=0, le=100, description="the weight it ends with; 0 takes all new requests away")
    over: Duration = Field(
        0.0, description="how long the ramp takes; 0 changes the weight at once", validate_default=False
    )
    steps: int | None = Field(
        None, ge=1, le=MAX_STAGES, description="stages of the ramp; one a second when left out"
    )


class TrafficShift(Action[ShiftParameters]):
    """Change a zone's weight: the share of new requests that it gets.

    With `over` the weight moves in even stages of about a second, the first one at once and by at
    least 10 points. Requests under way are not touched. A weight that somebody else has changed
    meanwhile is left alone and fails the step; other zones' weights may change at any time.

    Undo gives the zone back the weight from before the ramp, if it still stands as the step left it,
    and raises it only while the zone's canary is good; otherwise the undo is withheld.

    ```yaml
    uses: traffic.shift
    with: {zone: zone-a, weight: 0, over: 5s}
    ```
    """

    name = "traffic.shift"
    parameters = ShiftParameters
    reversible = True
    looks_first = True
    permissions = weights.PERMISSIONS
    outputs: ClassVar = {
        "weight": "the zone's weight at the end",
        "before": "its weight before the step",
        "version": "the platform's version of the weights at the end",
    }

    def touches(self, parameters: ShiftParameters, context: ActionContext) -> list[Touch]:
        target = weights.zone_target(parameters.zone, context)
        if parameters.weight == 0:
            return [Touch(target, Dimension.TRAFFIC)]
        present = weights.weight_of(parameters.zone, weights.read(context))
        if parameters.weight == present:
            return [Touch(target, Dimension.NOTHING)]
        return [Touch(target, Dimension.TRAFFIC, returns=parameters.weight > present)]

    def plan(self, parameters: ShiftParameters, context: ActionContext) -> list[Change]:
        present = weights.weight_of(parameters.zone, weights.read(context))
        if present == parameters.weight:
            return []
        target = weights.zone_target(parameters.zone, context)
        return [Change(target, weights.FIELD, present, parameters.weight)]

    def run(self, parameters: ShiftParameters, context: ActionContext) -> Outcome:
        if "before" not in context.state:
            return self._begin(parameters, context)
        before, stage = int(context.state["before"]), int(context.state["stage"]) + 1
        count = stage_count(before, parameters)
        last = weight_at(stage - 1, count, before, parameters.weight)
        wanted = weight_at(stage, count, before, parameters.weight)
        written = weights.write(context, parameters.zone, wanted, ours={last}, part=str(stage))
        if isinstance(written, Failed):
            return written
        if stage == count:
            return Done({"weight": wanted, "before": before, "version": written.version})
        began = datetime.fromisoformat(context.state["began"])
        due = parameters.over * stage / (count - 1)
        elapsed = (context.clock.now() - began).total_seconds()
        return Again(
            max(0.0, due - elapsed), {**context.state, "stage": stage}, f"{parameters.zone} is at {wanted}"
        )

    def observe(self, parameters: ShiftParameters, context: ActionContext) -> Outcome:
        """Go on: a stage's weight says by itself whether it was written, and its key bars a second effect."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the weight that stands")

    def undo_touches(
        self, record: UndoRecord, parameters: ShiftParameters, context: ActionContext
    ) -> list[Touch]:
        del parameters
        return weights.undo_touches(record, context)

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return weights.restore(record, context)

    def _begin(self, parameters: ShiftParameters, context: ActionContext) -> Outcome:
        """Keep the ramp's beginning before anything is written: stages must be the same after a crash."""
        present = weights.read(context)
        before = weights.weight_of(parameters.zone, present)
        if before == parameters.weight:
            context.note(f"{parameters.zone} is at weight {before} already")
            return Done({"weight": before, "before": before, "version": present.version})
        rest = sum(weight for zone, weight in present.weights.items() if zone != parameters.zone)
        if parameters.weight == 0 and rest == 0:
            message = f"{parameters.zone} is the only zone with any weight: nobody would serve"
            return Failed(FailureKind.PERMANENT, message)
        began = to_rfc3339(context.clock.now())
        return Again(0.0, {"before": before, "stage": 0, "began": began}, f"{parameters.zone} is at {before}")


def stage_count(before: int, parameters: ShiftParameters) -> int:
    """Return how many writes the ramp takes: one at its start, one at its end, one a second between."""
    if parameters.over <= 0:
        return 1
    wanted = parameters.steps or min(MAX_STAGES, round(parameters.over / STAGE_SECONDS) + 1)
    distance = abs(parameters.weight - before)
    return max(1, min(wanted, distance - min(FIRST_POINTS, distance) + 1))


def weight_at(stage: int, count: int, before: int, after: int) -> int:
    """Return the weight of a stage, 0 (before the ramp) to ``count`` (its end): the first push, then even."""
    distance = abs(after - before)
    if stage == 0 or distance == 0:
        return before
    first = distance if count == 1 else max(math.ceil(distance / count), min(FIRST_POINTS, distance))
    moved = first + round((distance - first) * (stage - 1) / max(1, count - 1))
    return before + moved if after > before else before - moved

"""`workload.scale`: let a zone have more replicas, or fewer, within the room that it has.

More harm nobody; fewer are judged by the blast radius like any replica that is taken out. It refuses
to decide how many would be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from controlplane.actions import weights
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import InvalidInput, VersionConflict
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Dimension,
    Reach,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import Scale
from controlplane.platforms.port import Platform

FIELD = "replicas"
LOOK = 1.0
"""Seconds between two looks at replicas that load."""
_TRIES = 5  # writes of somebody else to the same workload that may come between a read and a write


def _number(value: Any) -> Any:
    """Read ``"+2"``, which YAML keeps as a text."""
    return int(value) if isinstance(value, str) and value.lstrip("+-").isdecimal() else value


class ScaleParameters(Model):
    """Parameters of `workload.scale`."""

    zone: str = Field(min_length=1, description="the zone")
    by: Annotated[int | None, BeforeValidator(_number, json_schema_input_type=int | str | None)] = Field(
        None, description='how many more, or fewer: "+1", -1'
    )
    to: Annotated[int, Field(ge=1)] | Literal["usual"] | None = Field(
        None, description="or how many there shall be; `usual`: as many as without the standby"
    )
    ready_within: Duration = Field(
        300.0, gt=0, description="how long new replicas may take until they serve", validate_default=False
    )

    @model_validator(mode="after")
    def _is_one_wish(self) -> Self:
        if (self.by is None) == (self.to is None):
            msg = "write either `by` or `to`"
            raise ValueError(msg)
        return self


class WorkloadScale(Action[ScaleParameters]):
    """Set how many replicas a zone has, and wait until those that are new serve.

    `by` counts from what there is when the step begins, which is written down, so that a crash does
    not scale twice; `to` is a number. More than the zone has room for (its standby) is as many as it has
    room for; when there is none at all, the step fails. New replicas get requests when they are ready;
    those that are too many, the newest, get none from then on and end when theirs have. What somebody
    else sets meanwhile is left alone and fails the step.

    Scaling in is judged by the blast radius: as many replicas are out as go, until they are gone. Scaling
    out (`by` written with a plus) takes nothing out of service.

    Undo sets the number from before, if it still stands as the step left it.

    ```yaml
    uses: workload.scale
    with: {zone: zone-b, by: "+1", readyWithin: 2m}
    ```
    """

    name = "workload.scale"
    parameters = ScaleParameters
    reversible = True
    looks_first = True
    permissions = (
        "get apps/deployments",
        "get apps/deployments/scale",
        "patch apps/deployments/scale",
        "list core/pods",
    )
    outputs: ClassVar = {
        "replicas": "how many the zone shall have now",
        "before": "how many it had before the step",
        "ready": "how many serve at the end",
    }

    def reach_with(self, with_: Mapping[str, Any]) -> Reach:
        more = str(with_.get("by", "")).startswith("+")
        return Reach.SERVING if more and "to" not in with_ else Reach.OUT

    def touches(self, parameters: ScaleParameters, context: ActionContext) -> list[Touch]:
        target = _zone(parameters, context)
        present = context.port(Platform).scale(target)
        return _touches(target, present.replicas - _wanted(parameters, present), context)

    def plan(self, parameters: ScaleParameters, context: ActionContext) -> list[Change]:
        target = _zone(parameters, context)
        present = context.port(Platform).scale(target)
        wanted = _wanted(parameters, present)
        return [] if wanted == present.replicas else [Change(target, FIELD, present.replicas, wanted)]

    def run(self, parameters: ScaleParameters, context: ActionContext) -> Outcome:
        target = _zone(parameters, context)
        present = context.port(Platform).scale(target)
        if "before" not in context.state:
            # Kept before anything is written: counted from what stands there after a crash it would be twice.
            before, wanted = present.replicas, _wanted(parameters, present)
            if wanted == before and parameters.by is not None and parameters.by > 0:
                message = f"{target.name} has {before} replicas, and room for no more"
                return Failed(FailureKind.PERMANENT, message, _outputs(present, before))
            state = {"before": before, "wanted": wanted, "ready": present.ready}
            return Again(0.0, state, f"{target.name}: {before} to {wanted}")
        before, wanted = int(context.state["before"]), int(context.state["wanted"])
        if "written" not in context.state:
            written = _write(context, target, before, wanted)
            if isinstance(written, Failed):
                return written
            return Again(0.0, {**context.state, "written": True}, f"{target.name} shall have {wanted}")
        if present.replicas != wanted:
            return _foreign(target, present)
        if present.ready < int(context.state["ready"]) + wanted - before:
            return _awaited(parameters, context, target, present)
        return Done(_outputs(present, before))

    def observe(self, parameters: ScaleParameters, context: ActionContext) -> Outcome:
        """Go on: the number says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at how many there shall be")

    def undo_touches(
        self, record: UndoRecord, parameters: ScaleParameters, context: ActionContext
    ) -> list[Touch]:
        present = context.port(Platform).scale(record.target)
        return _touches(record.target, present.replicas - int(record.before), context)

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        name, present = record.target.name, context.port(Platform).scale(record.target)
        if present.replicas == record.before:
            if record.applied is None:
                # The step's own write may be under way still: ours shows the fence, and it comes too late.
                change = Change(record.target, FIELD, present.replicas, present.replicas)
                with context.effect(change, "fence") as tag:
                    context.port(Platform).set_scale(
                        record.target, present.replicas, expected_version=present.version, by=tag
                    )
            return UndoResult(UndoStatus.UNDONE, f"{name} has {record.before} already")
        if not record.is_ours(present.replicas):
            return UndoResult(
                UndoStatus.FOREIGN, f"somebody else has set {name} to {present.replicas}: left alone"
            )
        written = _write(context, record.target, present.replicas, int(record.before), part="undo")
        if isinstance(written, Failed):
            return UndoResult(UndoStatus.FOREIGN, written.message)
        return UndoResult(UndoStatus.UNDONE, f"{name} shall have {record.before} again")


def _zone(parameters: ScaleParameters, context: ActionContext) -> Target:
    weights.weight_of(parameters.zone, weights.read(context))
    return weights.zone_target(parameters.zone, context)


def _wanted(parameters: ScaleParameters, present: Scale) -> int:
    if parameters.to is None:
        wanted = present.replicas + (parameters.by or 0)
    else:
        wanted = present.usual if parameters.to == "usual" else parameters.to
    if wanted < 1:
        msg = f"{wanted} replicas of {parameters.zone} would be none"
        raise InvalidInput(msg, hint="a weight of 0 takes a zone's traffic away")
    return min(wanted, max(present.most, present.replicas))


def _touches(zone: Target, fewer: int, context: ActionContext) -> list[Touch]:
    """Return what goes with ``fewer`` replicas: the last slots, the newest; nothing when there are more."""
    if fewer <= 0:
        return [Touch(zone, Dimension.NOTHING)]
    places = context.port(Platform).topology(context.service.name).replicas()
    mine = sorted((target for target, _ in places if zone.contains(target)), key=_slot, reverse=True)
    return [Touch(target, Dimension.CAPACITY) for target in mine[:fewer]]


def _slot(target: Target) -> tuple[int, str]:
    last = target.name.rpartition("-")[2]
    return (int(last) if last.isdecimal() else 0, str(target))


def _write(
    context: ActionContext, target: Target, before: int, wanted: int, part: str = "set"
) -> Scale | Failed:
    for _ in range(_TRIES):
        present = context.port(Platform).scale(target)
        if present.replicas == wanted:
            return present
        if present.replicas != before:
            return _foreign(target, present)
        try:
            with context.effect(Change(target, FIELD, before, wanted), part) as tag:
                return context.port(Platform).set_scale(
                    target, wanted, expected_version=present.version, by=tag
                )
        except VersionConflict:
            continue
    msg = f"{target} changed {_TRIES} times while its replicas were to be set"
    raise VersionConflict(msg)


def _foreign(target: Target, present: Scale) -> Failed:
    message = f"{target.name} shall have {present.replicas} replicas: somebody else has set it"
    return Failed(FailureKind.PERMANENT, message, {"replicas": present.replicas})


def _awaited(parameters: ScaleParameters, context: ActionContext, target: Target, present: Scale) -> Outcome:
    waited = (context.clock.now() - context.started_at).total_seconds()
    seen = f"{present.ready} of {present.replicas} replicas of {target.name} serve"
    if waited >= parameters.ready_within:
        message = f"{seen} after {format_duration(parameters.ready_within)}"
        return Failed(FailureKind.PERMANENT, message, _outputs(present, int(context.state["before"])))
    return Again(LOOK, dict(context.state), seen)


def _outputs(present: Scale, before: int) -> dict[str, int]:
    return {"replicas": present.replicas, "before": before, "ready": present.ready}

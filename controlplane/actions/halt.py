"""`halt`: stop automation in a scope, for a time, so that people can look.

The brake of a playbook that sees more than it should mend by itself. It stops nothing by force:
runs stop after their step, drills end.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from controlplane.kernel.clock import to_rfc3339
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
from controlplane.model.outcome import Done, Outcome
from controlplane.model.ports import Halts
from controlplane.model.records import Halt as Stop
from controlplane.model.target import Target

FIELD = "halt"


class HaltParameters(Model):
    """Parameters of `halt`."""

    reason: str = Field(min_length=3, max_length=500, description="why; everybody who is stopped is told")
    for_: Duration = Field(
        alias="for", gt=0, description="how long it holds, unless somebody lifts it before"
    )
    zone: str | None = Field(
        None, min_length=1, description="this zone alone; all of the service when left out"
    )


class Halt(Action[HaltParameters]):
    """Halt automation for the service, or for one of its zones, for a time.

    No run starts, runs stop after their present step, drills end and take their faults back. It holds
    for this run too, so it belongs at the end of a playbook: later steps wait until the halt is over or
    lifted. A halt always ends by itself; `fleetward resume` lifts it before. A step that is done again
    after a crash raises the same halt, not a second one.

    Undo lifts the halt, if it is in force still.

    ```yaml
    uses: halt
    with: {reason: "two zones at once: look before anything moves", for: 30m}
    ```
    """

    name = "halt"
    parameters = HaltParameters
    reach = Reach.NONE
    reversible = True
    outputs: ClassVar = {"halt": "the halt's id", "until": "when it ends by itself"}

    def touches(self, parameters: HaltParameters, context: ActionContext) -> list[Touch]:
        return [Touch(_scope(parameters, context), Dimension.NOTHING)]

    def plan(self, parameters: HaltParameters, context: ActionContext) -> list[Change]:
        return [Change(_scope(parameters, context), FIELD, None, _id(context))]

    def run(self, parameters: HaltParameters, context: ActionContext) -> Outcome:
        halts = context.port(Halts)
        stands = halts.get(_id(context))
        if stands is None:
            # From the step's begin, so that a second try after a crash does not prolong it.
            until = context.started_at + timedelta(seconds=parameters.for_)
            wanted = Stop(
                id=_id(context),
                service=context.service.name,
                zone=parameters.zone,
                reason=parameters.reason,
                by=f"run {context.run_id}",
                created_at=context.clock.now(),
                expires_at=until,
            )
            with context.effect(Change(_scope(parameters, context), FIELD, None, wanted.id)):
                stands = halts.add(wanted)
        ends = to_rfc3339(stands.expires_at) if stands.expires_at is not None else None
        return Done({"halt": stands.id, "until": ends})

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        halts = context.port(Halts)
        stands = halts.get(str(record.intended))
        if stands is None:
            return UndoResult(UndoStatus.UNDONE, "it was never raised")
        if stands.lifted_at is not None:
            return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted already")
        with context.effect(Change(record.target, FIELD, stands.id, None), "lift"):
            halts.lift(stands.id)
        return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted")


def _id(context: ActionContext) -> str:
    """Return the halt's id: the same one when the step is done again."""
    return f"halt-{context.run_id}-{context.step_id}"


def _scope(parameters: HaltParameters, context: ActionContext) -> Target:
    service = context.service.target
    return service if parameters.zone is None else Target(service.service, service.cluster, parameters.zone)

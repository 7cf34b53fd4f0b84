"""`freeze`: let changes wait that are no remedies, for as long as an incident lasts.

Unlike a halt it leaves the remedies alone: it stops what could spend more of an error budget that is
spent already. It refuses to hold for ever.
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
from controlplane.model.ports import Freezes
from controlplane.model.records import Freeze as Stop

FIELD = "freeze"


class FreezeParameters(Model):
    """Parameters of `freeze`."""

    reason: str = Field(min_length=3, max_length=500, description="why; whatever has to wait says it")
    for_: Duration = Field(alias="for", gt=0, description="how long it holds at most")
    while_open: bool = Field(
        default=True, description="whether it ends sooner, when the incident that started the run is over"
    )


class Freeze(Action[FreezeParameters]):
    """Freeze the service's changes for a time: no drill begins, and playbooks do as in a policy's freeze.

    A playbook says with `windows.inFreeze` what a freeze means to it: `wait` (if it says nothing),
    `refuse` or `run`; the remedies that are shipped run. What is under way goes on. The freeze ends at
    its time or, with `whileOpen`, with the incident that started the run, if that is over before. A step
    that is done again after a crash raises the same freeze.

    Undo lifts the freeze, if it is in force still; so does `fleetward runs undo`.

    ```yaml
    uses: freeze
    with: {reason: "the error budget is spent", for: 7d}
    ```
    """

    name = "freeze"
    parameters = FreezeParameters
    reach = Reach.NONE
    reversible = True
    outputs: ClassVar = {"freeze": "the freeze's id", "until": "when it ends at the latest"}

    def touches(self, parameters: FreezeParameters, context: ActionContext) -> list[Touch]:
        return [Touch(context.service.target, Dimension.NOTHING)]

    def plan(self, parameters: FreezeParameters, context: ActionContext) -> list[Change]:
        return [Change(context.service.target, FIELD, None, _id(context))]

    def run(self, parameters: FreezeParameters, context: ActionContext) -> Outcome:
        freezes = context.port(Freezes)
        stands = freezes.get(_id(context))
        if stands is None:
            incident = (context.scope.get("incident") or {}).get("id") if parameters.while_open else None
            wanted = Stop(
                id=_id(context),
                service=context.service.name,
                reason=parameters.reason,
                by=f"run {context.run_id}",
                incident=incident,
                created_at=context.clock.now(),
                # From the step's begin, so that a second try after a crash does not prolong it.
                expires_at=context.started_at + timedelta(seconds=parameters.for_),
            )
            with context.effect(Change(context.service.target, FIELD, None, wanted.id)):
                stands = freezes.add(wanted)
        return Done({"freeze": stands.id, "until": to_rfc3339(stands.expires_at)})

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        freezes = context.port(Freezes)
        stands = freezes.get(str(record.intended))
        if stands is None:
            return UndoResult(UndoStatus.UNDONE, "it was never raised")
        if stands.lifted_at is not None:
            return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted already")
        with context.effect(Change(record.target, FIELD, stands.id, None), "lift"):
            freezes.lift(stands.id)
        return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted")


def _id(context: ActionContext) -> str:
    """Return the freeze's id: the same one when the step is done again."""
    return f"freeze-{context.run_id}-{context.step_id}"

"""`halt`: stop automation in a scope, for a time, so that people can look.

The brake of a playbook that sees more than it should mend by itself. It stops nothing by force:
runs stop after their step, drills end.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from controlplane.actions.stops import Stop, StopParameters
from controlplane.model import records
from controlplane.model.action import ActionContext
from controlplane.model.ports import Halts
from controlplane.model.target import Target


class HaltParameters(StopParameters):
    """Parameters of `halt`."""

    zone: str | None = Field(
        None, min_length=1, description="this zone alone; all of the service when left out"
    )


class Halt(Stop[HaltParameters, records.Halt]):
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
    outputs: ClassVar = {"halt": "the halt's id", "until": "when it ends by itself"}

    def stops(self, context: ActionContext) -> Halts:
        return context.port(Halts)

    def wanted(
        self, parameters: HaltParameters, id_: str, until: datetime, context: ActionContext
    ) -> records.Halt:
        return records.Halt(
            id=id_,
            service=context.service.name,
            zone=parameters.zone,
            reason=parameters.reason,
            by=f"run {context.run_id}",
            created_at=context.clock.now(),
            expires_at=until,
        )

    def where(self, parameters: HaltParameters, context: ActionContext) -> Target:
        service = context.service.target
        return (
            service if parameters.zone is None else Target(service.service, service.cluster, parameters.zone)
        )

"""`freeze`: let changes wait that are no remedies, for as long as an incident lasts.

Unlike a halt it leaves the remedies alone: it stops what could spend more of an error budget that is
spent already. It refuses to hold for ever.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from controlplane.actions.stops import Stop, StopParameters
from controlplane.model import records
from controlplane.model.action import ActionContext
from controlplane.model.ports import Freezes


class FreezeParameters(StopParameters):
    """Parameters of `freeze`."""

    while_open: bool = Field(
        default=True, description="whether it ends sooner, when the incident that started the run is over"
    )


class Freeze(Stop[FreezeParameters, records.Freeze]):
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
    outputs: ClassVar = {"freeze": "the freeze's id", "until": "when it ends at the latest"}

    def stops(self, context: ActionContext) -> Freezes:
        return context.port(Freezes)

    def wanted(
        self, parameters: FreezeParameters, id_: str, until: datetime, context: ActionContext
    ) -> records.Freeze:
        incident = (context.scope.get("incident") or {}).get("id") if parameters.while_open else None
        return records.Freeze(
            id=id_,
            service=context.service.name,
            reason=parameters.reason,
            by=f"run {context.run_id}",
            incident=incident,
            created_at=context.clock.now(),
            expires_at=until,
        )

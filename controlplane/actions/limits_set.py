"""`limits.set`: let at most so many requests a second into a zone, or any number again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from controlplane.actions import admission
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Failed, Outcome
from controlplane.platforms.port import MAX_LIMIT


class LimitParameters(Model):
    """Parameters of `limits.set`."""

    zone: str = Field(min_length=1, description="the zone that is limited")
    requests_per_second: int | None = Field(
        ge=1, le=MAX_LIMIT, description="the most new requests per second; null lets any number in"
    )


class LimitsSet(Action[LimitParameters]):
    """Set how many requests per second the gateway lets into a zone.

    What is over the limit is answered 429 with `Retry-After` by the gateway, before it costs a GPU
    anything: better a few who are told to come again than all who wait. The limit is a token bucket
    that holds a second's worth. A limit that somebody else changes while the step writes is left alone
    and fails the step.

    Undo sets what stood before, if it still stands as the step left it.

    ```yaml
    uses: limits.set
    with: {zone: zone-b, requestsPerSecond: 8}
    ```
    """

    name = "limits.set"
    parameters = LimitParameters
    reversible = True
    looks_first = True
    permissions = admission.PERMISSIONS
    outputs: ClassVar = {
        "limit": "the zone's requests per second at the end; null for any number",
        "before": "the limit before the step",
    }

    def touches(self, parameters: LimitParameters, context: ActionContext) -> list[Touch]:
        return [Touch(admission.zone_of(parameters.zone, context), Dimension.NOTHING)]

    def plan(self, parameters: LimitParameters, context: ActionContext) -> list[Change]:
        target = admission.zone_of(parameters.zone, context)
        present = admission.limit_of(target)(admission.read(context))
        if present == parameters.requests_per_second:
            return []
        return [Change(target, admission.LIMIT, present, parameters.requests_per_second)]

    def run(self, parameters: LimitParameters, context: ActionContext) -> Outcome:
        target = admission.zone_of(parameters.zone, context)
        look = admission.limit_of(target)
        if "before" not in context.state:
            # Kept before anything is written, so that it is the same after a crash.
            before = look(admission.read(context))
            return Again(0.0, {"before": before}, f"{target.name} is at {before}")
        before = context.state["before"]
        change = Change(target, admission.LIMIT, before, parameters.requests_per_second)
        written = admission.write(
            context, change, look, admission.put_limit(target, context), ours=[before], part="set"
        )
        if isinstance(written, Failed):
            return written
        return Done({"limit": parameters.requests_per_second, "before": before})

    def observe(self, parameters: LimitParameters, context: ActionContext) -> Outcome:
        """Go on: the limit says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the limit")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        target = record.target
        return admission.restore(
            record, context, admission.limit_of(target), admission.put_limit(target, context)
        )

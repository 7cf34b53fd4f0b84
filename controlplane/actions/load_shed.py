"""`load.shed`: refuse the clients that can wait, so that the others are served."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from controlplane.actions import admission
from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import did_you_mean
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Dimension,
    Reach,
    Touch,
    UndoRecord,
    UndoResult,
)
from controlplane.model.base import Model, Name
from controlplane.model.outcome import Again, Done, Failed, Outcome
from controlplane.model.topology import Admission, WriteTag
from controlplane.platforms.port import Platform

FIELD = "shed"


class ShedParameters(Model):
    """Parameters of `load.shed`."""

    tiers: tuple[Name, ...] | None = Field(
        None,
        description="the tiers that are refused from now on, no others; [] refuses nobody any more. "
        "All that the Service says may be shed when left out",
    )


class LoadShed(Action[ShedParameters]):
    """Refuse requests of some tiers of clients with 429 and `Retry-After`, or take that back.

    The Service lists its tiers and says which may be shed; any other is refused by this action, so a
    playbook cannot turn away those whom it shall protect. `tiers` is the whole list that is refused
    afterwards: `[]` lets everybody in again. Clients say their tier in a header; who says none is never
    shed. What somebody else changes while the step writes is left alone and fails the step.

    Undo refuses those who were refused before, if it still stands as the step left it.

    ```yaml
    uses: load.shed
    with: {tiers: [batch]}
    ```
    """

    name = "load.shed"
    parameters = ShedParameters
    reach = Reach.SERVING
    reversible = True
    looks_first = True
    permissions = admission.PERMISSIONS
    outputs: ClassVar = {
        "tiers": "the tiers that are refused at the end",
        "before": "those that were refused before the step",
    }

    def touches(self, parameters: ShedParameters, context: ActionContext) -> list[Touch]:
        _tiers(parameters, context)
        return [Touch(context.service.target, Dimension.NOTHING)]

    def plan(self, parameters: ShedParameters, context: ActionContext) -> list[Change]:
        wanted, present = _tiers(parameters, context), admission.shed(admission.read(context))
        return [] if wanted == present else [Change(context.service.target, FIELD, present, wanted)]

    def run(self, parameters: ShedParameters, context: ActionContext) -> Outcome:
        wanted = _tiers(parameters, context)
        if "before" not in context.state:
            # Kept before anything is written, so that it is the same after a crash.
            before = admission.shed(admission.read(context))
            return Again(0.0, {"before": before}, f"{', '.join(before) or 'nobody'} is refused")
        before = context.state["before"]
        change = Change(context.service.target, FIELD, before, wanted)
        written = admission.write(context, change, admission.shed, _put(context), ours=[before], part="set")
        if isinstance(written, Failed):
            return written
        return Done({"tiers": wanted, "before": before})

    def observe(self, parameters: ShedParameters, context: ActionContext) -> Outcome:
        """Go on: the list says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at who is refused")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return admission.restore(record, context, admission.shed, _put(context))


def _tiers(parameters: ShedParameters, context: ActionContext) -> list[str]:
    """Return the tiers to refuse, or raise `InvalidInput` for one that may not be."""
    tiers = context.service.spec.tiers
    may = sorted(tier.name for tier in tiers if tier.may_shed)
    if parameters.tiers is None:
        if not may:
            msg = f"{context.service.name} has no tier that may be shed"
            raise InvalidInput(msg, hint="write `tiers: [{name: batch, mayShed: true}]` into the Service")
        return may
    for name in parameters.tiers:
        if name not in may:
            known = any(tier.name == name for tier in tiers)
            msg = f"the tier `{name}` may not be shed" if known else f"there is no tier `{name}`"
            raise InvalidInput(msg, hint=did_you_mean(name, may))
    return sorted(set(parameters.tiers))


def _put(context: ActionContext) -> admission.Put:
    def put(tiers: list[str], version: str, tag: WriteTag) -> Admission:
        return context.port(Platform).set_shed(context.service.name, tiers, expected_version=version, by=tag)

    return put

"""`zone.quiet`: wait until a zone holds few requests. It changes nothing."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from controlplane.kernel.errors import NotFound
from controlplane.model.action import Action, ActionContext, ActionRegistry
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.platforms.port import Platform


class QuietParameters(Model):
    """Parameters of `zone.quiet`."""

    zone: str = Field(min_length=1, description="the zone that is looked at")
    at_most: int = Field(0, ge=0, description="how many requests may be inside its replicas")
    every: Duration = Field(2.0, gt=0, description="time between two looks", validate_default=False)


class ZoneQuiet(Action[QuietParameters]):
    """Wait until the replicas of a zone hold at most so many requests; the step's timeout bounds the wait.

    For a step that is better done when little is under way, such as a restart of what serves the zone.
    Replicas of which the platform cannot tell are waited for, since silence is not emptiness. Nothing
    is changed, so nothing is undone.

    ```yaml
    uses: zone.quiet
    with: {zone: zone-a, atMost: 2}
    ```
    """

    name = "zone.quiet"
    parameters = QuietParameters
    permissions = ("list core/pods",)
    outputs: ClassVar = {"requests": "how many requests the zone held at the end"}

    def run(self, parameters: QuietParameters, context: ActionContext) -> Outcome:
        zone = context.port(Platform).topology(context.service.name).zone(parameters.zone)
        if zone is None:
            msg = f"no zone `{parameters.zone}`"
            raise NotFound(msg)
        held = [replica.requests for replica in zone.replicas]
        known = sum(count for count in held if count is not None)
        if None in held:
            return Again(parameters.every, {}, f"of {held.count(None)} replicas nothing is known")
        if known > parameters.at_most:
            return Again(parameters.every, {}, f"{known} requests, {parameters.at_most} may be")
        return Done({"requests": known})


def register(registry: ActionRegistry) -> None:
    """Add the action: what the entry point names."""
    registry.add(ZoneQuiet.name, ZoneQuiet())

"""Triggers on the clock: cron in a time zone, with a deadline and a word on what was missed.

Each due time is decided on once, whoever leads: the caller keeps the latest one that was.
While guards stand in the way it waits, until its deadline or until the next due time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from controlplane.kernel.cron import Cron
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Duration
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.triggers.base import Due, Trigger


class ScheduleTrigger(Trigger):
    """Starts the playbook at the times of a cron expression, for the service or once for each zone."""

    timed: ClassVar[bool] = True

    type: Literal["schedule"]
    cron: str = Field(description="minute, hour, day of month, month, day of week", examples=["0 4 * * 1-5"])
    time_zone: str = Field("UTC", examples=["Europe/Rome"])
    starting_deadline: Duration = Field(
        300.0, description="how late a start still counts as this time's", validate_default=False
    )
    missed: Literal["skip", "runOnce"] = Field(
        "skip", description="what was missed is left out, or done once however often it was missed"
    )
    by: Literal["service", "zone"] = "service"

    @model_validator(mode="after")
    def _is_a_schedule(self) -> Self:
        try:
            Cron.parse(self.cron, self.time_zone)
        except InvalidInput as error:
            raise ValueError(error.message) from error
        return self

    def describe(self) -> str:
        return f"schedule:{self.cron} {self.time_zone} by {self.by}"

    def places(self, service: Service) -> Sequence[Target]:
        if self.by == "service":
            return [service.target]
        return [Target(service.name, service.spec.cluster, zone) for zone in service.zones]

    def due(self, now: datetime, decided: datetime) -> Due | None:
        at = Cron(self.cron, self.time_zone).latest(now)
        if at is None or at <= decided:
            return None
        late = (now - at).total_seconds()
        return Due(at, late, lapsed=late > self.starting_deadline and self.missed == "skip")

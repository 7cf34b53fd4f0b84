"""Triggers on an objective whose incident fires at one of the tiers; the objective is judged without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from controlplane.model.base import Level, Name
from controlplane.model.records import Incident
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Facts, Trigger


class SloTrigger(Trigger):
    """Fires when an SLO's incident starts firing at one of the tiers."""

    references: ClassVar[Mapping[str, str]] = {"slo": "SLO"}

    type: Literal["slo"]
    slo: Name
    tiers: tuple[str, ...] = Field(("fast", "page"), min_length=1)
    by: Level = "zone"

    def describe(self) -> str:
        return f"slo:{self.slo} by {self.by}"

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == ("slo", self.slo, self.by)

    def matches(self, incident: Incident, facts: Facts) -> bool:
        firing = {incident.tier, *facts.tiers.get(incident.signal, ())}
        return super().matches(incident, facts) and bool(firing & set(self.tiers))

"""Triggers on an incident of any signal that reaches a state: how a zone gets its traffic back."""

from __future__ import annotations

from typing import Literal

from controlplane.model.base import Duration, Level
from controlplane.model.records import Incident
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.base import Facts, Trigger


class IncidentTrigger(Trigger):
    """Fires on an incident's state; with ``targetHealthyFor`` once the canary has been good that long."""

    type: Literal["incident"]
    state: Literal["firing", "mitigated", "resolved"]
    target_healthy_for: Duration | None = None
    by: Level = "zone"

    def describe(self) -> str:
        return f"incident:{self.state} by {self.by}"

    def answers(self, signal: Signal) -> bool:
        return self.state == "firing" and self.by == signal.target.level

    def matches(self, incident: Incident, facts: Facts) -> bool:
        if incident.state.value != self.state or Target.parse(incident.target).level != self.by:
            return False
        if self.target_healthy_for is None:
            return True
        canary = facts.canaries.get(incident.target)
        return canary is not None and canary.good is True and canary.good_for >= self.target_healthy_for

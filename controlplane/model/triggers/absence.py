"""Triggers on silence: an indicator that one target no longer has while others still do.

Silence has two reasons. When the source is lost, or no target of the level has the
indicator, the observer is suspected: that is unknown, and never fires. When a target's own
is gone while the source speaks for others, the target is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from controlplane.model.base import Duration, Level
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.base import IndicatorName, Look, Trigger

ABSENCE = "absence"


class AbsenceTrigger(Trigger):
    """Fires when a target that is part of the fleet has had no value of an indicator for long enough."""

    type: Literal["absence"]
    of: IndicatorName
    for_: Duration = Field(60.0, alias="for", validate_default=False)
    by: Level = "node"

    def describe(self) -> str:
        return f"absence:{self.of} by {self.by}"

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == (ABSENCE, self.of, self.by)

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        """Look for the indicator at every target of the level."""
        targets = [target for target in look.targets if target.level == self.by]
        there = {target: look.value(self.of, target) is not None for target in targets}
        blind = look.is_blind(self.of, self.by) or not any(there.values())
        for target, present in there.items():
            gone = not present and not blind
            state = SignalState(
                good=None if blind else present,
                value=None if blind else float(present),
                objective=1.0,
                samples=float(present),
                since=look.at,
                until=look.at,
                detail=f"{self.of} is gone here, and {sum(there.values())} others have it" if gone else "",
            )
            tiers = (ABSENCE,) if gone else ()
            yield Verdict(Signal(ABSENCE, self.of, target), state, tiers, blind=blind, hold=self.for_)

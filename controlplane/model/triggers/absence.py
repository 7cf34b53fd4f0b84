"""Triggers on silence: an indicator that one target no longer has while others do, or the observer's own.

The two are kept apart. Of an indicator: when the source is lost, or no target of the level has
it, the observer is suspected; that is unknown, and never fires. Of sources: this is the observer's
silence, and nothing about the fleet follows from it. A run that it calls for passes the guards only
if its actions change nothing of the fleet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Duration, Level
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.base import IndicatorName, Look, Trigger

ABSENCE = "absence"


class AbsenceTrigger(Trigger):
    """Fires when a target has had no value of an indicator, or the loop no sight, for long enough.

    ``of`` names an indicator that a target of the fleet no longer has while others have it. ``sources``
    is about what decisions rest on: that ``any`` of it, or ``all``, is not fresh.
    """

    type: Literal["absence"]
    of: IndicatorName | None = None
    sources: Literal["any", "all"] | None = Field(
        None, description="in place of `of`: the observer itself, at the service"
    )
    for_: Duration = Field(60.0, alias="for", validate_default=False)
    by: Level = "node"

    @model_validator(mode="before")
    @classmethod
    def _sight_is_the_services(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("sources") is not None:
            return {"by": "service", **data}
        return data

    @model_validator(mode="after")
    def _is_of_one_thing(self) -> Self:
        if (self.of is None) == (self.sources is None):
            msg = "write either `of` or `sources`"
            raise ValueError(msg)
        if self.sources is not None and self.by != "service":
            msg = "`sources` are the service's: leave `by` out"
            raise ValueError(msg)
        return self

    @property
    def signal_name(self) -> str:
        """The name of the signal: the indicator, or ``sources-any``."""
        return self.of if self.of is not None else f"sources-{self.sources}"

    def describe(self) -> str:
        return f"absence:{self.signal_name} by {self.by}"

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == (ABSENCE, self.signal_name, self.by)

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        if self.of is None:
            yield from self._sight(look)
        else:
            yield from self._silence(look, self.of)

    def _silence(self, look: Look, indicator: str) -> Iterator[Verdict]:
        """Look for the indicator at every target of the level."""
        targets = [target for target in look.targets if target.level == self.by]
        there = {target: look.value(indicator, target) is not None for target in targets}
        blind = look.is_blind(indicator, self.by) or not any(there.values())
        for target, present in there.items():
            gone = not present and not blind
            state = SignalState(
                good=None if blind else present,
                value=None if blind else float(present),
                objective=1.0,
                samples=float(present),
                since=look.at,
                until=look.at,
                detail=f"{indicator} is gone here, and {sum(there.values())} others have it" if gone else "",
            )
            tiers = (ABSENCE,) if gone else ()
            yield Verdict(Signal(ABSENCE, indicator, target), state, tiers, blind=blind, hold=self.for_)

    def _sight(self, look: Look) -> Iterator[Verdict]:
        """Judge the sources themselves; that they are not fresh is known, so it is never blind."""
        lost = sorted(f"{name} is {state}" for name, state in look.sources.items() if state != "fresh")
        gone = len(lost) == len(look.sources) if self.sources == "all" else bool(lost)
        gone = gone and bool(lost)
        for target in look.targets:
            if target.level == "service":
                state = SignalState(
                    good=not gone,
                    value=float(len(lost)),
                    objective=0.0,
                    samples=float(len(look.sources)),
                    since=look.at,
                    until=look.at,
                    detail="; ".join(lost),
                )
                tiers = (ABSENCE,) if gone else ()
                yield Verdict(Signal(ABSENCE, self.signal_name, target), state, tiers, hold=self.for_)

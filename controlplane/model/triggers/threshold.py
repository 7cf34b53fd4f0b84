"""Triggers on an indicator beyond a bound: measured at each target of a level, as a signal of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Duration, Level
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.base import IndicatorName, Look, Trigger

THRESHOLD = "threshold"


class ThresholdTrigger(Trigger):
    """Fires when an indicator is beyond a bound for long enough."""

    type: Literal["threshold"]
    indicator: IndicatorName
    above: float | None = None
    below: float | None = None
    for_: Duration = Field(0.0, alias="for", validate_default=False)
    by: Level = "replica"
    evacuated: bool = Field(
        default=False,
        description="also where clients are kept away from the target already: for what mends it, not for "
        "what takes it out",
    )

    @model_validator(mode="after")
    def _has_one_bound(self) -> Self:
        if (self.above is None) == (self.below is None):
            msg = "write either `above` or `below`"
            raise ValueError(msg)
        return self

    @property
    def bound(self) -> float:
        return float(self.above if self.above is not None else self.below or 0.0)

    @property
    def signal_name(self) -> str:
        """The name of the signal, which says the bound: ``queue>50``."""
        return f"{self.indicator}{'>' if self.above is not None else '<'}{self.bound:g}"

    def describe(self) -> str:
        return f"threshold:{self.signal_name} by {self.by}"

    @property
    def mends(self) -> bool:
        return self.evacuated

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == (THRESHOLD, self.signal_name, self.by)

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        """Measure the indicator at every target of the level."""
        since, blind = look.since(self.indicator), look.is_blind(self.indicator, self.by)
        for target in look.targets:
            if target.level == self.by:
                value = look.value(self.indicator, target)
                beyond = value is not None and self._is_beyond(value)
                yield Verdict(
                    Signal(THRESHOLD, self.signal_name, target),
                    SignalState.trusted(
                        good=None if value is None else not beyond,
                        value=value,
                        objective=self.bound,
                        samples=float(value is not None),
                        since=since,
                        until=look.at,
                        clients_good=None,
                        clients_value=None,
                        detail="",
                    ),
                    tiers=(THRESHOLD,) if beyond else (),
                    accusers=look.accusers(self.indicator, target) if beyond else frozenset(),
                    blind=blind,
                    hold=self.for_,
                )

    def _is_beyond(self, value: float) -> bool:
        return value > self.bound if self.above is not None else value < self.bound

"""Triggers on an SLO's error budget: that it is spent, or nearly, until enough of it is back.

Two bounds, so that a budget that moves around one of them neither fires nor heals at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Name, Ratio
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Look, Trigger

BUDGET = "budget"


class BudgetTrigger(Trigger):
    """Fires when so little of an SLO's error budget is left, at the service, over the SLO's window."""

    references: ClassVar[Mapping[str, str]] = {"slo": "SLO"}

    type: Literal["budget"]
    slo: Name
    left: Ratio = Field(0.0, description="the share of the budget at which it fires; 0 when it is all spent")
    restored: Ratio = Field(0.1, description="the share at which it is over")

    @model_validator(mode="after")
    def _is_over_above(self) -> Self:
        if self.restored <= self.left:
            msg = "`restored` must be more than `left`, or it would be over as soon as it fires"
            raise ValueError(msg)
        return self

    @property
    def signal_name(self) -> str:
        """The name of the signal, which says the bound: ``chat-success<0.1``."""
        return f"{self.slo}<{self.left:g}"

    def describe(self) -> str:
        return f"budget:{self.signal_name}"

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == (BUDGET, self.signal_name, "service")

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        """Judge what is left; between the bounds nothing changes."""
        for target in look.targets:
            left = look.budget(self.slo, target) if target.level == "service" else None
            if left is None:
                continue
            spent = left <= self.left
            state = SignalState(
                good=False if spent else True if left >= self.restored else None,
                value=left,
                objective=self.restored,
                samples=1.0,
                since=look.at,
                until=look.at,
                detail=f"{max(0.0, left):.0%} of the error budget of {self.slo} is left",
            )
            signal = Signal(BUDGET, self.signal_name, target)
            yield Verdict(signal, state, tiers=(BUDGET,) if spent else (), severity="ticket")

"""How each objective stands: its budget, how fast that burns, and when it would be spent.

The controller leaves it behind now and then; the API and the command line show it as it is. What is
not known is None, and never zero. Seconds, ratios 0..1; a burn rate of 1 spends the budget just in time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model

OBJECTIVES = "objectives"
"""The name of the snapshot that holds an `ObjectivesSnapshot`."""

State = Literal["good", "bad", "unknown"]


class TierStatus(Model):
    """One burn-rate tier now. ``least`` is the least rate that the events make likely: what is judged."""

    name: str
    severity: str
    factor: float
    long: float = Field(description="seconds")
    short: float = Field(description="seconds")
    burn_long: float | None = None
    burn_short: float | None = None
    least_long: float
    least_short: float
    events: float = Field(description="events, or slices of time, in the long window")
    fires: bool
    says: str = Field("", description="that it fires, or why it does not")


class PlaceStatus(Model):
    """The verdict on one target, on the shortest window."""

    target: str
    state: State
    value: float | None = None
    samples: float = 0
    firing: tuple[str, ...] = ()
    detail: str = ""


class ObjectiveStatus(Model):
    """One SLO at its service. ``value`` is the good share over the whole window."""

    name: str
    service: str
    indicator: str
    target: float
    window: str
    window_start: datetime
    counts: Literal["occurrences", "timeslices", "ratioTimeslices"] = "occurrences"
    state: State
    value: float | None = None
    good: float = 0
    total: float = 0
    observed: float = Field(0.0, description="share of the window that was observed")
    min_events: float = 0
    budget_left: float | None = Field(None, description="1 untouched, 0 spent, less overspent")
    burn_rate: float | None = Field(None, description="over the last hour")
    time_to_exhaustion: float | None = Field(
        None, description="seconds until the budget is spent at that rate; None when it would not be"
    )
    tiers: tuple[TierStatus, ...] = ()
    places: tuple[PlaceStatus, ...] = ()


class ObjectivesSnapshot(Model):
    """Every objective of one service."""

    at: datetime
    evaluated_at: datetime
    objectives: tuple[ObjectiveStatus, ...] = ()

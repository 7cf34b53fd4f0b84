"""What a backtest found, as values: incidents with what would have answered them, near misses, what was seen.

Times are UTC, spans in seconds, values in the units of their indicators. It is the JSON that
`fleetward backtest -o json` prints.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.preview import PlannedStep
from controlplane.model.records import GuardVerdict
from controlplane.model.states import IncidentState


class Answer(Model):
    """What was decided about one playbook: whether its run would have been started, and why or why not."""

    at: datetime
    last_at: datetime = Field(description="when the same was last decided again")
    times: int = Field(description="how often the same was decided, tick after tick")
    playbook: str
    trigger: str
    target: str
    outcome: Literal["run", "queued", "refused", "observed", "notMatched"] = Field(
        description="`run`: it would have been started; `observed`: but for its mode"
    )
    why: str
    against: tuple[GuardVerdict, ...] = Field((), description="the guards that stood against it")
    values: dict[str, Any] = Field(default_factory=dict, description="what it was decided on")
    plan: tuple[PlannedStep, ...] = Field(
        (), description="what its steps would have done, as far as is known"
    )
    plan_missing: str = Field("", description="why there is no plan")


class Moved(Model):
    """One move of an incident, and why."""

    at: datetime
    state: IncidentState
    message: str


class Fired(Model):
    """An incident that fired. ``worst`` is the measured value that was furthest on the bad side."""

    id: str
    service: str
    signal: str
    target: str
    title: str
    severity: Literal["page", "ticket"]
    tier: str
    opened_at: datetime
    fired_at: datetime
    resolved_at: datetime | None = Field(description="null: it was open at the end of the span")
    part_of: str | None = Field(None, description="the wider incident that it was folded into")
    objective: float | None = None
    worst: float | None = None
    moves: tuple[Moved, ...] = ()
    answers: tuple[Answer, ...] = ()


class Missed(Model):
    """What nearly fired: ``reached`` is the share of what it takes, 1 where only time was missing."""

    service: str
    signal: str
    target: str
    way: str = Field(description="the tier, or the kind of trigger, that was near")
    since: datetime
    until: datetime
    at: datetime = Field(description="when it was nearest")
    reached: float
    value: float | None
    needed: float
    why: str


class Dark(Model):
    """A time in which a source was not to be relied on: nothing fires and nothing heals then."""

    source: str
    since: datetime
    until: datetime = Field(description="when it was fresh again, or the last look")
    detail: str


class Seen(Model):
    """What there was to see of one service."""

    service: str
    interval: float = Field(description="seconds between two scrapes, as found")
    tick: float = Field(description="seconds between two looks")
    ticks: int
    observed: float = Field(description="share of the looks at which every source was fresh")
    replicas: int = Field(description="replicas at the end of the span")
    weights: Literal["recorded", "assumed"]
    dark: tuple[Dark, ...] = ()


class Report(Model):
    """A whole backtest."""

    prometheus: str
    since: datetime
    until: datetime
    services: tuple[Seen, ...]
    incidents: tuple[Fired, ...]
    scheduled: tuple[Answer, ...] = Field((), description="what the clock would have called for")
    nearly: tuple[Missed, ...]
    notes: tuple[str, ...] = Field((), description="where the past cannot say what would have been")

    @property
    def observed(self) -> float:
        """The share of all looks at which every source was fresh."""
        looks = sum(each.ticks for each in self.services)
        return sum(each.ticks * each.observed for each in self.services) / looks if looks else 0.0

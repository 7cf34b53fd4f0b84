"""The kind SLO: an indicator, what share of it must be good, and how fast a breach is noticed.

Burn-rate tiers follow the SRE workbook; the fast tier sees what they see too late. A burn
factor that the target makes unreachable is refused at load.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from controlplane.model.base import Duration, Level, Model, Name, PositiveDuration, Ratio
from controlplane.model.burn_tiers import FastTier, Tier, usual_tiers
from controlplane.model.kind import Kind
from controlplane.model.query import Query
from controlplane.model.slo_window import Window


class NoData(Model):
    """What silence means. It never means healthy."""

    alert_after: PositiveDuration | None = Field(
        None, description="an absence longer than this is an incident of its own"
    )


class Budgeting(Model):
    """What the budget counts: events, bad slices of time, or the mean of the slices' bad shares."""

    method: Literal["occurrences", "timeslices", "ratioTimeslices"] = "occurrences"
    slice: Duration = Field(300.0, description="length of a slice", validate_default=False)
    slice_target: Ratio | None = Field(
        None, description="for `timeslices`: a slice is bad when its good share is under this"
    )

    @model_validator(mode="after")
    def _slices_have_a_target(self) -> Self:
        if (self.method == "timeslices") != (self.slice_target is not None):
            msg = "`sliceTarget` goes with `method: timeslices`, and with no other"
            raise ValueError(msg)
        if self.slice < 1:
            msg = "a slice is at least a second long"
            raise ValueError(msg)
        return self


LabelName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]


class AlertText(Model):
    labels: dict[LabelName, str] = Field(default_factory=dict)
    annotations: dict[LabelName, str] = Field(default_factory=dict)


class Alerts(Model):
    """What alerting rules say that are exported to Prometheus; Fleetward itself has playbooks for that."""

    name: str = Field("ErrorBudgetBurn", pattern=r"^\S(.*\S)?$", description="the alerts' name")
    labels: dict[LabelName, str] = Field(default_factory=dict)
    annotations: dict[LabelName, str] = Field(default_factory=dict)
    page: AlertText = AlertText(labels={"severity": "page"})
    ticket: AlertText = AlertText(labels={"severity": "ticket"})


def _how(value: Any) -> str:
    return "query" if isinstance(value, dict | Query) else "name"


Indicator = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Query, Tag("query")],
    Discriminator(_how),
]


class SloSpec(Model):
    service: Name
    indicator: Indicator = Field(
        description="a name from the library, for example ttft, tpot, success; or a query of your own"
    )
    threshold: PositiveDuration | None = Field(None, description="for latencies: what still counts as good")
    target: Ratio = Field(description='the good share that is promised, "99.9%" or 0.999')
    window: Window = Window()
    by: tuple[Level, ...] = Field(("service", "zone"), description="levels at which it is judged")
    tiers: tuple[Tier, ...] | None = Field(
        None, description="burn-rate tiers; the SRE workbook's when left out"
    )
    fast: FastTier | None = None
    no_data: NoData = NoData()
    min_events: float = Field(10, ge=0, description="fewer events in a window than this are no verdict")
    budgeting: Budgeting = Budgeting()
    alerts: Alerts = Alerts()

    @property
    def measure(self) -> str:
        """The name of what is measured: the library's indicator, or the query's own key."""
        return self.indicator.key if isinstance(self.indicator, Query) else self.indicator

    @functools.cached_property
    def slices(self) -> str | None:
        """The name of what its slices of time are counted as; None when it counts events alone."""
        how = self.budgeting
        if how.method == "occurrences":
            return None
        bound = "" if self.threshold is None else f"<={self.threshold:g}"
        least = "" if how.slice_target is None else f">={how.slice_target:g}"
        return f"slices:{self.measure}{bound}:{how.slice:g}{least}"

    @property
    def budget_measure(self) -> str:
        """The name of what its error budget counts."""
        return self.slices or self.measure

    @property
    def tier_measure(self) -> str:
        """The name of what its burn rates count: bad slices, or events; also a mean of shares has events."""
        return self.slices if self.slices and self.budgeting.method == "timeslices" else self.measure

    @functools.cached_property
    def burn_tiers(self) -> tuple[Tier, ...]:
        """The tiers that are judged: as written, or the usual ones as far as the target lets them fire."""
        if self.tiers is not None:
            return self.tiers
        return tuple(
            tier for tier in usual_tiers(self.window.length) if tier.factor * (1 - self.target) <= 1 + 1e-9
        )

    @model_validator(mode="after")
    def _is_reachable(self) -> Self:
        if self.target >= 1:
            msg = "a target of 100 % leaves no error budget to burn; write for example 99.9%"
            raise ValueError(msg)
        ceiling = 1 / (1 - self.target)
        for tier in self.tiers or ():
            if tier.factor > ceiling * (1 + 1e-9):
                msg = (
                    f"tier `{tier.name}` can never fire: with a target of {self.target:.6g} the budget burns "
                    f"at most {ceiling:.4g} times too fast, and the tier asks for {tier.factor:.4g}"
                )
                raise ValueError(msg)
            if tier.short >= tier.long:
                msg = f"tier `{tier.name}`: the short window must be shorter than the long one"
                raise ValueError(msg)
        resolution = self.indicator.resolution if isinstance(self.indicator, Query) else 0.0
        if self.fast is not None and self.fast.window < resolution:
            msg = "the fast tier's window must not be shorter than the query's `resolution`"
            raise ValueError(msg)
        return self


class Slo(Kind):
    KIND: ClassVar[str] = "SLO"

    kind: Literal["SLO"] = "SLO"
    spec: SloSpec

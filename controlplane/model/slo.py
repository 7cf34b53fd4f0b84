"""The kind SLO: an indicator, what share of it must be good, and how fast a breach is noticed.

Burn-rate tiers follow the SRE workbook; the fast tier sees what they see too late. A burn
factor that the target makes unreachable is refused at load.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Duration, Level, Model, Name, Ratio
from controlplane.model.kind import Kind


class Window(Model):
    rolling: Duration = Field(30 * 86400.0, description="length of the SLO's window", validate_default=False)


class Tier(Model):
    """Fires when both windows burn the budget at least ``factor`` times too fast."""

    name: Name
    severity: Literal["page", "ticket"] = "page"
    factor: float = Field(gt=0)
    long: Duration
    short: Duration


class FastTier(Model):
    """Fires when the good share over a short window falls under ``below``, on enough samples."""

    window: Duration = Field(6.0, validate_default=False)
    below: Ratio = Field(description="good share under which the target is bad")
    min_samples: float = Field(20, ge=1)


class NoData(Model):
    """What silence means. It never means healthy."""

    alert_after: Duration | None = Field(
        None, description="an absence longer than this is an incident of its own"
    )


WORKBOOK_PAIRS = (
    ("page", "page", 14.4, "1h", "5m"),
    ("page-slow", "page", 6.0, "6h", "30m"),
    ("ticket", "ticket", 3.0, "1d", "2h"),
    ("ticket-slow", "ticket", 1.0, "3d", "6h"),
)
"""Name, severity, factor, long and short window: 2 % and 5 % of a 30-day budget page, 10 % in 1 d or 3 d is a
ticket. Source: Site Reliability Workbook, chapter 5, table 5-8."""


def workbook_tiers(window: float) -> tuple[Tier, ...]:
    """Return the SRE workbook's four pairs, scaled from 30 days to ``window`` seconds.

    The time windows stay and the factors scale, so that a tier means the same share of
    the budget whatever the window.
    """
    share = window / (30 * 86400.0)
    return tuple(
        Tier.model_validate(
            {
                "name": name,
                "severity": severity,
                "factor": round(factor * share, 6),
                "long": long,
                "short": short,
            }
        )
        for name, severity, factor, long, short in WORKBOOK_PAIRS
    )


class SloSpec(Model):
    service: Name
    indicator: Name = Field(description="a name from the indicator library, for example ttft, tpot, success")
    threshold: Duration | None = Field(None, description="for latencies: what still counts as good")
    target: Ratio = Field(description='the good share that is promised, "99.9%" or 0.999')
    window: Window = Window()
    by: tuple[Level, ...] = Field(("service", "zone"), description="levels at which it is judged")
    tiers: tuple[Tier, ...] | None = Field(
        None, description="burn-rate tiers; the SRE workbook's when left out"
    )
    fast: FastTier | None = None
    no_data: NoData = NoData()
    min_events: float = Field(10, ge=0, description="fewer events in a window than this are no verdict")

    @property
    def burn_tiers(self) -> tuple[Tier, ...]:
        """The tiers that are judged: as written, or the workbook's as far as the target lets them fire."""
        if self.tiers is not None:
            return self.tiers
        return tuple(
            tier
            for tier in workbook_tiers(self.window.rolling)
            if tier.factor * (1 - self.target) <= 1 + 1e-9
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
        return self


class Slo(Kind):
    KIND: ClassVar[str] = "SLO"

    kind: Literal["SLO"] = "SLO"
    spec: SloSpec

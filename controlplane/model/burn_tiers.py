"""Burn-rate tiers: how fast an error budget may burn, over which two windows, until somebody is told.

A tier stands for a share of the budget that is gone when it fires; its factor follows from the
SLO's window. What the field has settled on is here as data; who writes tiers wins over it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from controlplane.kernel.durations import parse_duration
from controlplane.model.base import Model, Name, PositiveDuration, Ratio


class Tier(Model):
    """Fires when both windows burn the budget at least ``factor`` times too fast."""

    name: Name
    severity: Literal["page", "ticket"] = "page"
    factor: float = Field(gt=0)
    long: PositiveDuration
    short: PositiveDuration


class FastTier(Model):
    """Fires when the good share over a short window falls under ``below``, on enough samples."""

    window: PositiveDuration = Field(6.0, validate_default=False)
    below: Ratio = Field(description="good share under which the target is bad")
    min_samples: float = Field(20, ge=1)


PAIRS = (
    ("page", "page", "1h", "5m", 2.0, 8.0),
    ("page-slow", "page", "6h", "30m", 5.0, 12.5),
    ("ticket", "ticket", "1d", "2h", 10.0, 20.0),
    ("ticket-slow", "ticket", "3d", "6h", 10.0, 42.0),
)
"""Name, severity, long and short window, per cent of the budget of a month and of a week that are gone.

Of a month: Site Reliability Workbook, chapter 5, table 5-8. A week's budget is a quarter of it, and the same
per cents would be a ticket at a burn that spends a quarter of what is allowed; so they are those that Sloth's
users take for a week: much the same factors as for a month, the last just under 1.
"""
_WEEKLY_UNDER = 14 * 86400.0


def usual_tiers(window: float) -> tuple[Tier, ...]:
    """Return the four pairs for an SLO's window of so many seconds, without those that are longer than it.

    Shares of the budget stay and factors scale: factor = share x window / long window.
    """
    found = []
    for name, severity, long, short, of_month, of_week in PAIRS:
        share = (of_week if window < _WEEKLY_UNDER else of_month) / 100
        seconds = parse_duration(long)
        if seconds <= window:
            factor = round(share * window / seconds, 6)
            found.append(
                Tier.model_validate(
                    {"name": name, "severity": severity, "factor": factor, "long": long, "short": short}
                )
            )
    return tuple(found)

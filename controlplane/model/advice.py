"""What could be done about the indicators of a service that are off their targets, and what was measured.

Values only: the rules are data (`controlplane.decide.levers`), and are held against the service by
`controlplane.decide.advice`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model

INDICATORS = "indicators"
"""The name of the snapshot that holds an `IndicatorsSnapshot`."""

Holds = Literal["yes", "no", "unknown"]


class IndicatorsSnapshot(Model):
    """Every indicator of the library at the service, as the loop last measured it; null: not known."""

    at: datetime
    evaluated_at: datetime
    values: dict[str, float | None] = Field(default_factory=dict)


class Said(Model):
    """One rule about a lever, and whether it holds now."""

    says: Literal["for", "against"]
    holds: Holds
    why: str
    measured: dict[str, float | None] = Field(description="the values that it compares")
    rule: str = Field(description="the comparison, in words")


class LeverAdvice(Model):
    """One thing that could be done about an indicator."""

    name: str
    title: str
    does: str
    verdict: Literal["for", "against", "mixed", "open", "unknown"] = Field(
        description="`open`: nothing that is measured speaks for or against it; `unknown`: it is not measured"
    )
    said: tuple[Said, ...]
    playbook: str | None = Field(description="the shipped playbook that pulls it")
    loaded: bool = Field(description="whether that playbook is in force here")
    by_hand: str
    sources: tuple[str, ...] = Field(description="where it was shown")


class IndicatorAdvice(Model):
    """One indicator: how it stands, against what, and its levers, the most promising first."""

    name: str
    unit: str
    status: Literal["off", "on", "unknown", "unbound"] = Field(
        description="`unbound`: neither an SLO nor the field says what would be off"
    )
    value: float | None
    target: str = Field(description="what it is held against, in words; or why it has no bound")
    levers: tuple[LeverAdvice, ...] = ()


class Advice(Model):
    """What the field knows to do for one service now."""

    service: str
    evaluated_at: datetime | None = Field(description="null: no controller has looked yet")
    indicators: tuple[IndicatorAdvice, ...]

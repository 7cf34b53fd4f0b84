"""What a playbook would do now: what a dry run shows, an approver sees and a decision keeps.

Values only. Whoever draws it (`controlplane.act.preview`) reads and changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from controlplane.model.action import Dimension
from controlplane.model.base import Model
from controlplane.model.records import GuardVerdict

StepOutlook = Literal["runs", "skipped", "depends", "broken"]
"""What is known beforehand: it runs, it is skipped, it depends on an earlier step, or it cannot run."""


class PlannedChange(Model):
    """One field of one target, as it is and as it would be."""

    target: str
    field: str
    before: Any = None
    after: Any = None


class PlannedTouch(Model):
    """One target that the step takes out of service, gives back, or only changes."""

    target: str
    dimension: Dimension
    returns: bool = False


class PlannedStep(Model):
    id: str
    uses: str
    outlook: StepOutlook
    why: str = Field("", description="why it is skipped, broken, or on what it depends")
    depends_on: tuple[str, ...] = Field((), description="steps whose results decide it")
    parameters: dict[str, Any] = Field(default_factory=dict, description="as far as they are known")
    changes: tuple[PlannedChange, ...] = ()
    touches: tuple[PlannedTouch, ...] = ()
    undo: bool = Field(description="whether a failed run takes it back")


class Capacity(Model):
    """What would serve afterwards, by the one blast-radius budget's count."""

    replicas: int
    healthy_before: int
    healthy_after: int
    share_after: float = Field(description="of all replicas, 0..1")
    zones: int
    zones_out_after: int


class PlaybookPlan(Model):
    """A whole dry run. ``verdict``: what would come of a start now."""

    playbook: str
    service: str
    target: str
    at: datetime
    inputs: dict[str, Any] = Field(default_factory=dict)
    matches: bool | None = Field(None, description="the playbook's `when`; null without one")
    verdict: Literal["run", "wait", "refuse", "notMatched"]
    why: str
    guards: tuple[GuardVerdict, ...] = ()
    capacity: Capacity
    steps: tuple[PlannedStep, ...]

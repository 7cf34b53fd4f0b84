"""What a drill found out: the contract between who judges a drill, who stores it, and who shows it.

It is written once, when the drill has ended and everything was taken back. The judge fills
the verdict and the times it measured itself; ``detected_at`` and ``playbook`` are read from
the control plane's rows and reported, never enough. Units: seconds, ratios 0..1, tokens.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.states import RunState


class DrillVerdict(StrEnum):
    """Passed means: steady before, mitigated in time, recovered, nothing left standing."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    """No steady state before, a gap in the truth, or arrivals that were late: nobody can tell."""
    ABORTED = "aborted"
    """Ended early by a stop condition, a halt or a person; everything was taken back."""


Phase = Literal["before", "during", "after"]


class ProbeReport(Model):
    """One probe of the hypothesis in one phase; ``good`` None means that it could not be told."""

    name: str
    phase: Phase
    good: bool | None
    value: float | None = None
    tolerance: str = Field(description="what was demanded, in words")
    samples: int = 0
    worst: float | None = Field(default=None, description="the value furthest from the tolerance")
    detail: str = ""


class FaultReport(Model):
    """One fault as it went, and how long it stood."""

    id: str
    name: str
    kind: str
    targets: tuple[str, ...]
    parameters: dict[str, Any] = Field(default_factory=dict)
    injected_at: datetime | None = None
    cleared_at: datetime | None = None
    detail: str = ""


class ExerciseReport(Model):
    """The playbook that was run instead of a fault, and how its run ended."""

    run: str
    playbook: str
    target: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None = None
    detail: str = ""


class TokensKept(Model):
    """Effective tokens in the seconds after the injection, over what would have been without the fault."""

    kept: float | None = Field(description="effective over baseline, 0..1")
    effective: float | None = None
    expected: float | None = None
    within: float = Field(default=120.0, description="seconds from the injection")
    baseline: Literal["sameSeedRun", "plannedArrivals"] = "plannedArrivals"


class YieldPoint(Model):
    """The clients' own record, second by second, for the report's picture."""

    at: datetime
    effective_share: float | None = None
    effective_tokens: float | None = None
    planned_tokens: float | None = None


class DrillReport(Model):
    """The report of one drill run. ``leftovers`` must be empty: whatever is listed still stands."""

    run: str
    drill: str
    purpose: str = ""
    service: str
    environment: str
    verdict: DrillVerdict
    reasons: tuple[str, ...] = Field(default=(), description="why this verdict, one sentence each")
    hypothesis: str
    started_at: datetime
    ended_at: datetime
    injected_at: datetime | None = None
    detected_at: datetime | None = None
    mitigated_at: datetime | None = None
    recovered_at: datetime | None = None
    recovery_within: float | None = Field(
        default=None, description="seconds allowed from injection to mitigation"
    )
    recovery_tiers: tuple[str, ...] = Field(
        default=(), description="tiers of clients whose service counts as mitigation; empty for all"
    )
    refused: dict[str, int] = Field(
        default_factory=dict,
        description="requests answered 429 from the injection to the end, by tier: none of them is effective",
    )
    playbook_expected: str | None = None
    playbook: str | None = Field(default=None, description="the playbook that fired, None if none did")
    playbook_run: str | None = None
    tokens: TokensKept
    probes: tuple[ProbeReport, ...] = ()
    faults: tuple[FaultReport, ...] = ()
    exercise: ExerciseReport | None = None
    deviations: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    yield_: tuple[YieldPoint, ...] = Field(default=(), alias="yield")


def report_name(run: str) -> str:
    """Return the name of the snapshot that holds a drill run's `StoredReport`."""
    return f"drill-report/{run}"


class StoredReport(Model):
    """A report with its renderings, made by who judged, so that no reader renders it differently."""

    report: DrillReport
    html: str
    junit: str

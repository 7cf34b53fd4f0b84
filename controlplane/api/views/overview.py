"""The overview: the controller's last picture of the fleet, and what needs attention now."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from controlplane.api.views.playbooks import Diagnostic
from controlplane.api.views.runs import RunSummary
from controlplane.model.approval import ApprovalRecord
from controlplane.model.base import Mode, Model
from controlplane.model.overview import Headline, HistoryPoint, SourceState, ZoneCell
from controlplane.model.records import FaultRecord, Halt, Incident, OutOfService


class DrillSpan(Model):
    """When a drill stood: the shaded band on charts. ``ended_at`` None while it runs."""

    run: str
    name: str
    started_at: datetime
    ended_at: datetime | None


class ActiveDrill(Model):
    """The drill that runs now, with its faults."""

    run: RunSummary
    faults: tuple[FaultRecord, ...]


class OverviewView(Model):
    """``tick_at`` None means that the controller has not looked yet: everything measured is empty."""

    environment: str
    version: str
    mode: Mode
    service: str | None
    cluster: str | None
    tick_at: datetime | None
    evaluated_at: datetime | None
    headline: Headline
    zones: tuple[ZoneCell, ...]
    history: tuple[HistoryPoint, ...]
    sources: tuple[SourceState, ...]
    open_incidents: tuple[Incident, ...] = Field(description="those that are not resolved, newest first")
    active_runs: tuple[RunSummary, ...]
    approvals: tuple[ApprovalRecord, ...] = Field(default=(), description="what waits for a decision")
    active_drill: ActiveDrill | None
    drills: tuple[DrillSpan, ...] = Field(description="drills within the history's time")
    halts: tuple[Halt, ...] = Field(description="halts in force")
    out_of_service: tuple[OutOfService, ...]
    problems: tuple[Diagnostic, ...] = Field(description="what the last load of documents could not read")

"""Runs as they are listed and as they are read in full."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from controlplane.model.approval import ApprovalRecord
from controlplane.model.base import Model
from controlplane.model.records import (
    AttemptRecord,
    Decision,
    FaultRecord,
    Incident,
    JournalLine,
    OutOfService,
    Record,
    Run,
    RunKind,
    StepRecord,
    UndoView,
)
from controlplane.model.report import DrillVerdict
from controlplane.model.states import RunState


class RunSummary(Record):
    """A run without what it was given and what it remembers: for lists."""

    id: str
    kind: RunKind
    name: str
    service: str
    target: str | None
    signal: str | None
    incident: str | None
    trigger: str
    started_by: str
    state: RunState
    reason: str
    waiting: str
    paused: str | None
    retry_of: str | None
    undo_of: str | None
    cause: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class RunList(Model):
    """Newest first. ``total`` counts what matches, also beyond ``items``."""

    items: tuple[RunSummary, ...]
    total: int


class OperationRequest(Model):
    """Why somebody does this to a run; who it is, is known."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)] = ""


class CancelRequest(OperationRequest):
    """How a run is to end before its time."""

    undo: bool = Field(default=True, description="take back what it did; a drill always does")


class DecisionRequest(Model):
    """What somebody says to a decision; which one, when a run waits for more than one."""

    comment: Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)] = ""
    approval: str | None = None


class RunDetail(Model):
    """One run with everything that explains it."""

    run: Run
    steps: tuple[StepRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    journal: tuple[JournalLine, ...]
    undo: tuple[UndoView, ...]
    approvals: tuple[ApprovalRecord, ...] = Field(default=(), description="what it asked of people")
    decision: Decision | None = Field(default=None, description="the decision that started it")
    incident: Incident | None = None
    faults: tuple[FaultRecord, ...] = Field(default=(), description="of a drill: its ledger")
    out_of_service: tuple[OutOfService, ...] = Field(
        default=(), description="what it holds out of service now"
    )


class DrillSummary(RunSummary):
    """A drill's run, and what it found."""

    verdict: DrillVerdict | None = Field(default=None, description="None until it is judged")
    targets: tuple[str, ...] = ()


class DrillList(Model):
    """Newest first."""

    items: tuple[DrillSummary, ...]
    total: int

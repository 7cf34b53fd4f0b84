"""Runs of playbooks and drills."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.services import DecisionFilter, Reads, RunFilter
from controlplane.api.views.runs import AttemptView, RunDetail, RunList, RunSummary
from controlplane.kernel.errors import NotFound
from controlplane.model.records import Incident, Run, RunKind
from controlplane.model.states import RunState

router = APIRouter(prefix="/runs", tags=["runs"])

Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("")
def list_runs(
    services: Given,
    state: Literal["active", "ended"] | RunState | None = None,
    kind: RunKind | None = None,
    name: str | None = None,
    incident: str | None = None,
    limit: Limit = 100,
) -> RunList:
    """List runs, newest first."""
    which = RunFilter(
        kind=kind,
        active={"active": True, "ended": False}.get(state or ""),
        state=state if isinstance(state, RunState) else None,
        name=name,
        incident=incident,
    )
    items, total = services.reads.runs(which, limit)
    return RunList(items=tuple(RunSummary.model_validate(run) for run in items), total=total)


@router.get("/{run_id}", responses=responses(NotFound))
def get_run(run_id: str, services: Given) -> RunDetail:
    """Return one run with its steps, attempts, journal, undo records and the decision that started it."""
    reads = services.reads
    run = reads.run(run_id)
    decisions, _ = reads.decisions(DecisionFilter(run=run_id), 1)
    return RunDetail(
        run=run,
        steps=tuple(reads.steps(run_id)),
        attempts=tuple(AttemptView.model_validate(each) for each in reads.attempts(run_id)),
        journal=tuple(reads.journal(run_id)),
        undo=tuple(reads.undo_records(run_id)),
        decision=decisions[0] if decisions else None,
        incident=_incident(reads, run),
        faults=tuple(reads.faults(run_id)) if run.kind == "drill" else (),
        out_of_service=tuple(each for each in reads.out_of_service() if each.holder == run_id),
    )


def _incident(reads: Reads, run: Run) -> Incident | None:
    if run.incident is None:
        return None
    try:
        return reads.incident(run.incident)
    except NotFound:  # kept shorter than runs
        return None

"""Runs of playbooks and drills."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.views.runs import RunDetail, RunList, RunSummary
from controlplane.kernel.errors import NotFound
from controlplane.model.records import RunKind
from controlplane.model.states import RunState
from controlplane.store.runs import RunQuery

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
    which = RunQuery(
        kind=kind,
        active={"active": True, "ended": False}.get(state or ""),
        state=state if isinstance(state, RunState) else None,
        name=name,
        incident=incident,
    )
    with services.database.reading() as tx:
        items, total = tx.runs.list(which, limit=limit), tx.runs.count(which)
    return RunList(items=tuple(RunSummary.model_validate(run) for run in items), total=total)


@router.get("/{run_id}", responses=responses(NotFound))
def get_run(run_id: str, services: Given) -> RunDetail:
    """Return one run with its steps, attempts, journal, undo records and the decision that started it."""
    with services.database.reading() as tx:
        run = tx.runs.get(run_id)
        decisions = tx.decisions.list(run=run_id, limit=1)
        return RunDetail(
            run=run,
            steps=tuple(tx.steps.list(run_id)),
            attempts=tuple(tx.steps.attempts(run_id)),
            journal=tuple(tx.journal.list(run_id)),
            undo=tuple(tx.undo.list(run_id)),
            approvals=tuple(tx.approvals.list(run=run_id)),
            decision=decisions[0] if decisions else None,
            incident=tx.incidents.find(run.incident) if run.incident is not None else None,
            faults=tuple(tx.faults.list(run=run_id)) if run.kind == "drill" else (),
            out_of_service=tuple(tx.ledger.list(holder=run_id)),
        )

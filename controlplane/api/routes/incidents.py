"""Incidents, and the story of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.services import DecisionFilter, IncidentFilter, RunFilter
from controlplane.api.views.incidents import IncidentDetail, IncidentList, TimelineEntry
from controlplane.api.views.runs import RunSummary
from controlplane.kernel.errors import NotFound
from controlplane.model.records import Decision, Incident, Run
from controlplane.model.states import IncidentState

router = APIRouter(prefix="/incidents", tags=["incidents"])

RELATED = 200
"""How many decisions, runs and children one incident shows."""


@router.get("")
def list_incidents(
    services: Given,
    state: Literal["open"] | IncidentState | None = None,
    target: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> IncidentList:
    """List incidents, newest first; ``open`` are all that are not resolved."""
    which = IncidentFilter(
        open=True if state == "open" else None,
        state=state if isinstance(state, IncidentState) else None,
        target=target,
    )
    items, total = services.reads.incidents(which, limit)
    return IncidentList(items=tuple(items), total=total)


@router.get("/{incident_id}", responses=responses(NotFound))
def get_incident(incident_id: str, services: Given) -> IncidentDetail:
    """Return one incident: what was seen, decided and done, in order."""
    reads = services.reads
    incident = reads.incident(incident_id)
    decisions, _ = reads.decisions(DecisionFilter(incident=incident_id), RELATED)
    runs, _ = reads.runs(RunFilter(incident=incident_id), RELATED)
    children, _ = reads.incidents(IncidentFilter(parent=incident_id), RELATED)
    entries = [*_states(incident), *_decided(decisions), *_done(runs), *_folded(children)]
    return IncidentDetail(
        incident=incident,
        timeline=tuple(sorted(entries, key=lambda entry: entry.at)),
        decisions=tuple(decisions),
        runs=tuple(RunSummary.model_validate(run) for run in runs),
        children=tuple(children),
    )


def _states(incident: Incident) -> Iterator[TimelineEntry]:
    moments = (
        (incident.opened_at, IncidentState.PENDING, "Seen"),
        (incident.fired_at, IncidentState.FIRING, "Firing"),
        (incident.mitigated_at, IncidentState.MITIGATED, "Mitigated: clients are well"),
        (incident.resolved_at, IncidentState.RESOLVED, "Resolved"),
    )
    for at, state, title in moments:
        if at is not None:
            detail = incident.detail if state == incident.state else ""
            yield TimelineEntry(at=at, kind="state", state=state, title=title, detail=detail)


def _decided(decisions: Iterable[Decision]) -> Iterator[TimelineEntry]:
    for each in decisions:
        against = [guard for guard in each.guards if guard.verdict != "allow"]
        detail = "; ".join(f"{guard.guard}: {guard.message}" for guard in against)
        title = f"{each.playbook}: {each.outcome}" + (f" ({each.count} times)" if each.count > 1 else "")
        yield TimelineEntry(
            at=each.at, kind="decision", state=each.outcome, title=title, detail=detail, ref=each.id
        )


def _done(runs: Iterable[Run]) -> Iterator[TimelineEntry]:
    for run in runs:
        started = run.started_at or run.created_at
        title = f"{run.name} started"
        yield TimelineEntry(at=started, kind="run", state="running", title=title, ref=run.id)
        if run.ended_at is not None:
            title = f"{run.name} {run.state}"
            yield TimelineEntry(
                at=run.ended_at, kind="run", state=run.state, title=title, detail=run.reason, ref=run.id
            )


def _folded(children: Iterable[Incident]) -> Iterator[TimelineEntry]:
    for child in children:
        yield TimelineEntry(
            at=child.opened_at,
            kind="fold",
            state=child.state,
            title=f"{child.target} folded in",
            ref=child.id,
        )

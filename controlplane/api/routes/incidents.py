"""Incidents, and the story of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.views.incidents import IncidentDetail, IncidentList, TimelineEntry
from controlplane.api.views.runs import RunSummary
from controlplane.kernel.errors import NotFound
from controlplane.model.records import Decision, Incident, IncidentLine, Run
from controlplane.model.states import IncidentState
from controlplane.store.runs import RunQuery

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
    unresolved = True if state == "open" else None
    exact = state.value if isinstance(state, IncidentState) else None
    with services.database.reading() as tx:
        items = tx.incidents.list(open=unresolved, limit=limit, state=exact, target=target)
        total = tx.incidents.count(open=unresolved, state=exact, target=target)
    return IncidentList(items=tuple(items), total=total)


@router.get("/{incident_id}", responses=responses(NotFound))
def get_incident(incident_id: str, services: Given) -> IncidentDetail:
    """Return one incident: what was seen, decided and done, in order."""
    with services.database.reading() as tx:
        incident = tx.incidents.get(incident_id)
        lines = tx.incidents.timeline(incident_id)
        decisions = tx.decisions.list(incident=incident_id, limit=RELATED)
        runs = tx.runs.list(RunQuery(incident=incident_id), limit=RELATED)
        children = tx.incidents.list(parent=incident_id, limit=RELATED)
    entries = [*_states(lines), *_decided(decisions), *_done(runs), *_folded(children)]
    return IncidentDetail(
        incident=incident,
        timeline=tuple(sorted(entries, key=lambda entry: entry.at)),
        decisions=tuple(decisions),
        runs=tuple(RunSummary.model_validate(run) for run in runs),
        children=tuple(children),
    )


_MOVED = {
    IncidentState.PENDING: "Out of its objective",
    IncidentState.FIRING: "Out of its objective for long enough",
    IncidentState.MITIGATED: "Clients are well",
    IncidentState.RESOLVED: "Resolved",
    IncidentState.UNKNOWN: "Lost sight of it",
}


def _states(lines: Iterable[IncidentLine]) -> Iterator[TimelineEntry]:
    for line in lines:
        title = _MOVED[line.state]
        yield TimelineEntry(at=line.at, kind="state", state=line.state, title=title, detail=line.message)


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

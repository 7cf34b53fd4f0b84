"""The overview: one answer that a console asks for each tick."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import ValidationError

from controlplane.api.auth import Given
from controlplane.api.services import IncidentFilter, Reads, RunFilter
from controlplane.api.views.overview import ActiveDrill, DrillSpan, OverviewView
from controlplane.api.views.runs import RunSummary
from controlplane.model.overview import OVERVIEW, Headline, Overview
from controlplane.model.records import Run

router = APIRouter(prefix="/overview", tags=["overview"])

SHOWN = 50
"""Incidents and runs shown at most; the lists have all."""

HISTORY = timedelta(minutes=15)


@router.get("")
def get_overview(services: Given) -> OverviewView:
    """Return the controller's last picture of the fleet, and what needs attention now."""
    reads, at = services.reads, services.clock.now()
    fleet = _fleet(reads)
    incidents, _ = reads.incidents(IncidentFilter(open=True), SHOWN)
    runs, _ = reads.runs(RunFilter(active=True), SHOWN)
    return OverviewView(
        environment=services.settings.environment,
        version=services.settings.version,
        mode=reads.mode(),
        service=fleet.service if fleet else None,
        cluster=fleet.cluster if fleet else None,
        tick_at=fleet.tick_at if fleet else None,
        evaluated_at=fleet.evaluated_at if fleet else None,
        headline=fleet.headline if fleet else Headline(),
        zones=fleet.zones if fleet else (),
        history=fleet.history if fleet else (),
        sources=fleet.sources if fleet else (),
        open_incidents=tuple(incidents),
        active_runs=tuple(RunSummary.model_validate(run) for run in runs),
        active_drill=_active_drill(reads, runs),
        drills=_spans(reads, fleet.history[0].at if fleet and fleet.history else at - HISTORY),
        halts=tuple(reads.halts(at)),
        out_of_service=tuple(reads.out_of_service()),
    )


def _fleet(reads: Reads) -> Overview | None:
    """Return the snapshot; None before the first tick, or when another version wrote it."""
    body = reads.snapshot(OVERVIEW)
    try:
        return Overview.model_validate(body) if body is not None else None
    except ValidationError:
        return None


def _active_drill(reads: Reads, active: Sequence[Run]) -> ActiveDrill | None:
    drill = next((run for run in active if run.kind == "drill"), None)
    if drill is None:
        return None
    return ActiveDrill(run=RunSummary.model_validate(drill), faults=tuple(reads.faults(drill.id)))


def _spans(reads: Reads, since: datetime) -> tuple[DrillSpan, ...]:
    """Return when faults of drills stood since ``since``: from the first injection to the last clearing."""
    spans = []
    drills, _ = reads.runs(RunFilter(kind="drill", ended_after=since), SHOWN)
    for run in drills:
        faults = reads.faults(run.id)
        started = [fault.injected_at for fault in faults if fault.injected_at is not None]
        cleared = [fault.cleared_at for fault in faults]
        if started:
            ended = [each for each in cleared if each is not None]
            stands = len(ended) < len(cleared) and run.ended_at is None
            spans.append(
                DrillSpan(
                    run=run.id,
                    name=run.name,
                    started_at=min(started),
                    ended_at=None if stands else max(ended, default=run.ended_at),
                )
            )
    return tuple(spans)

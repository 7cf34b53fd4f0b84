"""The overview: one answer that a console asks for each tick."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import ValidationError

from controlplane.api.auth import Given
from controlplane.api.views.overview import ActiveDrill, DrillSpan, OverviewView
from controlplane.api.views.playbooks import Diagnostic
from controlplane.api.views.runs import RunSummary
from controlplane.model.base import Mode, strictest
from controlplane.model.overview import OVERVIEW, Headline, Overview
from controlplane.model.policy import PolicySpec
from controlplane.model.records import FaultRecord, Run
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

router = APIRouter(prefix="/overview", tags=["overview"])

SHOWN = 50
"""Incidents and runs shown at most; the lists have all."""

HISTORY = timedelta(minutes=15)


@router.get("")
def get_overview(services: Given) -> OverviewView:
    """Return the controller's last picture of the fleet, and what needs attention now."""
    settings = services.settings
    with services.database.reading() as tx:
        fleet = _fleet(tx)
        runs = tx.runs.list(RunQuery(active=True), limit=SHOWN)
        return OverviewView(
            environment=settings.environment,
            version=settings.version,
            mode=_mode(tx),
            service=fleet.service if fleet else None,
            cluster=fleet.cluster if fleet else None,
            tick_at=fleet.tick_at if fleet else None,
            evaluated_at=fleet.evaluated_at if fleet else None,
            headline=fleet.headline if fleet else Headline(),
            zones=fleet.zones if fleet else (),
            history=fleet.history if fleet else (),
            sources=fleet.sources if fleet else (),
            open_incidents=tuple(tx.incidents.list(open=True, limit=SHOWN)),
            approvals=tuple(tx.approvals.list(waiting=True)),
            active_runs=tuple(RunSummary.model_validate(run) for run in runs),
            active_drill=_active_drill(tx, runs),
            drills=_spans(tx, fleet.history[0].at if fleet and fleet.history else tx.now - HISTORY),
            halts=tuple(tx.halts.in_force()),
            out_of_service=tuple(tx.ledger.list()),
            problems=tuple(Diagnostic.model_validate(each) for each in tx.documents.problems()),
        )


def _fleet(tx: Transaction) -> Overview | None:
    """Return the snapshot; None before the first tick, or when another version wrote it."""
    body = tx.snapshots.get(OVERVIEW)
    try:
        return Overview.model_validate(body) if body is not None else None
    except ValidationError:
        return None


def _mode(tx: Transaction) -> Mode:
    """Return the mode in force: the strictest of the policies."""
    policies = tx.documents.active("Policy")
    modes = [PolicySpec.model_validate(policy.body["spec"]).mode for policy in policies]
    return strictest(*modes)


def _active_drill(tx: Transaction, active: Sequence[Run]) -> ActiveDrill | None:
    drill = next((run for run in active if run.kind == "drill"), None)
    if drill is None:
        return None
    return ActiveDrill(run=RunSummary.model_validate(drill), faults=tuple(tx.faults.list(run=drill.id)))


def _spans(tx: Transaction, since: datetime) -> tuple[DrillSpan, ...]:
    """Return when faults of drills stood since ``since``."""
    drills = tx.runs.list(RunQuery(kind="drill", ended_after=since), limit=SHOWN)
    spans = (_span(run, tx.faults.list(run=run.id)) for run in drills)
    return tuple(span for span in spans if span is not None)


def _span(run: Run, faults: Sequence[FaultRecord]) -> DrillSpan | None:
    """Return the time from the first injection to the last clearing; None if nothing was injected."""
    injected = [fault for fault in faults if fault.injected_at is not None]
    if not injected:
        return None
    cleared = [fault.cleared_at for fault in injected if fault.cleared_at is not None]
    stands = len(cleared) < len(injected)
    return DrillSpan(
        run=run.id,
        name=run.name,
        started_at=min(fault.injected_at for fault in injected if fault.injected_at is not None),
        ended_at=run.ended_at if stands else max(cleared),
    )

"""Drills that ran, and what each found out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.views.runs import DrillList, DrillSummary, RunSummary
from controlplane.kernel.errors import NotFound
from controlplane.model.records import Run
from controlplane.model.report import DrillReport, DrillVerdict, StoredReport, report_name
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

router = APIRouter(prefix="/drills", tags=["drills"])

RENDERED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.OK: {"content": {"text/html": {}, "application/xml": {}}, "description": "The report"}
}


@router.get("")
def list_drills(services: Given, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> DrillList:
    """List runs of drills, newest first, with their verdicts."""
    which = RunQuery(kind="drill")
    with services.database.reading() as tx:
        items = tuple(_summary(tx, run) for run in tx.runs.list(which, limit=limit))
        return DrillList(items=items, total=tx.runs.count(which))


def _summary(tx: Transaction, run: Run) -> DrillSummary:
    faults = tx.faults.list(run=run.id)
    known = {verdict.value for verdict in DrillVerdict}
    verdict = run.result.get("verdict")
    return DrillSummary(
        **RunSummary.model_validate(run).model_dump(),
        verdict=DrillVerdict(verdict) if verdict in known else None,
        targets=tuple(dict.fromkeys(target for fault in faults for target in fault.targets)),
    )


@router.get("/{run_id}/report", response_model=DrillReport, responses={**RENDERED, **responses(NotFound)})
def get_report(
    run_id: str,
    services: Given,
    format: Literal["json", "html", "junit"] = "json",  # noqa: A002  the parameter's public name
) -> DrillReport | Response:
    """Return a drill's report: as JSON, as a page to print, or as JUnit for a pipeline."""
    with services.database.reading() as tx:
        stored = _stored(tx, run_id)
    match format:
        case "html":
            return Response(stored.html, media_type="text/html")
        case "junit":
            name = f'attachment; filename="{run_id}.xml"'
            return Response(stored.junit, media_type="application/xml", headers={"Content-Disposition": name})
        case _:
            return stored.report


def _stored(tx: Transaction, run_id: str) -> StoredReport:
    body = tx.snapshots.get(report_name(run_id))
    if body is None:
        run = tx.runs.get(run_id)
        if run.kind != "drill":
            raise NotFound(f"{run_id} is not a drill")
        raise NotFound(f"{run_id} has no report", hint=f"it is {run.state}; a report is written at the end")
    try:
        return StoredReport.model_validate(body)
    except ValidationError as error:
        raise NotFound(f"the report of {run_id} is of another version") from error

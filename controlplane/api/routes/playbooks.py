"""What an operator writes, judged by the code that will load it."""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.act.byhand import Ask
from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.views.playbooks import Finding, PlanRequest, ValidateRequest, ValidateResult
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable
from controlplane.model.preview import PlaybookPlan

router = APIRouter(prefix="/playbooks", tags=["playbooks"])


@router.post("/validate", responses=responses(InvalidInput))
def validate(body: ValidateRequest, services: Given) -> ValidateResult:
    """List every mistake and doubt of a file, with its position and what would be valid. Changes nothing."""
    diagnostics = tuple(Finding.model_validate(each) for each in services.validate(body.file, body.text))
    return ValidateResult(
        valid=all(each.severity != "error" for each in diagnostics), diagnostics=diagnostics
    )


@router.post("/{name}/plan", responses=responses(InvalidInput, NotFound, Unavailable))
def plan(name: str, body: PlanRequest, services: Given) -> PlaybookPlan:
    """Show what a playbook would do on the live fleet now, and what the guards say. Changes nothing."""
    if services.plan is None:
        raise Unavailable("this API knows no platform to plan on")
    return services.plan(Ask(name, body.target, "a person", body.inputs))

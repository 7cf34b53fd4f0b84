"""What an operator writes, judged, played and laid out by the code that will load it; planned, and started.

Paths are those of `fleetward playbook`, so that a program does what a person does at a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.act.byhand import Ask
from controlplane.api.auth import Given, Operator
from controlplane.api.problems import SignedOut, responses
from controlplane.api.services import Author, ByHand, Files, Services
from controlplane.api.views.playbooks import (
    FilesRequest,
    FileText,
    Finding,
    FormatResult,
    PlanRequest,
    RehearsalResult,
    StartRequest,
    ValidateRequest,
    ValidateResult,
)
from controlplane.kernel.errors import InvalidInput, NotAllowed, NotFound, Refused, Unavailable
from controlplane.kernel.tidy import tidy
from controlplane.model.preview import PlaybookPlan
from controlplane.model.records import Run

router = APIRouter(prefix="/playbooks", tags=["playbooks"])


@router.post("/validate", responses=responses(InvalidInput))
def validate(body: ValidateRequest, services: Given) -> ValidateResult:
    """List every mistake and doubt of a file, with its position and what would be valid. Changes nothing."""
    return _judged(services, [(body.file, body.text)])


@router.post("/lint", responses=responses(InvalidInput))
def lint(body: FilesRequest, services: Given) -> ValidateResult:
    """The same for the files of a folder, looked at together. Changes nothing."""
    return _judged(services, body.texts)


@router.post("/fmt", responses=responses(InvalidInput))
def fmt(body: ValidateRequest) -> FormatResult:
    """Bring a text into the one layout; comments stay. Refused where that would change what it says."""
    text = tidy(body.text, body.file)
    return FormatResult(text=text, changed=text != body.text)


@router.get("/new", responses=responses(InvalidInput, Unavailable))
def new(name: Annotated[str, Query(max_length=63)], services: Given) -> tuple[FileText, ...]:
    """Return a playbook to begin with, each part explained, and its test."""
    return tuple(FileText(file=file, text=text) for file, text in _author(services).begin(name).items())


@router.post("/test", responses=responses(SignedOut, NotAllowed, InvalidInput, Unavailable))
def test(body: FilesRequest, services: Given, _who: Operator) -> RehearsalResult:
    """Play the tests among the files on a fleet in memory, beside the playbooks among them."""
    judged = _judged(services, body.texts)
    if not judged.valid:
        return RehearsalResult(valid=False, diagnostics=judged.diagnostics)
    cases = tuple(_author(services).rehearse(body.texts))
    passed = sum(case.passed for case in cases)
    return RehearsalResult(
        valid=True,
        diagnostics=judged.diagnostics,
        passed=passed,
        failed=len(cases) - passed,
        cases=cases,
    )


@router.post("/{name}/plan", responses=responses(InvalidInput, NotFound, Unavailable))
def plan(name: str, body: PlanRequest, services: Given) -> PlaybookPlan:
    """Show what a playbook would do on the live fleet now, and what the guards say. Changes nothing."""
    return _hand(services).plan(Ask(name, body.target, "a person", body.inputs))


@router.post(
    "/{name}/run",
    status_code=201,
    responses=responses(SignedOut, NotAllowed, InvalidInput, NotFound, Refused, Unavailable),
)
def run(name: str, body: StartRequest, services: Given, who: Operator) -> Run:
    """Start a playbook. The guards judge it; the mode does not bind what a person starts."""
    return _hand(services).start(Ask(name, body.target, who.name, body.inputs, body.reason))


def _judged(services: Services, files: Files) -> ValidateResult:
    diagnostics = tuple(Finding.model_validate(each) for each in services.check(files))
    return ValidateResult(valid=_sound(diagnostics), diagnostics=diagnostics)


def _sound(diagnostics: Sequence[Finding]) -> bool:
    return all(each.severity != "error" for each in diagnostics)


def _hand(services: Services) -> ByHand:
    if services.hand is None:
        raise Unavailable("this API knows no platform to plan on")
    return services.hand


def _author(services: Services) -> Author:
    if services.author is None:
        raise Unavailable("this API was started without a workshop for playbooks")
    return services.author

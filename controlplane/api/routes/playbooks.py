"""What an operator writes, judged by the code that will load it."""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.api.views.playbooks import Diagnostic, ValidateRequest, ValidateResult
from controlplane.kernel.errors import InvalidInput

router = APIRouter(prefix="/playbooks", tags=["playbooks"])


@router.post("/validate", responses=responses(InvalidInput))
def validate(body: ValidateRequest, services: Given) -> ValidateResult:
    """List every mistake of a file, with its position and what would be valid. Changes nothing."""
    diagnostics = tuple(Diagnostic.model_validate(each) for each in services.validate(body.file, body.text))
    return ValidateResult(valid=not diagnostics, diagnostics=diagnostics)

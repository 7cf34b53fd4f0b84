"""What could be done about the indicators of a service that are off their targets."""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.api import problems
from controlplane.api.auth import Given
from controlplane.bootstrap.advice import advice_on
from controlplane.kernel.errors import NotFound
from controlplane.model.advice import Advice

router = APIRouter(prefix="/services", tags=["services"])


@router.get("/{name}/advice", responses=problems.responses(NotFound))
def get_advice(services: Given, name: str) -> Advice:
    """Return each indicator of a service, those that are off first, with the levers that the field knows."""
    with services.database.reading() as tx:
        return advice_on(tx, name)

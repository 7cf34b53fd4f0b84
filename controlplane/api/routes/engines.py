"""Which engine gives which indicator: what the reference page shows, for programs and the console."""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.observe.matrix import Matrix, matrix
from controlplane.observe.profile import shipped

router = APIRouter(prefix="/engines", tags=["engines"])


@router.get("")
def list_engines() -> Matrix:
    """List the engines that are known, and how well each release gives each indicator."""
    return matrix(shipped())

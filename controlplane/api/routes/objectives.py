"""Objectives as they stand: budgets, burn rates, and when a budget would be spent."""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.api import problems
from controlplane.api.auth import Given
from controlplane.kernel.errors import NotFound
from controlplane.model.base import Model
from controlplane.model.objectives import ObjectivesSnapshot, ObjectiveStatus
from controlplane.store import objectives as stored

router = APIRouter(prefix="/slos", tags=["slos"])


class ObjectiveList(Model):
    """The objectives of every service, each as of its controller's last look."""

    items: tuple[ObjectivesSnapshot, ...]


@router.get("")
def list_objectives(services: Given) -> ObjectiveList:
    """List how the objectives of each service stand."""
    with services.database.reading() as tx:
        return ObjectiveList(items=tuple(stored.objectives(tx)))


@router.get("/{name}", responses=problems.responses(NotFound))
def get_objective(services: Given, name: str) -> ObjectiveStatus:
    """Return one objective with its tiers and its targets."""
    with services.database.reading() as tx:
        return stored.objective(tx, name)[1]

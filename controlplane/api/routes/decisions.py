"""Decisions of the loop, also those not to act, with the values they were made on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from controlplane.api.auth import Given
from controlplane.model.base import Model
from controlplane.model.records import Decision

router = APIRouter(prefix="/decisions", tags=["decisions"])


class DecisionList(Model):
    """Newest first."""

    items: tuple[Decision, ...]
    total: int = Field(description="how many match, also beyond the items")


@router.get("")
def list_decisions(
    services: Given,
    target: str | None = None,
    incident: str | None = None,
    run: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> DecisionList:
    """List decisions, newest first."""
    which = {"target": target, "incident": incident, "run": run}
    with services.database.reading() as tx:
        items, total = tx.decisions.list(limit=limit, **which), tx.decisions.count(**which)
    return DecisionList(items=tuple(items), total=total)

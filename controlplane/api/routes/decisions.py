"""Decisions of the loop, also those not to act, with the values they were made on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from controlplane.api.auth import Given
from controlplane.api.services import DecisionFilter
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
    which = DecisionFilter(target=target, incident=incident, run=run)
    items, total = services.reads.decisions(which, limit)
    return DecisionList(items=tuple(items), total=total)

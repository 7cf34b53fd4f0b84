"""The kinds' JSON Schemas under ``/schemas``, for editors. They tell nothing of this fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from controlplane.api.auth import Given
from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean

router = APIRouter(prefix="/schemas", tags=["schemas"])


@router.get("")
@router.get("/", include_in_schema=False)
def index(services: Given) -> dict[str, str]:
    """List the schemas by kind, with their addresses."""
    return {name: f"/schemas/{name}.json" for name in services.schemas}


@router.get("/{name}.json")
def schema(name: str, services: Given) -> Mapping[str, Any]:
    """Return one kind's JSON Schema; ``all`` takes a document of any kind."""
    found = services.schemas.get(name.lower())
    if found is None:
        msg = f"there is no schema `{name}`"
        raise NotFound(msg, hint=did_you_mean(name.lower(), list(services.schemas)))
    return found

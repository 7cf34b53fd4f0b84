"""For probes and scrapers: alive, ready, and the API's own metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from controlplane.api.auth import Given
from controlplane.api.problems import responses
from controlplane.kernel.errors import Unavailable
from controlplane.model.base import Model

router = APIRouter(tags=["health"])


class Status(Model):
    """A word, for people; probes read the HTTP status."""

    status: str


@router.get("/healthz")
async def healthz() -> Status:
    """Answer as long as the process can; asks nobody else."""
    return Status(status="alive")


@router.get("/readyz", responses=responses(Unavailable))
def readyz(services: Given) -> Status:
    """Answer when the database does, with the schema that this version needs."""
    services.database.ping()
    return Status(status="ready")


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(request: Request) -> Response:
    """Return the API's metrics in Prometheus' text format."""
    registry = request.app.state.registry
    assert isinstance(registry, CollectorRegistry)  # noqa: S101  create_app put it there
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

"""Stopping automation, and letting it go on."""

from __future__ import annotations

from datetime import timedelta

import structlog
from fastapi import APIRouter

from controlplane.api.auth import Given, Operator
from controlplane.api.problems import SignedOut, responses
from controlplane.api.views.halts import HaltRequest
from controlplane.kernel.errors import InvalidInput, NotAllowed, NotFound
from controlplane.kernel.ids import new_id
from controlplane.model.records import Halt
from controlplane.model.target import Target

router = APIRouter(prefix="/halts", tags=["halts"])

log = structlog.get_logger(__name__)


@router.get("")
def list_halts(services: Given) -> list[Halt]:
    """List the halts in force, newest first."""
    with services.database.reading() as tx:
        return tx.halts.in_force()


@router.post("", status_code=201, responses=responses(SignedOut, NotAllowed, InvalidInput))
def halt(body: HaltRequest, services: Given, who: Operator) -> Halt:
    """Stop automation in a scope: no run starts, runs stop after their step, drills end."""
    target = str(Target.parse(body.target)) if body.target is not None else None
    with services.database.transaction() as tx:
        return tx.halts.add(
            Halt(
                id=new_id("halt", services.clock),
                service=body.service,
                zone=body.zone,
                target=target,
                reason=body.reason,
                by=who.name,
                created_at=tx.now,
                expires_at=tx.now + timedelta(seconds=body.for_) if body.for_ is not None else None,
            )
        )


@router.delete("/{halt_id}", responses=responses(SignedOut, NotAllowed, NotFound))
def lift(halt_id: str, services: Given, who: Operator) -> Halt:
    """End a halt before its time."""
    log.info("halt lifted", halt=halt_id, by=who.name)
    with services.database.transaction() as tx:
        return tx.halts.lift(halt_id)

"""Freezes: for which service changes wait, until when, and for which incident."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, or_, select, update

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Freeze
from controlplane.model.states import IncidentState
from controlplane.store.tables import freezes, incidents
from controlplane.store.unit import Repository

_OVER = select(incidents.c.id).where(incidents.c.state == IncidentState.RESOLVED.value)

_IN_FORCE = (
    select(freezes)
    .where(
        freezes.c.service == bindparam("b_service"),
        freezes.c.lifted_at.is_(None),
        freezes.c.expires_at > bindparam("b_at"),
        or_(freezes.c.incident.is_(None), freezes.c.incident.not_in(_OVER)),
    )
    .order_by(freezes.c.created_at.desc())
)


class FreezeRepository(Repository):
    """``tx.freezes``."""

    def add(self, freeze: Freeze) -> Freeze:
        self.unit.add(freezes, **freeze.model_dump(by_alias=False))
        self.unit.emit("freeze", freeze.id)
        return freeze

    def lift(self, freeze_id: str, at: datetime | None = None) -> Freeze:
        """End a freeze; lifting a lifted one changes nothing."""
        freeze = self.get(freeze_id)
        if freeze.lifted_at is not None:
            return freeze
        self.unit.write(update(freezes).where(freezes.c.id == freeze_id).values(lifted_at=at or self.now))
        self.unit.emit("freeze", freeze_id)
        return self.get(freeze_id)

    def get(self, freeze_id: str) -> Freeze:
        row = self.unit.row(select(freezes).where(freezes.c.id == freeze_id))
        if row is None:
            msg = f"no freeze `{freeze_id}`"
            raise NotFound(msg)
        return Freeze.model_validate(row)

    def in_force(self, service: str, at: datetime | None = None) -> list[Freeze]:
        """List the freezes of a service that hold now, newest first."""
        found = self.unit.rows(_IN_FORCE, {"b_service": service, "b_at": at or self.now})
        return [Freeze.model_validate(row) for row in found]

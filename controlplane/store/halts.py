"""Halts: where automation stands still, until when, and who wanted it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, or_, select, update

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Halt
from controlplane.store.tables import halts
from controlplane.store.unit import Repository

_IN_FORCE = (
    select(halts)
    .where(
        halts.c.lifted_at.is_(None),
        or_(halts.c.expires_at.is_(None), halts.c.expires_at > bindparam("b_at")),
    )
    .order_by(halts.c.created_at.desc())
)


class HaltRepository(Repository):
    """``tx.halts``."""

    def add(self, halt: Halt) -> Halt:
        self.unit.add(halts, **halt.model_dump(by_alias=False))
        self.unit.emit("halt", halt.id)
        return halt

    def lift(self, halt_id: str, at: datetime | None = None) -> Halt:
        """End a halt; lifting a lifted one changes nothing."""
        halt = self.get(halt_id)
        if halt.lifted_at is not None:
            return halt
        self.unit.write(update(halts).where(halts.c.id == halt_id).values(lifted_at=at or self.now))
        self.unit.emit("halt", halt_id)
        return self.get(halt_id)

    def get(self, halt_id: str) -> Halt:
        row = self.unit.row(select(halts).where(halts.c.id == halt_id))
        if row is None:
            msg = f"no halt `{halt_id}`"
            raise NotFound(msg)
        return Halt.model_validate(row)

    def in_force(self, at: datetime | None = None) -> list[Halt]:
        """List the halts that hold now, newest first."""
        return [Halt.model_validate(row) for row in self.unit.rows(_IN_FORCE, {"b_at": at or self.now})]

    def list(self, limit: int = 100) -> list[Halt]:
        """List all halts, newest first."""
        found = select(halts).order_by(halts.c.created_at.desc()).limit(limit)
        return [Halt.model_validate(row) for row in self.unit.rows(found)]

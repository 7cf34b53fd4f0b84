"""The ledger of faults: what drills have broken, and all that taking it back needs.

A fault's state moves in `controlplane.store.transitions` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from controlplane.kernel.errors import NotFound
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState, is_final
from controlplane.store.tables import faults
from controlplane.store.unit import Repository

OPEN_FAULTS = tuple(state.value for state in FaultState if not is_final(state))


class FaultRepository(Repository):
    """``tx.faults``."""

    def add(self, fault: FaultRecord) -> FaultRecord:
        """Write a new fault, undo and expiry with it; an existing id is a `Conflict`."""
        self.unit.add(faults, **fault.model_dump(by_alias=False, mode="python"))
        self.unit.emit("fault", fault.id)
        return fault

    def find(self, fault_id: str) -> FaultRecord | None:
        row = self.unit.row(select(faults).where(faults.c.id == fault_id))
        return None if row is None else FaultRecord.model_validate(row)

    def get(self, fault_id: str) -> FaultRecord:
        found = self.find(fault_id)
        if found is None:
            msg = f"no fault `{fault_id}`"
            raise NotFound(msg)
        return found

    def list(
        self,
        *,
        run: str | None = None,
        service: str | None = None,
        open: bool | None = None,  # noqa: A002  the field's word
        limit: int = 500,
    ) -> list[FaultRecord]:
        """List faults, newest first; ``open``: not yet seen clear."""
        found = select(faults)
        if run is not None:
            found = found.where(faults.c.run == run)
        if service is not None:
            found = found.where(faults.c.service == service)
        if open is not None:
            still = faults.c.state.in_(OPEN_FAULTS)
            found = found.where(still if open else ~still)
        found = found.order_by(faults.c.created_at.desc()).limit(limit)
        return [FaultRecord.model_validate(row) for row in self.unit.rows(found)]

    def expired(self, at: datetime | None = None) -> Sequence[FaultRecord]:
        """List what stands longer than its drill allowed: the reaper's work, oldest first."""
        found = select(faults).where(faults.c.state.in_(OPEN_FAULTS), faults.c.expires_at <= (at or self.now))
        return [
            FaultRecord.model_validate(row) for row in self.unit.rows(found.order_by(faults.c.expires_at))
        ]

    def update(self, fault_id: str, *, undo: dict[str, Any] | None = None, detail: str | None = None) -> None:
        """Change what is known of a fault beside its state."""
        values: dict[str, Any] = {}
        if undo is not None:
            values["undo"] = undo
        if detail is not None:
            values["detail"] = detail
        if values:
            self.unit.write(update(faults).where(faults.c.id == fault_id).values(**values))
            self.unit.emit("fault", fault_id)

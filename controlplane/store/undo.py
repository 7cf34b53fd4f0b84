"""Undo records: what stood there before, what was about to be written, what was written.

One per run, step, target and field. ``before`` is written once and never again, so that a
ramp undoes to its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, select

from controlplane.model.action import Change, UndoRecord, UndoStatus
from controlplane.model.records import UndoView
from controlplane.model.target import Target
from controlplane.store.tables import undo_records
from controlplane.store.unit import Repository, Row

_OF_RUN = select(undo_records).where(undo_records.c.run == bindparam("b_run")).order_by(undo_records.c.id)
_PENDING = _OF_RUN.where(undo_records.c.status == UndoStatus.PENDING.value)
_ONE = select(undo_records).where(
    *(undo_records.c[name] == bindparam(f"b_{name}") for name in ("run", "step", "target", "field"))
)


class UndoRepository(Repository):
    """``tx.undo``."""

    def intend(self, run: str, step: str, change: Change, *, first: bool = False) -> None:
        """Write down what is about to be done; ``before`` only if it is the first time.

        ``first``: the caller knows that it is.
        """
        mine = self._key(run, step, change)
        if not first and self.unit.change(undo_records, mine, {"intended": change.intended, "at": self.now}):
            return
        values = {"before": change.before, "intended": change.intended, "applied": None}
        status = UndoStatus.PENDING.value
        self.unit.add(undo_records, **mine, **values, status=status, detail="", at=self.now)

    def applied(self, run: str, step: str, change: Change) -> None:
        """Write down that it was done."""
        written = {"applied": change.intended, "at": self.now}
        self.unit.change(undo_records, self._key(run, step, change), written)

    def settle(self, run: str, step: str, target: str, field: str, status: UndoStatus, detail: str) -> None:
        """Write down what came of taking one record back."""
        mine = {"run": run, "step": step, "target": target, "field": field}
        self.unit.change(undo_records, mine, {"status": status.value, "detail": detail, "at": self.now})

    def keep(self, run: str, detail: str) -> None:
        """What is not taken back yet stays."""
        mine = {"run": run, "status": UndoStatus.PENDING.value}
        self.unit.change(
            undo_records, mine, {"status": UndoStatus.KEPT.value, "detail": detail, "at": self.now}
        )

    def pending(self, run: str) -> Sequence[UndoRecord]:
        """List the records that are neither taken back nor kept, in the order of their first effects."""
        return [_record(row) for row in self.unit.rows(_PENDING, {"b_run": run})]

    def find(self, run: str, step: str, target: str, field: str) -> UndoRecord | None:
        """Return one record, whatever came of it."""
        row = self.unit.row(_ONE, {"b_run": run, "b_step": step, "b_target": target, "b_field": field})
        return None if row is None else _record(row)

    def count(self, run: str, *statuses: UndoStatus) -> int:
        """Count the run's records with one of these statuses."""
        wanted = [status.value for status in statuses]
        mine = (undo_records.c.run == run, undo_records.c.status.in_(wanted))
        return int(self.unit.scalar(select(func.count()).select_from(undo_records).where(*mine)))

    def list(self, run: str) -> list[UndoView]:
        """List a run's records in the order of their first effects."""
        return [UndoView.model_validate(row) for row in self.unit.rows(_OF_RUN, {"b_run": run})]

    @staticmethod
    def _key(run: str, step: str, change: Change) -> Row:
        return {"run": run, "step": step, "target": str(change.target), "field": change.field}


def _record(row: Row) -> UndoRecord:
    fields = ("run", "step", "field", "before", "intended", "applied", "detail")
    values: dict[str, Any] = {name: row[name] for name in fields}
    return UndoRecord(**values, target=Target.parse(row["target"]), status=UndoStatus(row["status"]))

"""The journal of runs: what happened, in order, in sentences that explain it without other sources."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from controlplane.model.records import JournalLine
from controlplane.store.tables import journal
from controlplane.store.unit import Repository

_OF_RUN = (
    select(journal)
    .where(journal.c.run == bindparam("b_run"), journal.c.id > bindparam("b_after"))
    .order_by(journal.c.id)
    .limit(bindparam("b_limit"))
)


class JournalRepository(Repository):
    """``tx.journal``."""

    def write(self, run: str, event: str, message: str, *, step: str | None = None, **data: Any) -> None:
        """Add a line; ``data`` are JSON values that belong to it."""
        self.unit.log(journal, run=run, step=step, at=self.now, event=event, message=message, data=data)

    def list(self, run: str, *, after: int = 0, limit: int = 2000) -> list[JournalLine]:
        """List a run's lines, oldest first."""
        self.unit.flush()
        rows = self.unit.rows(_OF_RUN, {"b_run": run, "b_after": after, "b_limit": limit})
        return [JournalLine.model_validate(row) for row in rows]

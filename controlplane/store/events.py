"""What has changed, in order: the stream that consoles and listeners follow.

Thin rows: a type and an id (``run``, ``incident``, ``decision``, ``fault``, ``halt``,
``document``); readers fetch what they show. Kept for a day.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select

from controlplane.model.records import Event
from controlplane.store.tables import events
from controlplane.store.unit import Repository


class EventRepository(Repository):
    """``tx.events``; events are written by whatever changes something (`Unit.emit`)."""

    def after(self, last_id: int, limit: int = 500) -> list[Event]:
        """Return events with a larger id, oldest first."""
        self.unit.flush()
        found = select(events).where(events.c.id > last_id).order_by(events.c.id).limit(limit)
        return [Event.model_validate(row) for row in self.unit.rows(found)]

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest id that are kept; ``(0, 0)`` when there is none."""
        self.unit.flush()
        row = self.unit.row(select(func.min(events.c.id).label("low"), func.max(events.c.id).label("high")))
        return (row["low"] or 0, row["high"] or 0) if row else (0, 0)

    def prune(self, before: datetime) -> int:
        """Delete what is older, and return how many that were."""
        return self.unit.write(delete(events).where(events.c.at < before))

"""The last picture of something, by name and service: what the controller saw at its last tick."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update

from controlplane.store.tables import snapshots
from controlplane.store.unit import Repository


class SnapshotRepository(Repository):
    """``tx.snapshots``."""

    def put(self, name: str, body: dict[str, Any], *, service: str = "", at: datetime | None = None) -> None:
        """Replace the snapshot; ``body`` is JSON."""
        values = {"at": at or self.now, "body": body}
        mine = (snapshots.c.name == name, snapshots.c.service == service)
        if not self.unit.write(update(snapshots).where(*mine).values(**values)):
            self.unit.write(insert(snapshots).values(name=name, service=service, **values))

    def get(self, name: str, *, service: str | None = None) -> dict[str, Any] | None:
        """Return the body; without a service, the newest of that name."""
        row = self.unit.row(self._newest(name, service))
        return None if row is None else dict(row["body"])

    def at(self, name: str, *, service: str | None = None) -> datetime | None:
        """Return when it was written."""
        row = self.unit.row(self._newest(name, service).with_only_columns(snapshots.c.at))
        return None if row is None else row["at"]

    def services(self, name: str) -> list[str]:
        """List the services that have a snapshot of that name."""
        found = select(snapshots.c.service).where(snapshots.c.name == name).order_by(snapshots.c.service)
        return [str(row["service"]) for row in self.unit.rows(found)]

    @staticmethod
    def _newest(name: str, service: str | None) -> Any:
        found = select(snapshots).where(snapshots.c.name == name)
        if service is not None:
            found = found.where(snapshots.c.service == service)
        return found.order_by(snapshots.c.at.desc()).limit(1)

"""Alerts that Alertmanager sent: the same message twice, or late, changes nothing.

An alert is its fingerprint and its start. It fires, and it ends once: what comes later about
the same start is an old message on its way. The same labels firing again have a new start.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, delete, insert, select, update

from controlplane.model.records import Alert
from controlplane.store.tables import alerts
from controlplane.store.unit import Repository


class AlertRepository(Repository):
    """``tx.alerts``."""

    def take(self, alert: Alert) -> bool:
        """Keep what a message says of an alert, and tell whether it changed anything."""
        row = self.unit.row(select(alerts.c.status).where(*self._is(alert)))
        if row is None:
            self.unit.write(insert(alerts).values(**alert.model_dump(by_alias=False)))
        elif row["status"] == "resolved":
            return False
        elif alert.status == "firing":
            self._change(alert, status="firing", ends_at=None, seen_at=alert.seen_at, detail="")
            if row["status"] == "firing":
                return False
        else:
            self._change(alert, status="resolved", ends_at=alert.ends_at or self.now, detail=alert.detail)
        self.unit.emit("alert", alert.fingerprint)
        return True

    def suppress(self, alert: Alert, detail: str) -> None:
        """Let an alert stand no more, until a message says that it does."""
        self._change(alert, status="suppressed", ends_at=self.now, detail=detail)
        self.unit.emit("alert", alert.fingerprint)

    def list(self, *, status: str | None = None, limit: int = 1000) -> list[Alert]:
        """List alerts, newest first."""
        found = select(alerts).order_by(alerts.c.starts_at.desc(), alerts.c.fingerprint).limit(limit)
        if status is not None:
            found = found.where(alerts.c.status == status)
        return [Alert.model_validate(row) for row in self.unit.rows(found)]

    def prune(self, before: datetime) -> int:
        """Delete alerts that ended before that time."""
        ended = (alerts.c.status != "firing", alerts.c.ends_at < before)
        return self.unit.write(delete(alerts).where(*ended))

    def _change(self, alert: Alert, **values: object) -> None:
        self.unit.write(update(alerts).where(*self._is(alert)).values(**values))

    @staticmethod
    def _is(alert: Alert) -> tuple[ColumnElement[bool], ...]:
        return (alerts.c.fingerprint == alert.fingerprint, alerts.c.starts_at == alert.starts_at)

"""Incidents: at most one open one per signal. Their states move in `controlplane.store.transitions` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select, update

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Incident, IncidentLine
from controlplane.store.tables import incident_log, incidents
from controlplane.store.unit import Repository, equal


class IncidentRepository(Repository):
    """``tx.incidents``."""

    def add(self, incident: Incident, message: str = "") -> Incident:
        """Open an incident; a second open one for its signal is a `Conflict`."""
        self.unit.add(incidents, **incident.model_dump(by_alias=False))
        line = {"at": incident.opened_at, "state": incident.state.value, "message": message}
        self.unit.add(incident_log, incident=incident.id, **line)
        self.unit.emit("incident", incident.id)
        return incident

    def find(self, incident_id: str) -> Incident | None:
        row = self.unit.row(select(incidents).where(incidents.c.id == incident_id))
        return None if row is None else Incident.model_validate(row)

    def get(self, incident_id: str) -> Incident:
        found = self.find(incident_id)
        if found is None:
            msg = f"no incident `{incident_id}`"
            raise NotFound(msg)
        return found

    def open_for(self, signal: str) -> Incident | None:
        """Return the incident of a signal that is not resolved, if there is one."""
        found = select(incidents).where(incidents.c.signal == signal, incidents.c.resolved_at.is_(None))
        row = self.unit.row(found)
        return None if row is None else Incident.model_validate(row)

    def list(
        self,
        *,
        open: bool | None = None,  # noqa: A002  the field's word
        limit: int = 500,
        **which: str | None,
    ) -> list[Incident]:
        """List incidents, newest first; ``which``: state, service, target, parent, signal, severity."""
        found = select(incidents).where(*self._conditions(which, unresolved=open))
        found = found.order_by(incidents.c.opened_at.desc(), incidents.c.id.desc()).limit(limit)
        return [Incident.model_validate(row) for row in self.unit.rows(found)]

    def count(self, *, open: bool | None = None, **which: str | None) -> int:  # noqa: A002  as in list
        """Count what `list` would list without a limit."""
        found = select(func.count()).select_from(incidents).where(*self._conditions(which, unresolved=open))
        return int(self.unit.scalar(found))

    def timeline(self, incident_id: str) -> Sequence[IncidentLine]:
        """List the moves of an incident, oldest first."""
        found = select(incident_log).where(incident_log.c.incident == incident_id).order_by(incident_log.c.id)
        return [IncidentLine.model_validate(row) for row in self.unit.rows(found)]

    def update(self, incident_id: str, **values: Any) -> None:
        """Change what is known of an incident beside its state, as listed below.

        A changed ``parent``, ``severity`` or ``tier`` is an event; a new value alone is not.
        """
        allowed = {"value", "objective", "calm_since", "detail", "parent", "severity", "tier", "title"}
        if not values or not values.keys() <= allowed:
            msg = f"these can be changed: {', '.join(sorted(allowed))}"
            raise ValueError(msg)
        self.unit.write(update(incidents).where(incidents.c.id == incident_id).values(**values))
        if values.keys() - {"value", "objective", "calm_since", "detail"}:
            self.unit.emit("incident", incident_id)

    @staticmethod
    def _conditions(
        which: dict[str, str | None], *, unresolved: bool | None
    ) -> Sequence[ColumnElement[bool]]:
        conditions = equal(incidents, **which)
        if unresolved is not None:
            still_open = incidents.c.resolved_at.is_(None)
            conditions.append(still_open if unresolved else ~still_open)
        return conditions

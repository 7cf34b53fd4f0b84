"""Incidents: at most one open one per signal. Their states move in `controlplane.store.transitions` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, select

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Incident, IncidentLine
from controlplane.store.tables import incident_log, incidents
from controlplane.store.unit import Repository, Row, given, matching

_FIND = select(incidents).where(incidents.c.id == bindparam("b_id"))
_OPEN_FOR = select(incidents).where(
    incidents.c.signal == bindparam("b_signal"), incidents.c.resolved_at.is_(None)
)


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
        row = self.unit.row(_FIND, {"b_id": incident_id})
        return None if row is None else Incident.model_validate(row)

    def get(self, incident_id: str) -> Incident:
        found = self.find(incident_id)
        if found is None:
            msg = f"no incident `{incident_id}`"
            raise NotFound(msg)
        return found

    def open_for(self, signal: str) -> Incident | None:
        """Return the incident of a signal that is not resolved, if there is one."""
        row = self.unit.row(_OPEN_FOR, {"b_signal": signal})
        return None if row is None else Incident.model_validate(row)

    def list(
        self,
        *,
        open: bool | None = None,  # noqa: A002  the field's word
        limit: int = 500,
        **which: str | None,
    ) -> list[Incident]:
        """List incidents, newest first; ``which``: state, service, target, parent, signal, severity."""
        names, params = _which(which, unresolved=open)
        rows = self.unit.rows(_list(names), {**params, "b_limit": limit})
        return [Incident.model_validate(row) for row in rows]

    def count(self, *, open: bool | None = None, **which: str | None) -> int:  # noqa: A002  as in list
        """Count what `list` would list without a limit."""
        names, params = _which(which, unresolved=open)
        return int(self.unit.scalar(_count(names), params))

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
        self.unit.change(incidents, {"id": incident_id}, values)
        if values.keys() - {"value", "objective", "calm_since", "detail"}:
            self.unit.emit("incident", incident_id)


@cache
def _list(names: frozenset[str]) -> Select[Any]:
    found = select(incidents).where(*_conditions(names))
    newest = (incidents.c.opened_at.desc(), incidents.c.id.desc())
    return found.order_by(*newest).limit(bindparam("b_limit"))


@cache
def _count(names: frozenset[str]) -> Select[Any]:
    return select(func.count()).select_from(incidents).where(*_conditions(names))


def _which(which: Mapping[str, str | None], *, unresolved: bool | None) -> tuple[frozenset[str], Row]:
    """Return what is given, with ``open`` or ``over`` where that is asked, and its parameters."""
    names, params = given(which)
    return names.union(() if unresolved is None else ("open",) if unresolved else ("over",)), params


def _conditions(names: frozenset[str]) -> list[ColumnElement[bool]]:
    conditions = matching(incidents, names - {"open", "over"})
    if "open" in names:
        conditions.append(incidents.c.resolved_at.is_(None))
    if "over" in names:
        conditions.append(incidents.c.resolved_at.is_not(None))
    return conditions

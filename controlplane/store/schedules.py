"""Schedules: up to which due time each timed trigger has been decided on."""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, insert, select, update

from controlplane.model.records import Schedule
from controlplane.store.tables import schedules
from controlplane.store.unit import Repository


class ScheduleRepository(Repository):
    """``tx.schedules``."""

    def list(self, service: str | None = None) -> list[Schedule]:
        found = select(schedules).order_by(schedules.c.playbook, schedules.c.trigger, schedules.c.target)
        if service is not None:
            found = found.where(schedules.c.service == service)
        return [Schedule.model_validate(row) for row in self.unit.rows(found)]

    def put(self, schedule: Schedule) -> None:
        """Write the row, or bring it up to date."""
        values = schedule.model_dump(by_alias=False)
        change = update(schedules).where(*self._is(schedule)).values(**values)
        if not self.unit.write(change):
            self.unit.write(insert(schedules).values(**values))

    def remove(self, schedule: Schedule) -> None:
        """Forget a trigger that is no more."""
        self.unit.write(delete(schedules).where(*self._is(schedule)))

    @staticmethod
    def _is(schedule: Schedule) -> tuple[ColumnElement[bool], ...]:
        return (
            schedules.c.playbook == schedule.playbook,
            schedules.c.trigger == schedule.trigger,
            schedules.c.target == schedule.target,
        )

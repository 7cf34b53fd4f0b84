"""The window over which an SLO's budget is counted: the last so many days, or a unit of the calendar.

A calendar window begins at midnight somewhere, whatever daylight saving does to its length. It
says where it begins and ends, and counts nothing.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from controlplane.model.base import Model, PositiveDuration

Unit = Literal["day", "week", "month", "quarter", "year"]

_DAYS: dict[Unit, int] = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}
_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12}


class Calendar(Model):
    """A unit of the calendar: it begins at midnight, a week on Monday, a quarter with January, April, …."""

    unit: Unit
    time_zone: str = Field("UTC", description="whose midnight, for example Europe/Rome")

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            msg = f"unknown time zone `{value}`: write for example Europe/Rome"
            raise ValueError(msg) from error
        return value

    def bounds(self, now: datetime) -> tuple[datetime, datetime]:
        """Return when the unit that ``now`` is in began, and when the next one does."""
        zone = ZoneInfo(self.time_zone)
        today = now.astimezone(zone).date()
        months = _MONTHS.get(self.unit)
        if months is None:
            first = today - timedelta(days=today.weekday() if self.unit == "week" else 0)
            after = first + timedelta(days=_DAYS[self.unit])
        else:
            first = date(today.year, (today.month - 1) // months * months + 1, 1)
            whole = first.month - 1 + months
            after = date(first.year + whole // 12, whole % 12 + 1, 1)
        begin, end = (datetime.combine(day, time.min, zone).astimezone(UTC) for day in (first, after))
        return begin, end


class Window(Model):
    """Either ``rolling`` or ``calendar``; 30 days when neither is written."""

    rolling: PositiveDuration | None = Field(None, description="the last so long")
    calendar: Calendar | None = Field(None, description="a unit of the calendar, counted from its begin")

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, value: Any) -> Any:
        if isinstance(value, dict) and not any(value.get(name) for name in ("rolling", "calendar")):
            return {**value, "rolling": "30d"}
        return value

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if self.rolling is not None and self.calendar is not None:
            msg = "write either `rolling` or `calendar`"
            raise ValueError(msg)
        return self

    @property
    def length(self) -> float:
        """Its seconds; of a calendar window those of a common one (a month has 30 days)."""
        if self.calendar is not None:
            return _DAYS[self.calendar.unit] * 86400.0
        return self.rolling or 30 * 86400.0

    def start(self, now: datetime) -> datetime:
        """Return from when the window that ends at ``now`` counts."""
        if self.calendar is not None:
            return self.calendar.bounds(now)[0]
        return now - timedelta(seconds=self.length)

    def horizon(self, now: datetime) -> float:
        """Return the seconds after which nothing of the present counts any more."""
        if self.calendar is not None:
            return (self.calendar.bounds(now)[1] - now).total_seconds()
        return self.length

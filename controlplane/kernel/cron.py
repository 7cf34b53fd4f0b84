"""Cron: five fields in a time zone, and the times that they name.

As Debian's cron at the two odd hours of a year: a time that the clock skips comes right
after, a fixed time that it repeats comes once. It knows no state; when something was last
started is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from controlplane.kernel.errors import InvalidInput

FIELDS = 5


@dataclass(frozen=True)
class Cron:
    """An expression in its time zone; built by `parse`, which refuses what is none."""

    text: str
    zone: str = "UTC"

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> Cron:
        """Check both; raise `InvalidInput` that says what is wrong with which."""
        # Imported where a schedule is used: most commands know none.
        from cronsim import CronSim, CronSimError  # noqa: PLC0415 - as said

        made = cls(text, check_zone(zone))
        hint = "write minute, hour, day of month, month, day of week: `0 4 * * 1-5`"
        if len(text.split()) != FIELDS:
            msg = f"`{text}` is no cron expression: it has {len(text.split())} fields, not {FIELDS}"
            raise InvalidInput(msg, hint=hint)
        try:
            next(CronSim(text, datetime(2024, 1, 1, tzinfo=made._zone)))
        except CronSimError as error:
            msg = f"`{text}` is no cron expression: {str(error)[:1].lower()}{str(error)[1:]}"
            raise InvalidInput(msg, hint=hint) from error
        except StopIteration:
            msg = f"`{text}` never comes"
            raise InvalidInput(msg) from None
        return made

    def latest(self, at: datetime) -> datetime | None:
        """Return the last time at or before ``at``, in UTC; None when there was none in living memory."""
        from cronsim import CronSim  # noqa: PLC0415 - as in `parse`

        # A minute is the grain of cron: the one that has begun is in.
        after = at.astimezone(self._zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for found in CronSim(self.text, after, reverse=True):
            if found.astimezone(UTC) <= at:
                return found.astimezone(UTC)
        return None

    def next(self, after: datetime) -> datetime | None:
        """Return the first time later than ``after``, in UTC."""
        from cronsim import CronSim  # noqa: PLC0415 - as in `parse`

        for found in CronSim(self.text, after.astimezone(self._zone)):
            if found.astimezone(UTC) > after:
                return found.astimezone(UTC)
        return None

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)


def check_zone(name: str) -> str:
    """Return the name of a time zone, or raise `InvalidInput`."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"unknown time zone `{name}`"
        raise InvalidInput(
            msg, hint="write a name of the IANA database, such as Europe/Rome or UTC"
        ) from error
    return name

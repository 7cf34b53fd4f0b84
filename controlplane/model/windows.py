"""Windows of a policy: when changes are frozen, and when maintenance may be done.

A window comes once (``start``, ``end``) or again and again (``cron`` and how long it is
open). It says when it is open, and knows nothing of who asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from controlplane.kernel.cron import Cron
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Duration, Model, Name


class Window(Model):
    """A stretch of time with a name, for all services or for some."""

    name: Name
    reason: str = ""
    services: tuple[Name, ...] = Field((), description="the services that it is for; without any, all")
    start: AwareDatetime | None = Field(None, description="with `end`, for a window that comes once")
    end: AwareDatetime | None = None
    cron: str | None = Field(None, description="when it opens, for a window that comes again")
    duration: Duration | None = Field(None, description="how long it stays open, with `cron`")
    time_zone: str = "UTC"

    @model_validator(mode="after")
    def _is_of_one_form(self) -> Self:
        once, again = (self.start, self.end), (self.cron, self.duration)
        if not (all(once) and not any(again)) and not (all(again) and not any(once)):
            msg = "write either `start` and `end`, or `cron` and `duration`"
            raise ValueError(msg)
        if self.start is not None and self.end is not None and self.end <= self.start:
            msg = "`end` must be later than `start`"
            raise ValueError(msg)
        if self.cron is not None:
            try:
                Cron.parse(self.cron, self.time_zone)
            except InvalidInput as error:
                raise ValueError(error.message) from error
        return self

    def is_for(self, service: str) -> bool:
        return not self.services or service in self.services

    def closes(self, now: datetime) -> datetime | None:
        """Return when the window that is open now closes; None while it is not open."""
        if self.start is not None and self.end is not None:
            return self.end if self.start <= now < self.end else None
        opened = self._cron.latest(now)
        if opened is None or self.duration is None:
            return None
        end = opened + timedelta(seconds=self.duration)
        return end if now < end else None

    def opens(self, now: datetime) -> datetime | None:
        """Return when it opens next; None when it never will again."""
        if self.start is not None:
            return self.start if now < self.start else None
        return self._cron.next(now)

    @property
    def _cron(self) -> Cron:
        return Cron(self.cron or "", self.time_zone)


def open_windows(windows: Sequence[Window], service: str, now: datetime) -> list[tuple[Window, datetime]]:
    """List the windows that are open for a service, each with its end."""
    found = [(window, window.closes(now)) for window in windows if window.is_for(service)]
    return [(window, end) for window, end in found if end is not None]

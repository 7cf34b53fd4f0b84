"""Time, injected: UTC, aware, and replaceable.

This is the only module that asks the operating system what time it is, so that every
decision can be replayed and tests never wait. Durations are seconds as ``float``.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the rest of the code knows of time."""

    def now(self) -> datetime:
        """Return the wall clock: aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards; only differences mean something."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait. Only loops at the edge (entry points, retries of a client) may call this."""
        ...


class SystemClock:
    """The operating system's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class VirtualClock:
    """A clock that moves only when told to; ``sleep`` advances it.

    Safe to share between threads: a test may advance it while a worker reads it.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> datetime:
        """Move forward by ``seconds`` (never backwards) and return the new time."""
        if seconds < 0:
            msg = f"time does not go backwards: {seconds} s"
            raise ValueError(msg)
        with self._lock:
            self._now += timedelta(seconds=seconds)
            self._elapsed += seconds
            return self._now


def to_rfc3339(moment: datetime) -> str:
    """Write an aware datetime as ``2026-01-01T00:00:00.000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_unix(seconds: float) -> datetime:
    """Turn unix seconds into an aware UTC datetime."""
    return datetime.fromtimestamp(seconds, UTC)

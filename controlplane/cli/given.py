"""Durations and times as options give them, within what makes sense; a wrong one is told with its option.

It knows no command: who asks says what is the least and the most.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from controlplane.kernel.durations import MAX_SECONDS, format_duration, parse_duration
from controlplane.kernel.errors import InvalidInput

LEAST = 0.001
"""Seconds, where nothing else is said: nothing lasts no time."""


def duration(text: str, option: str, *, least: float = LEAST, most: float = MAX_SECONDS) -> float:
    """Return the seconds that an option says; raise `InvalidInput` for what is too short or too long."""
    try:
        seconds = parse_duration(text)
    except InvalidInput as error:
        msg = f"{option}: {error.message}"
        raise InvalidInput(msg, hint=error.hint) from error
    if not least <= seconds <= most:
        msg = f"{option}: {text} is too {'short' if seconds < least else 'long'}"
        raise InvalidInput(msg, hint=f"from {format_duration(least)} to {format_duration(most)}")
    return seconds


def moment(text: str, option: str) -> datetime:
    """Return the time that an option says; one without a zone is UTC."""
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        msg = f"{option}: {text!r} is not a time"
        raise InvalidInput(msg, hint="write for example 2026-11-20T08:00:00Z or 2026-11-20") from error


def before(end: datetime, seconds: float, option: str) -> datetime:
    """Return the time so long before another."""
    try:
        return end - timedelta(seconds=seconds)
    except OverflowError as error:
        msg = f"{option}: {format_duration(seconds)} before {end:%Y-%m-%d} is no date"
        raise InvalidInput(msg, hint="take a later end, or a shorter time") from error

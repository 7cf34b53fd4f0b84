"""Windows: of one form, and open when they say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.model.windows import Window, open_windows

NIGHT = {"name": "night", "cron": "0 2 * * *", "duration": "4h", "timeZone": "Europe/Rome"}
LAUNCH = {"name": "launch", "start": "2026-06-01T00:00:00Z", "end": "2026-06-03T00:00:00Z"}


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(**spec: Any) -> Window:
    return Window.model_validate(spec)


def test_a_window_that_comes_again_is_open_from_its_time_for_its_duration_where_it_lies() -> None:
    night = window(**NIGHT)
    assert night.closes(utc("2026-06-10T00:00")) == utc("2026-06-10T04:00")
    assert night.closes(utc("2026-06-10T03:59:59")) == utc("2026-06-10T04:00")
    assert night.closes(utc("2026-06-10T04:00")) is None
    assert night.opens(utc("2026-06-10T04:00")) == utc("2026-06-11T00:00")


def test_a_window_that_comes_once_is_open_until_its_end_and_never_again() -> None:
    launch = window(**LAUNCH)
    assert launch.closes(utc("2026-05-31T23:59")) is None
    assert launch.opens(utc("2026-05-31T23:59")) == utc("2026-06-01T00:00")
    assert launch.closes(utc("2026-06-01T00:00")) == utc("2026-06-03T00:00")
    assert launch.closes(utc("2026-06-03T00:00")) is None
    assert launch.opens(utc("2026-06-03T00:00")) is None


def test_a_window_is_for_all_services_or_for_those_it_names() -> None:
    windows = [window(**LAUNCH), window(**{**LAUNCH, "name": "chats", "services": ["chat"]})]
    at = utc("2026-06-02T00:00")
    assert [found.name for found, _ in open_windows(windows, "chat", at)] == ["launch", "chats"]
    assert [found.name for found, _ in open_windows(windows, "search", at)] == ["launch"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "either `start` and `end`, or `cron` and `duration`"),
        ({"start": "2026-06-01T00:00:00Z"}, "either `start` and `end`"),
        ({"cron": "0 2 * * *"}, "either `start` and `end`"),
        ({**NIGHT, **LAUNCH}, "either `start` and `end`"),
        ({"start": "2026-06-02T00:00:00Z", "end": "2026-06-01T00:00:00Z"}, "later than"),
        ({"start": "2026-06-02T00:00:00", "end": "2026-06-03T00:00:00Z"}, "timezone"),
        ({"cron": "0 25 * * *", "duration": "1h"}, "no cron expression"),
        ({"cron": "0 2 * * *", "duration": "1h", "timeZone": "Mars/Olympus"}, "unknown time zone"),
    ],
)
def test_what_is_no_window_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        window(**{"name": "odd", **spec})

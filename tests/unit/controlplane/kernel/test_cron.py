"""Cron: what is refused, and the times it names, also where the clock jumps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.cron import Cron, check_zone
from controlplane.kernel.errors import InvalidInput

ROME = "Europe/Rome"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("61 * * * *", "bad minute"),
        ("0 4 * *", "4 fields, not 5"),
        ("0 0 4 * * 1", "6 fields, not 5"),
        ("@daily", "1 fields"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("", "0 fields"),
    ],
)
def test_what_is_no_expression_is_refused_with_what_would_be(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        Cron.parse(text)
    assert caught.value.hint is not None
    assert "0 4 * * 1-5" in caught.value.hint


@pytest.mark.parametrize("zone", ["Europe/Roma", "", "../etc/passwd", "/etc/passwd"])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput, match="unknown time zone"):
        check_zone(zone)


def test_the_minute_that_has_begun_counts() -> None:
    cron = Cron.parse("0 4 * * *")
    assert cron.latest(utc("2026-03-02T04:00:00")) == utc("2026-03-02T04:00")
    assert cron.latest(utc("2026-03-02T04:00:00.5")) == utc("2026-03-02T04:00")
    assert cron.latest(utc("2026-03-02T03:59:59.9")) == utc("2026-03-01T04:00")
    assert cron.next(utc("2026-03-02T04:00:00")) == utc("2026-03-03T04:00")


def test_a_time_that_the_clock_skips_comes_right_after() -> None:
    cron = Cron.parse("30 2 * * *", ROME)
    assert cron.next(utc("2026-03-29T00:00")) == utc("2026-03-29T01:00")  # 03:00 there
    assert cron.latest(utc("2026-03-29T12:00")) == utc("2026-03-29T01:00")
    assert cron.next(utc("2026-03-29T01:00")) == utc("2026-03-30T00:30")


def test_a_fixed_time_that_the_clock_repeats_comes_once() -> None:
    cron = Cron.parse("30 2 * * *", ROME)
    first = cron.next(utc("2026-10-24T12:00"))
    assert first == utc("2026-10-25T00:30")
    assert cron.next(utc("2026-10-25T00:30")) == utc("2026-10-26T01:30")
    assert cron.latest(utc("2026-10-25T01:45")) == utc("2026-10-25T00:30")


def test_what_runs_every_half_hour_does_so_in_the_repeated_hour_too() -> None:
    cron, at, found = Cron.parse("*/30 * * * *", ROME), utc("2026-10-24T23:45"), []
    for _ in range(6):
        at = cron.next(at) or at
        found.append(at)
    assert found == [utc("2026-10-25T00:00") + timedelta(minutes=30 * i) for i in range(6)]


EXPRESSIONS = [
    "*/15 * * * *",
    "30 2 * * *",
    "0 4 * * 1-5",
    "15 */6 1,15 * *",
    "0 0 29 2 *",
    "5 1-3 * 3,10 SUN",
]


@given(
    text=st.sampled_from(EXPRESSIONS),
    zone=st.sampled_from(["UTC", ROME, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    minutes=st.integers(0, 3 * 366 * 24 * 60),
    seconds=st.floats(0, 59.9),
)
def test_latest_and_next_agree(text: str, zone: str, minutes: int, seconds: float) -> None:
    cron = Cron.parse(text, zone)
    at = utc("2024-03-01T00:00") + timedelta(minutes=minutes, seconds=seconds)
    before, after = cron.latest(at), cron.next(at)
    assert before is not None
    assert after is not None
    assert before <= at < after
    assert cron.next(before) == after
    assert cron.latest(after) == after
    assert cron.latest(after - timedelta(seconds=1)) == before

"""Durations: what operators write is what code gets, and nonsense is refused with the valid forms."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.durations import format_duration, parse_duration
from controlplane.kernel.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("4w", 2419200), ("250ms", 0.25), ("1.5s", 1.5), ("0", 0)],
)
def test_reads_what_operators_write(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "10x", "2 m", "-5s", "1m1h", "1s1s", "s", "1e3s", "٣s", "1h 30m", "inf", "999999w"]
)
def test_refuses_what_is_no_duration_and_says_what_is(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_duration(text)
    assert caught.value.hint is not None
    assert "30s" in caught.value.hint


@given(st.integers(min_value=0, max_value=10 * 365 * 86400 * 1000))
def test_writing_and_reading_back_keeps_every_millisecond(millis: int) -> None:
    assert round(parse_duration(format_duration(millis / 1000)) * 1000) == millis


@given(st.text(max_size=80))
def test_any_text_is_a_duration_or_invalid_input(text: str) -> None:
    with contextlib.suppress(InvalidInput):
        assert parse_duration(text) >= 0

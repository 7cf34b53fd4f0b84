"""Burn rates: the workbook's numbers, young histories, and few events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.decide import burn

PAGE = 14.4


def rate(bad: float, total: float, target: float = 0.999, observed: float = 1.0) -> float:
    good = np.array([total - bad])
    return float(burn.burn_rate(good, np.array([total]), target, observed)[0])


def fires(bad_share: float, total: float, *, observed: float = 1.0, least: float = 10) -> bool:
    burns = np.array([rate(total * bad_share, total, observed=observed)])
    return bool(burn.tier_fires(burns, burns, np.array([total]), PAGE, least)[0])


def test_a_budget_that_is_used_exactly_burns_at_one() -> None:
    assert rate(1_000, 1_000_000) == pytest.approx(1.0, rel=0.1)


def test_a_total_outage_burns_as_fast_as_the_target_allows() -> None:
    assert rate(100_000, 100_000) == pytest.approx(1000, rel=0.01)


def test_the_page_tier_fires_at_its_factor_and_not_below() -> None:
    assert fires(0.0150, 1_000_000)
    assert not fires(0.0140, 1_000_000)


def test_time_to_page_in_a_total_outage_is_52_seconds_of_an_hour() -> None:
    assert not fires(50 / 3600, 3_600_000)
    assert fires(53 / 3600, 3_600_000)


def test_time_that_nobody_observed_counts_as_good() -> None:
    assert fires(0.10, 10_000, observed=1.0)
    assert not fires(0.10, 10_000, observed=1 / 12)


def test_one_bad_request_in_ten_is_no_page() -> None:
    assert not fires(0.1, 10)
    assert fires(0.5, 10)


def test_too_few_events_are_no_verdict() -> None:
    assert not fires(1.0, 9)
    assert not fires(0.0, 0)


def test_both_windows_must_burn() -> None:
    burning, calm, events = np.array([100.0]), np.array([0.0]), np.array([100.0])
    assert burn.tier_fires(burning, burning, events, PAGE, 10)[0]
    assert not burn.tier_fires(burning, calm, events, PAGE, 10)[0]
    assert not burn.tier_fires(calm, burning, events, PAGE, 10)[0]


def test_the_fast_tier_needs_its_samples() -> None:
    good, total = np.array([5.0, 10.0, 17.0]), np.array([10.0, 20.0, 20.0])
    assert burn.fast_fires(good, total, 0.8, 20).tolist() == [False, True, False]


def test_a_share_slightly_under_the_target_on_few_samples_may_be_the_target() -> None:
    good, total = np.array([52.0, 5200.0, 0.0]), np.array([53.0, 5300.0, 0.0])
    assert burn.is_within(good, total, 0.99).tolist() == [True, False, True]


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_wilsons_bounds_enclose_what_was_seen(good: int, total: int) -> None:
    good = min(good, total)
    low, high = (float(burn.wilson(np.array([good]), np.array([total]), upper=up)[0]) for up in (False, True))
    assert 0.0 <= low <= good / total + 1e-9
    assert good / total - 1e-9 <= high <= 1.0


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 1000))
def test_more_bad_events_never_burn_less(few: int, more: int, total: int) -> None:
    few, more = sorted((min(few, total), min(more, total)))
    assert rate(few, total) <= rate(more, total) + 1e-9

"""Counters become increments that hold against resets, gaps, births and nonsense."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.observe.counters import CounterBook, Reading, Readings
from controlplane.observe.windows import WindowStore

TICK = 2.0


class Book:
    """A counter book over one store, stepped by values of one series (None: it is missing)."""

    def __init__(self) -> None:
        self.store = WindowStore(fine_slots=64, coarse_slots=4)
        self.row = self.store.row(("tokens", "all", "replica"))
        self.book = CounterBook(self.store, TICK)
        self.at = 0.0

    def step(self, value: float | None, series: str = "s", *, seconds: float = TICK) -> None:
        self.at += seconds
        if value is not None:
            reading = Reading(series, ("tokens", "replica"), (self.row,), value)
            self.book.step([Readings.gather([reading])], self.at)
        self.store.commit(self.at)

    def total(self, window: float = 1e6) -> float:
        return float(self.store.sums(np.array([self.row]), [window])[0, 0])


def test_the_first_value_is_where_counting_starts() -> None:
    book = Book()
    for value in (1000.0, 1005.0, 1007.0):
        book.step(value)
    assert book.total() == 7.0


def test_a_reset_counts_from_zero() -> None:
    book = Book()
    for value in (1000.0, 1010.0, 4.0, 9.0):
        book.step(value)
    assert book.total() == 10.0 + 4.0 + 5.0


def test_a_child_born_among_siblings_counts_from_zero() -> None:
    book = Book()
    book.step(50.0, "stop")
    book.step(3.0, "error")
    assert book.total() == 3.0


def test_a_child_that_was_gone_for_long_among_siblings_is_born_again() -> None:
    book = Book()
    for value in (7.0, 8.0):
        book.step(value, "error")
    for value in range(200):
        book.step(float(value), "stop")
    assert book.total() == 1.0 + 199.0
    book.step(3.0, "error")
    assert book.total() == 1.0 + 199.0 + 3.0


def test_a_child_whose_siblings_are_long_gone_is_not_new() -> None:
    book = Book()
    book.step(50.0, "stop")
    book.step(3.0, "error", seconds=60.0)
    assert book.total() == 0.0


def test_nan_and_negative_values_are_no_samples() -> None:
    book = Book()
    for value in (10.0, math.nan, -5.0, math.inf, 12.0):
        book.step(value)
    assert book.total() == 2.0


def test_a_gap_is_made_up_for_and_spread_over_its_time() -> None:
    book = Book()
    book.step(0.0)
    for _ in range(9):
        book.step(None)
    book.step(100.0)
    assert book.total() == 100.0
    assert book.total(2.0) == pytest.approx(10.0)
    assert book.total(10.0) == pytest.approx(50.0)


def test_what_was_gone_too_long_starts_anew() -> None:
    book = Book()
    book.step(0.0)
    book.step(10_000.0, seconds=301.0)
    book.step(10_001.0)
    assert book.total() == 1.0


def test_a_value_that_stands_still_is_not_lost_when_it_moves_again() -> None:
    book = Book()
    for value in (5.0, 5.0, 5.0, 9.0):
        book.step(value)
    assert book.total() == 4.0


@settings(max_examples=50)
@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=1, max_size=40))
def test_increments_add_up_to_what_was_counted_after_the_first_sample(growth: list[float | None]) -> None:
    book, value, counted, seen = Book(), 0.0, 0.0, False
    pending = 0.0
    for grow in growth:
        if grow is None:
            book.step(None)
            continue
        value += grow
        pending += grow
        book.step(value)
        counted, pending, seen = (counted + pending if seen else 0.0), 0.0, True
    assert book.total() == pytest.approx(counted, abs=1e-6)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=40))
def test_whatever_a_counter_does_increments_are_never_negative(values: list[float]) -> None:
    book = Book()
    for value in values:
        book.step(value)
        assert book.total(TICK) >= 0
    resets = sum(b if b < a else b - a for a, b in itertools.pairwise(values))
    assert book.total() == pytest.approx(resets, rel=1e-9, abs=1e-3)

"""A ring of half the bytes says what a whole one does, and never that something moved that stood still."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.observe.rings import BLOCK, Floats, LongRing, Ring
from controlplane.observe.windows import WindowStore

STEP = 300.0
EVERY = np.arange(2)


def both(slots: int, totals: list[Floats]) -> tuple[Ring, LongRing]:
    rings = Ring(slots), LongRing(slots)
    for ring in rings:
        ring.grow(EVERY.size)
        for number, each in enumerate(totals):
            ring.append(number * STEP, each)
    return rings


GROWTH = st.lists(
    st.tuples(*[st.one_of(st.just(0.0), st.floats(1e-3, 1e7), st.integers(0, 10**6).map(float))] * 2),
    min_size=1,
    max_size=4 * BLOCK,
)


@settings(max_examples=50)
@given(GROWTH, st.integers(1, 2 * BLOCK))
def test_each_slot_is_right_within_its_grain_however_often_it_went_round(
    growth: list[tuple[float, float]], slots: int
) -> None:
    whole, half = both(slots, list(np.cumsum(np.array(growth), axis=0)))
    assert half.times.tolist() == whole.times.tolist()
    for number in range(whole.times.size):
        off = np.abs(half.rows_at(number, EVERY) - whole.rows_at(number, EVERY))
        assert (off <= half.grain(number, EVERY)).all()
        assert (half.grain(number, EVERY) <= 1e-6 * sum(map(sum, growth))).all()


def test_whole_events_are_exact() -> None:
    totals = [np.array([1e12 + number * 1e6, number]) for number in range(30)]
    whole, half = both(30, totals)
    for number in range(30):
        assert half.rows_at(number, EVERY).tolist() == whole.rows_at(number, EVERY).tolist()


def test_what_comes_late_reaches_the_slots_of_its_time() -> None:
    rings = both(6, [np.zeros(2)] * 4)
    for ring in rings:
        ring.spread(np.array([1]), np.array([90.0]), np.array([0.0]), 3 * STEP)
        ring.lift(np.array([0]), np.array([[1.0, 2.0, 3.0, 4.0]]))
    found = [[ring.rows_at(number, EVERY).tolist() for number in range(4)] for ring in rings]
    assert found[0] == [[1.0, 0.0], [2.0, 30.0], [3.0, 60.0], [4.0, 90.0]]
    assert np.array(found[1]) == pytest.approx(np.array(found[0]))


def test_rows_that_join_begin_at_nothing() -> None:
    ring = LongRing(BLOCK)
    ring.grow(1)
    ring.append(0.0, np.array([7.0]))
    ring.grow(1000)
    ring.append(STEP, np.arange(1000.0))
    assert ring.rows_at(0, np.array([0, 999])).tolist() == [7.0, 0.0]
    assert ring.rows_at(1, np.array([0, 999])).tolist() == [0.0, 999.0]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.001, 1e8), min_size=1, max_size=20))
def test_what_stands_still_counts_for_no_window_and_the_rest_as_it_was(amounts: list[float]) -> None:
    """A row grows by odd amounts and stands still then, longer than a tick's resolution reaches."""
    store, row = WindowStore(fine_slots=4), np.array([0])
    store.row(("requests", "all", "zone-a"))
    store.commit(0.0)
    for number, amount in enumerate([*amounts, *[0.0] * 20], 1):
        store.add(row, np.array([amount]))
        store.commit(number * 137.0)
    still = [137.0 * number for number in range(1, 17)]
    assert store.sums(row, still).tolist() == [[0.0] * len(still)]
    assert store.sums(row, [1e6])[0, 0] == pytest.approx(sum(amounts), rel=1e-6)
    grown = store.sums(row, [137.0 * number for number in range(1, 41)])[0].tolist()
    assert all(wider >= window * (1 - 1e-6) for window, wider in itertools.pairwise(grown))

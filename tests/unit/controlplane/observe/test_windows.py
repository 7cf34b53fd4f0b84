"""Windows over running totals: exact to a tick in the fine ring, interpolated in the coarse one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.observe.windows import WindowStore

KEY = ("requests", "all", "zone-a")


def filled(amounts: list[float], *, tick: float = 2.0, store: WindowStore | None = None) -> WindowStore:
    """Return a store with one row that grew by ``amounts``, one a tick, after an empty first tick."""
    store = store or WindowStore()
    row = np.array([store.row(KEY)])
    store.commit(0.0)
    for number, amount in enumerate(amounts, 1):
        store.add(row, np.array([amount]))
        store.commit(number * tick)
    return store


def window(store: WindowStore, seconds: float) -> float:
    return float(store.sums(np.array([store.row(KEY)]), [seconds])[0, 0])


def test_a_window_holds_the_ticks_inside_it() -> None:
    store = filled([1.0, 10.0, 100.0, 1000.0])
    assert [window(store, w) for w in (2, 4, 6, 8)] == [1000.0, 1100.0, 1110.0, 1111.0]


def test_a_tick_that_comes_a_little_late_still_bounds_its_window() -> None:
    store = WindowStore()
    row = np.array([store.row(KEY)])
    for at in (0.0, 2.01, 3.98, 6.02, 8.0):
        store.add(row, np.array([1.0]))
        store.commit(at)
    assert window(store, 6.0) == 3.0


def test_a_window_longer_than_the_history_gives_what_there_is_and_says_how_much() -> None:
    store = filled([1.0, 1.0])
    assert window(store, 3600.0) == 2.0
    assert store.covered(3600.0) == 4.0
    assert store.covered(2.0) == 2.0


def test_without_a_commit_there_is_nothing() -> None:
    store = WindowStore()
    assert window(store, 6.0) == 0.0
    assert store.covered(6.0) == 0.0
    assert store.window_start(6.0) is None


def test_unknown_rows_give_zeros() -> None:
    store = filled([5.0])
    assert store.sums(np.array([-1, store.row(KEY)]), [2.0]).tolist() == [[0.0], [5.0]]


def test_rows_that_come_later_count_from_their_birth() -> None:
    store = filled([1.0] * 4)
    late = np.array([store.row(("requests", "all", "zone-b"))])
    store.add(late, np.array([7.0]))
    store.commit(10.0)
    assert float(store.sums(late, [300.0])[0, 0]) == 7.0


def test_long_windows_come_from_the_coarse_ring() -> None:
    store = filled([1.0] * 400, store=WindowStore(fine_slots=20, coarse_slots=50, coarse_step=60.0))
    assert window(store, 30.0) == 15.0
    assert window(store, 600.0) == pytest.approx(300.0, abs=1e-6)
    assert window(store, 333.0) == pytest.approx(166.5, abs=1.0)


def test_what_gathered_unseen_is_spread_over_the_time_it_took() -> None:
    store = filled([0.0] * 10)
    row = np.array([store.row(KEY)])
    store.add_late(row, np.array([100.0]), np.array([10.0]), 20.0)
    store.commit(20.0 + 1e-6)
    assert window(store, 2.0) == pytest.approx(20.0, abs=0.1)
    assert window(store, 10.0) == pytest.approx(100.0, abs=0.1)
    assert window(store, 20.0) == pytest.approx(100.0, abs=0.1)


@settings(max_examples=50)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    st.integers(2, 12),
    st.integers(1, 80),
)
def test_any_window_equals_the_plain_sum_while_the_fine_ring_holds_it(
    amounts: list[float], slots: int, ticks: int
) -> None:
    store = filled(amounts, store=WindowStore(fine_slots=slots, coarse_slots=4, coarse_step=1e9))
    reach = min(ticks, slots - 1, len(amounts))
    assert window(store, 2.0 * reach) == pytest.approx(sum(amounts[-reach:]), rel=1e-9, abs=1e-3)


@settings(max_examples=50)
@given(
    st.lists(st.floats(0, 1e6), min_size=3, max_size=80),
    st.lists(st.floats(0.5, 500), min_size=2, max_size=6),
)
def test_longer_windows_never_hold_less(amounts: list[float], windows: list[float]) -> None:
    store = filled(amounts, store=WindowStore(fine_slots=8, coarse_slots=5, coarse_step=10.0))
    sums = [window(store, w) for w in sorted(windows)]
    assert all(later >= earlier - 1e-6 for earlier, later in itertools.pairwise(sums))

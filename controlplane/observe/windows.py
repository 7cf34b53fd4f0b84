"""Windows over counters: any length, all rows in one vectorised pass, at a cost that no length changes.

Each row is a running total. What is kept are its values at past moments, in two rings: a
fine one (one slot a tick) and a coarse one. The sum over a window is the difference of two
of them, so that a window of six seconds and one of three days cost the same. It knows
nothing of what the rows mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Key = tuple[str, float | str, Hashable]
"""A row's name: a measure, a part of it (a bucket's bound, "good", "all"), and whose it is."""

FINE_SLOTS = 192
"""At a tick of 2 s a little over six minutes: the five-minute windows are exact to a tick."""
COARSE_STEP = 300.0
COARSE_SLOTS = 900
"""Three days and three hours in steps of five minutes; between steps a total is interpolated."""

SEEN = "seen"
"""The part of a measure that counts the seconds in which it was read."""


class _Ring:
    """Running totals at past moments."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._times = np.empty(slots)
        self._values = np.zeros((slots, 0))
        self._count = 0
        self._next = 0
        self.order: Ints = np.arange(0)
        """Slots from the oldest to the newest."""
        self.times: Floats = np.zeros(0)
        """Their times."""

    def grow(self, rows: int) -> None:
        missing = rows - self._values.shape[1]
        if missing > 0:
            self._values = np.concatenate((self._values, np.zeros((self._slots, missing))), axis=1)

    def append(self, at: float, totals: Floats) -> None:
        self._times[self._next] = at
        self._values[self._next, : totals.size] = totals
        self._values[self._next, totals.size :] = 0.0
        self._next = (self._next + 1) % self._slots
        self._count = min(self._count + 1, self._slots)
        self.order = (self._next - self._count + np.arange(self._count)) % self._slots
        self.times = self._times[self.order]

    def rows_at(self, slot_of_order: int, rows: Ints) -> Floats:
        return np.asarray(self._values[self.order[slot_of_order], rows])

    def spread(self, rows: Ints, amounts: Floats, since: Floats, now: float) -> None:
        """Give the slots between ``since`` and ``now`` their share of amounts that became known late."""
        first = int(np.searchsorted(self.times, since.min(), side="right"))
        for slot, at in zip(self.order[first:], self.times[first:], strict=True):
            share = np.clip((at - since) / np.maximum(now - since, 1e-9), 0.0, 1.0)
            np.add.at(self._values[slot], rows, amounts * share)

    def lift(self, rows: Ints, amounts: Floats) -> None:
        """Add to each slot, from the oldest to the newest, a column of ``amounts``."""
        self._values[np.ix_(self.order, rows)] += amounts.T


class WindowStore:
    """Rows by key; every moment a time in unix seconds. Not safe between threads: one loop owns it."""

    def __init__(
        self,
        fine_slots: int = FINE_SLOTS,
        coarse_slots: int = COARSE_SLOTS,
        coarse_step: float = COARSE_STEP,
    ) -> None:
        self._rows: dict[Key, int] = {}
        self._parts: dict[str, set[float]] = {}
        self._totals = np.zeros(256)
        self._fine = _Ring(fine_slots)
        self._coarse = _Ring(coarse_slots)
        self.coarse_step = coarse_step
        self._coarse_last = -np.inf
        self._read: dict[str, float] = {}
        self.last_at = -np.inf
        """The time of the last commit."""

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, key: Key) -> int:
        """Return the row of ``key``, a new one at zero if it has none."""
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = len(self._rows)
            if isinstance(key[1], float):
                self._parts.setdefault(key[0], set()).add(key[1])
            if found >= self._totals.size:
                self._totals = np.concatenate((self._totals, np.zeros(self._totals.size)))
        return found

    def find(self, key: Key) -> int | None:
        """Return the row of ``key`` if it has one."""
        return self._rows.get(key)

    def parts(self, measure: str) -> set[float]:
        """Return the numeric parts of a measure that have rows: a histogram's bucket bounds."""
        return self._parts.get(measure, set())

    def add(self, rows: Ints, amounts: Floats) -> None:
        """Add ``amounts`` to ``rows`` (the same row may occur again): they belong to the coming commit."""
        np.add.at(self._totals, rows, amounts)

    def add_each(self, rows: tuple[int, ...], amount: float) -> None:
        """Add the same amount to each of ``rows``."""
        for row in rows:
            self._totals[row] += amount

    def add_late(self, rows: Ints, amounts: Floats, since: Floats, now: float) -> None:
        """The same for amounts that gathered since ``since`` while nobody looked: spread over that time.

        What is older than the fine ring gets its share in the coarse one.
        """
        self._resize()
        self._fine.spread(rows, amounts, since, now)
        self._coarse.spread(rows, amounts, since, now)
        self.add(rows, amounts)

    def add_at(self, rows: Ints, moments: Floats, amounts: Floats) -> None:
        """The same for what happened at these moments up to now, a column of ``amounts`` for each."""
        self._resize()
        reached = np.concatenate((np.zeros((rows.size, 1)), np.cumsum(amounts, axis=1)), axis=1)
        for ring in (self._fine, self._coarse):
            ring.lift(rows, reached[:, np.searchsorted(moments, ring.times, side="right")])
        self.add(rows, reached[:, -1])

    def observe(self, measure: str, since: float, at: float) -> None:
        """Note that what ``measure`` gained from ``since`` until ``at``, the coming commit, is in the rows.

        Time of which nobody ever says this is a hole: it counts for no window.
        """
        row, span = self.row((measure, SEEN, "")), at - since
        self._read[measure] = at
        if since < self.last_at:
            self.add_late(np.array([row]), np.array([span]), np.array([since]), at)
        else:
            self.add_each((row,), span)

    def read_until(self, measure: str) -> float:
        """Return up to when ``measure`` was read."""
        return self._read.get(measure, -np.inf)

    def observed(self, measure: str, windows: Sequence[float]) -> Floats:
        """Return for how many seconds of each window ``measure`` was read, through all holes."""
        row = self.find((measure, SEEN, ""))
        seen = self.sums(np.array([-1 if row is None else row]), windows)[0]
        return np.asarray(np.minimum(seen, np.asarray(windows)))

    def commit(self, at: float) -> None:
        """Keep the present totals as those of ``at``, which must not go backwards."""
        self._resize()
        self._fine.append(at, self._totals)
        self.last_at = at
        if at - self._coarse_last >= self.coarse_step:
            self._coarse.append(at, self._totals)
            self._coarse_last = at

    def sums(self, rows: Ints, windows: Sequence[float]) -> Floats:
        """Return the increments of ``rows`` over each window before the last commit, shape (rows, windows).

        A window longer than the history gives what there is: see `covered`. Row -1 gives zeros.
        """
        result = np.zeros((rows.size, len(windows)))
        times = self._fine.times
        if times.size == 0:
            return result
        self._resize()
        known = rows >= 0
        kept = np.where(known, rows, 0)
        now = self._fine.rows_at(-1, kept)
        for column, window in enumerate(windows):
            result[:, column] = np.where(known, now - self._at(float(times[-1]) - window, kept), 0.0)
        return result

    def covered(self, window: float) -> float:
        """Return for how many seconds of the last ``window`` there is history."""
        times = self._fine.times
        if times.size == 0:
            return 0.0
        oldest = min(float(times[0]), *self._coarse.times[:1].tolist())
        return float(min(window, times[-1] - oldest))

    def window_start(self, window: float) -> float | None:
        """Return the time from which a window of this length really counts, None without any history."""
        times = self._fine.times
        if times.size == 0:
            return None
        start = float(times[-1]) - window
        if start < times[0]:
            return float(times[-1]) - self.covered(window)
        return float(times[_nearest(times, start)])

    def _at(self, moment: float, rows: Ints) -> Floats:
        fine, coarse = self._fine.times, self._coarse.times
        if moment >= fine[0] or coarse.size == 0 or coarse[0] >= fine[0]:
            return self._fine.rows_at(_nearest(fine, moment), rows)
        if moment <= coarse[0]:
            return self._coarse.rows_at(0, rows)
        after = int(np.searchsorted(coarse, moment))
        later, later_at = (
            (self._coarse.rows_at(after, rows), coarse[after])
            if after < coarse.size
            else (self._fine.rows_at(0, rows), fine[0])
        )
        if later_at > fine[0]:
            later, later_at = self._fine.rows_at(0, rows), fine[0]
        before, before_at = self._coarse.rows_at(after - 1, rows), coarse[after - 1]
        share = (moment - before_at) / max(later_at - before_at, 1e-9)
        return np.asarray(before + (later - before) * min(1.0, share))

    def _resize(self) -> None:
        self._fine.grow(self._totals.size)
        self._coarse.grow(self._totals.size)


def _nearest(times: Floats, moment: float) -> int:
    after = int(np.searchsorted(times, moment))
    if after == 0:
        return 0
    if after == times.size:
        return times.size - 1
    return after if times[after] - moment < moment - times[after - 1] else after - 1

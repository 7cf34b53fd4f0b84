"""Windows over counters: any length, all rows in one vectorised pass, at a cost that no length changes.

Each row is a running total. What is kept are its values at past moments, in two rings: a
fine one (one slot a tick) and a coarse one. The sum over a window is the difference of two
of them, so that a window of six seconds and one of three days cost the same. It knows
nothing of what the rows mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from controlplane.observe.rings import Bools, Floats, Ints, LongRing, Ring

__all__ = ["Bools", "Floats", "Ints", "WindowStore"]

Key = tuple[str, float | str, Hashable]
"""A row's name: a measure, a part of it (a bucket's bound, "good", "all"), and whose it is."""

FINE_SLOTS = 192
"""At a tick of 2 s a little over six minutes: the five-minute windows are exact to a tick."""
COARSE_STEP = 300.0
COARSE_SLOTS = 900
"""Three days and three hours in steps of five minutes; between steps a total is interpolated."""

_CLOSE = 0.05
"""The share of a tick by which one may come early or late and still bound a window."""

SEEN = "seen"
"""The part of a measure that counts the seconds in which it was read."""


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
        self._fine: Ring = Ring(fine_slots)
        self._coarse: Ring = LongRing(coarse_slots)
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
        self._make_room()
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

    def commit(self, at: float, *, coarse_only: bool = False) -> None:
        """Keep the present totals as those of ``at``, which must not go backwards.

        Coarse ones are those of multiples of the step in absolute time, so that all evaluators have the same.
        """
        self._resize()
        totals = self._totals[: len(self._rows)]
        edge = at // self.coarse_step * self.coarse_step
        if edge > self._coarse_last:
            self._coarse.append(*self._at_edge(edge, at, totals))
            self._coarse_last = edge
        if not coarse_only:
            self._fine.append(at, totals)
        self.last_at = at

    def _at_edge(self, edge: float, at: float, totals: Floats) -> tuple[float, Floats]:
        """Return the totals at an edge between the last commit and this one; of the first one its own."""
        times = self._fine.times
        if times.size == 0 or edge == at:
            return at, totals
        before, last = self._fine.rows_at(-1, np.arange(totals.size)), float(times[-1])
        return edge, before + (totals - before) * ((edge - last) / (at - last))

    def beside(self) -> WindowStore:
        """Return an empty store of the same rows, to be put before this one."""
        other = WindowStore(self._fine.slots, self._coarse.slots, self.coarse_step)
        other._rows, other._parts = self._rows, self._parts
        other._make_room()
        return other

    def precede(self, past: WindowStore) -> None:
        """Go on from ``past``, which is of the same rows and ends where this begins."""
        self._resize()
        past._resize()
        every = np.arange(len(self._rows))
        shift = past._totals[every] - self._fine.rows_at(0, every)
        for ring, older, whole in (
            (self._fine, past._fine, 0.0),
            (self._coarse, past._coarse, self.coarse_step),
        ):
            for number, at in enumerate(ring.times.tolist()):
                if at > past.last_at and (not whole or at % whole == 0):
                    older.append(at, ring.rows_at(number, every) + shift)
        self._fine, self._coarse = past._fine, past._coarse
        self._totals[every] += shift

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
            then, grain = self._at(float(times[-1]) - window, kept)
            gained = now - then
            result[:, column] = np.where(known & (gained > grain), gained, 0.0)
        return result

    def covered(self, window: float) -> float:
        """Return for how many seconds of the last ``window`` there is history."""
        times = self._fine.times
        if times.size == 0:
            return 0.0
        oldest = min(float(times[0]), *self._coarse.times[:1].tolist())
        return float(min(window, times[-1] - oldest))

    @property
    def first_at(self) -> float:
        """The time of the oldest commit that is kept at a tick's resolution; without any `last_at`."""
        return float(self._fine.times[0]) if self._fine.times.size else self.last_at

    def window_start(self, window: float) -> float | None:
        """Return the time from which a window of this length really counts, None without any history."""
        times = self._fine.times
        if times.size == 0:
            return None
        start = float(times[-1]) - window
        if start < times[0]:
            return float(times[-1]) - self.covered(window)
        return float(times[_nearest(times, start)])

    def _at(self, moment: float, rows: Ints) -> tuple[Floats, Floats]:
        """Return the totals of a moment, and how far they may be off."""
        fine, coarse = self._fine.times, self._coarse.times
        if moment >= fine[0] or coarse.size == 0 or coarse[0] >= fine[0]:
            return self._between_ticks(moment, rows), np.zeros(rows.size)
        if moment <= coarse[0]:
            return self._coarse.rows_at(0, rows), self._coarse.grain(0, rows)
        after = int(np.searchsorted(coarse, moment))
        if after < coarse.size and coarse[after] <= fine[0]:
            later, later_at = self._coarse.rows_at(after, rows), coarse[after]
            grain = np.maximum(self._coarse.grain(after - 1, rows), self._coarse.grain(after, rows))
        else:
            later, later_at = self._fine.rows_at(0, rows), fine[0]
            grain = self._coarse.grain(after - 1, rows)
        before, before_at = self._coarse.rows_at(after - 1, rows), coarse[after - 1]
        share = (moment - before_at) / max(later_at - before_at, 1e-9)
        return np.asarray(before + (later - before) * min(1.0, share)), grain

    def _between_ticks(self, moment: float, rows: Ints) -> Floats:
        """Return the totals of a moment in the fine ring: of a tick that is about there, or between two."""
        times = self._fine.times
        after = min(int(np.searchsorted(times, moment)), times.size - 1)
        if after == 0:
            return self._fine.rows_at(0, rows)
        share = (moment - times[after - 1]) / (times[after] - times[after - 1])
        if share <= _CLOSE or share >= 1 - _CLOSE:
            return self._fine.rows_at(after - (share <= _CLOSE), rows)
        before = self._fine.rows_at(after - 1, rows)
        return np.asarray(before + (self._fine.rows_at(after, rows) - before) * share)

    def _make_room(self) -> None:
        missing = len(self._rows) - self._totals.size
        if missing > 0:
            self._totals = np.concatenate((self._totals, np.zeros(max(missing, self._totals.size))))

    def _resize(self) -> None:
        self._make_room()
        self._fine.grow(len(self._rows))
        self._coarse.grow(len(self._rows))


def _nearest(times: Floats, moment: float) -> int:
    after = int(np.searchsorted(times, moment))
    if after == 0:
        return 0
    if after == times.size:
        return times.size - 1
    return after if times[after] - moment < moment - times[after - 1] else after - 1

"""Counters that reset, vanish and come back, turned into increments that can be trusted.

Cumulative values go in, one set per tick; increments go into the window store's rows. A
value below the last one is a reset (it counts from zero); a series that nobody saw before
starts at what it shows, unless its siblings were there already, in which case it was born
now, at zero; what gathered while nobody looked is spread over that time; NaN is no sample.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from controlplane.observe.windows import Floats, Ints, WindowStore

LATE = 1.75
"""Steps after which what gathered was not of the last step alone."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter's value now. ``group``, a measure and whose it is, is what siblings share."""

    series: Hashable
    group: tuple[str, Hashable]
    rows: tuple[int, ...]
    value: float


class CounterBook:
    """What each series showed last. ``tick`` is the nominal time between two steps, in seconds."""

    def __init__(self, store: WindowStore, tick: float, forget_after: float = 300.0) -> None:
        self._store = store
        self._tick = tick
        self._sibling_within = 3 * tick
        self._forget_after = forget_after
        self._ids: dict[Hashable, int] = {}
        self._last = np.zeros(256)
        self._seen = np.full(256, -np.inf)
        self._groups: dict[tuple[str, Hashable], float] = {}
        self._read: dict[str, float] = {}

    def step(self, readings: Sequence[Reading], at: float, *, spacing: float | None = None) -> None:
        """Take the readings of ``at`` (unix seconds); ``spacing``: time between steps, if not a tick.

        The caller commits the store. Two readings of one series in a step are a mistake of
        the caller's; the later one wins.
        """
        if not readings:
            return
        values = np.array([reading.value for reading in readings])
        ids = np.array([self._id(reading.series) for reading in readings])
        born = np.array([self._was_born(reading.group, at) for reading in readings])
        good = np.isfinite(values) & (values >= 0)
        forget = max(self._forget_after, LATE * (spacing or 0.0))
        amounts = np.where(good, self._increments(ids, values, born, at - forget), 0.0)
        since = self._seen[ids]
        late = good & np.isfinite(since) & (at - since > LATE * (spacing or self._tick))
        self._write(readings, amounts, late, since, at)
        self._last[ids[good]] = values[good]
        self._seen[ids[good]] = at
        for reading in readings:
            self._groups[reading.group] = at
        self._note({reading.group[0] for reading in readings}, at, forget)

    def _note(self, measures: set[str], at: float, forget: float) -> None:
        """Note since when what these measures gained is known: not since a time that is forgotten."""
        for measure in measures:
            since = self._read.get(measure, -np.inf)
            if at - since <= forget:
                self._store.observe(measure, since, at)
            self._read[measure] = at

    def _increments(self, ids: Ints, values: Floats, born: Floats, oldest: float) -> Floats:
        last, seen = self._last[ids], self._seen[ids]
        grown = np.where(values >= last, values - last, values)
        first = ~np.isfinite(seen)
        forgotten = ~first & (seen < oldest)
        return np.where(first, np.where(born, values, 0.0), np.where(forgotten, 0.0, grown))

    def _write(
        self,
        readings: Sequence[Reading],
        amounts: Floats,
        late: Floats,
        since: Floats,
        at: float,
    ) -> None:
        moved = np.nonzero(amounts > 0)[0]
        if moved.size == 0:
            return
        pairs = [(row, i) for i in moved.tolist() for row in readings[i].rows]
        rows, index = np.array(pairs).T
        slow = late[index]
        self._store.add(rows[~slow], amounts[index[~slow]])
        if slow.any():
            self._store.add_late(rows[slow], amounts[index[slow]], since[index[slow]], at)

    def _was_born(self, group: tuple[str, Hashable], at: float) -> bool:
        return at - self._groups.get(group, -np.inf) <= self._sibling_within

    def _id(self, series: Hashable) -> int:
        found = self._ids.get(series)
        if found is None:
            found = self._ids[series] = len(self._ids)
            if found >= self._last.size:
                self._last = np.concatenate((self._last, np.zeros(self._last.size)))
                self._seen = np.concatenate((self._seen, np.full(self._seen.size, -np.inf)))
        return found

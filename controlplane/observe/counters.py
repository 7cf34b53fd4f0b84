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

from controlplane.observe.windows import Bools, Floats, Ints, WindowStore

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
        self._fed: list[tuple[int, ...]] = []
        self._feeds = np.full((256, 1), -1)
        self._last = np.zeros(256)
        self._seen = np.full(256, -np.inf)
        self._family = np.zeros(256, dtype=np.int64)
        self._families: dict[tuple[str, Hashable], int] = {}
        self._family_seen = np.full(256, -np.inf)
        self._read: dict[str, float] = {}

    def step(self, readings: Sequence[Reading], at: float, *, spacing: float | None = None) -> None:
        """Take the readings of ``at`` (unix seconds); ``spacing``: time between steps, if not a tick.

        The caller commits the store. Two readings of one series in a step are a mistake of
        the caller's; the later one wins.
        """
        if not readings:
            return
        values = np.array([reading.value for reading in readings])
        ids = np.array([self._id(reading) for reading in readings])
        born = at - self._family_seen[self._family[ids]] <= self._sibling_within
        good = np.isfinite(values) & (values >= 0)
        forget = max(self._forget_after, LATE * (spacing or 0.0))
        amounts = np.where(good, self._increments(ids, values, born, at - forget), 0.0)
        since = self._seen[ids]
        late = good & np.isfinite(since) & (at - since > LATE * (spacing or self._tick))
        self._write(ids, amounts, late, since, at)
        self._last[ids[good]] = values[good]
        self._seen[ids[good]] = at
        self._family_seen[self._family[ids]] = at
        self._note({reading.group[0] for reading in readings}, at, forget)

    def _note(self, measures: set[str], at: float, forget: float) -> None:
        """Note since when what these measures gained is known: not since a time that is forgotten."""
        for measure in measures:
            since = self._read.get(measure, -np.inf)
            if at - since <= forget:
                self._store.observe(measure, since, at)
            self._read[measure] = at

    def _increments(self, ids: Ints, values: Floats, born: Bools, oldest: float) -> Floats:
        last, seen = self._last[ids], self._seen[ids]
        grown = np.where(values >= last, values - last, values)
        first = ~np.isfinite(seen)
        forgotten = ~first & (seen < oldest)
        return np.where(first, np.where(born, values, 0.0), np.where(forgotten, 0.0, grown))

    def _write(self, ids: Ints, amounts: Floats, late: Bools, since: Floats, at: float) -> None:
        for some, slow in ((amounts > 0) & ~late, False), ((amounts > 0) & late, True):
            feeds = self._feeds[ids[some]]
            used = feeds >= 0
            rows, gained = feeds[used], np.broadcast_to(amounts[some][:, None], feeds.shape)[used]
            if rows.size and slow:
                begins = np.broadcast_to(since[some][:, None], feeds.shape)[used]
                self._store.add_late(rows, gained, begins, at)
            elif rows.size:
                self._store.add(rows, gained)

    def _id(self, reading: Reading) -> int:
        found = self._ids.get(reading.series)
        if found is None:
            found = self._ids[reading.series] = len(self._ids)
            self._fed.append(())
            if found >= self._last.size:
                self._grow()
            family = self._families.setdefault(reading.group, len(self._families))
            self._family[found] = family
            if family >= self._family_seen.size:
                self._family_seen = np.concatenate((self._family_seen, np.full(family, -np.inf)))
        if self._fed[found] is not reading.rows:
            self._feed(found, reading.rows)
        return found

    def _feed(self, number: int, rows: tuple[int, ...]) -> None:
        """Note which rows a series adds to."""
        self._fed[number] = rows
        missing = len(rows) - self._feeds.shape[1]
        if missing > 0:
            self._feeds = np.pad(self._feeds, ((0, 0), (0, missing)), constant_values=-1)
        self._feeds[number] = -1
        self._feeds[number, : len(rows)] = rows

    def _grow(self) -> None:
        more = self._last.size
        self._last = np.concatenate((self._last, np.zeros(more)))
        self._seen = np.concatenate((self._seen, np.full(more, -np.inf)))
        self._family = np.concatenate((self._family, np.zeros(more, dtype=np.int64)))
        self._feeds = np.pad(self._feeds, ((0, more), (0, 0)), constant_values=-1)

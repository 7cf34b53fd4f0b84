"""Counters that reset, vanish and come back, turned into increments that can be trusted.

Cumulative values go in, one set per tick; increments go into the window store's rows. A
value below the last one is a reset (it counts from zero); a series that nobody saw before, or
not for long, starts at what it shows, unless its siblings were there already, in which case it
was born now, at zero; what gathered while nobody looked is spread over that time; NaN is no sample.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from controlplane.observe.windows import COARSE_STEP, Bools, Floats, Ints, WindowStore

LATE = 1.75
"""Steps after which what gathered was not of the last step alone."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter's value now. ``group``, a measure and whose it is, is what siblings share."""

    series: Hashable
    group: tuple[str, Hashable]
    rows: tuple[int, ...]
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Counters:
    """Counters that are read together: one object for as long as they, and what they feed, are the same."""

    series: Sequence[Hashable]
    groups: Sequence[tuple[str, Hashable]]
    rows: Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Readings:
    """What counters show now, in their order."""

    of: Counters
    values: Floats

    @classmethod
    def gather(cls, readings: Iterable[Reading]) -> Readings:
        """Return single readings as one set."""
        every = list(readings)
        counters = Counters(
            [each.series for each in every], [each.group for each in every], [each.rows for each in every]
        )
        return cls(counters, np.array([each.value for each in every], dtype=np.float64))

    def __iter__(self) -> Iterator[Reading]:
        of = self.of
        return map(Reading, of.series, of.groups, of.rows, self.values.tolist())


class CounterBook:
    """What each series showed last. ``tick`` is the nominal time between two steps, in seconds."""

    def __init__(self, store: WindowStore, tick: float, forget_after: float = COARSE_STEP) -> None:
        self._store = store
        self._tick = tick
        self._sibling_within = 3 * tick
        self._forget_after = forget_after
        self._ids: dict[Hashable, int] = {}
        self._fed: list[tuple[int, ...]] = []
        self._feeds = np.full((256, 1), -1)
        self._last = np.zeros(256)
        self._seen = np.full(256, -np.inf)
        self._began = np.full(256, np.inf)
        self._first = np.zeros((256, 2))
        """What each showed when it was seen first, and how much of that counted."""
        self._family = np.zeros(256, dtype=np.int64)
        self._families: dict[tuple[str, Hashable], int] = {}
        self._family_seen = np.full(256, -np.inf)
        self._family_measure = np.zeros(256, dtype=np.int64)
        self._measures: dict[str, int] = {}
        self._read: dict[str, float] = {}
        self._found: dict[Counters, Ints] = {}
        """The numbers of the series of the last step."""

    def step(self, readings: Sequence[Readings], at: float) -> None:
        """Take the readings of ``at`` (unix seconds).

        The caller commits the store. Two readings of one series in a step are a mistake of
        the caller's; the later one wins.
        """
        ids, values = self._gather(readings)
        if not ids.size:
            return
        families = self._family[ids]
        born = at - self._family_seen[families] <= self._sibling_within
        good = np.isfinite(values) & (values >= 0)
        amounts = np.where(good, self._increments(ids, values, born, at - self._forget_after), 0.0)
        since = self._seen[ids]
        late = good & (at - since <= self._forget_after) & (at - since > LATE * self._tick)
        self._write(ids, amounts, late, since, at)
        new = good & ~np.isfinite(since)
        self._began[ids[new]], self._first[ids[new]] = at, np.stack((values[new], amounts[new]), axis=1)
        self._last[ids[good]] = values[good]
        self._seen[ids[good]] = at
        self._family_seen[families] = at
        read = np.bincount(self._family_measure[families], minlength=len(self._measures)) > 0
        self._note({name for name, number in self._measures.items() if read[number]}, at)

    def _gather(self, readings: Sequence[Readings]) -> tuple[Ints, Floats]:
        """Return the numbers of all series that show one, and what they show."""
        self._found = {each.of: self._numbers(each.of) for each in readings if len(each.values)}
        if not self._found:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        ids = np.concatenate([self._found[each.of] for each in readings if len(each.values)])
        values = np.concatenate([each.values for each in readings if len(each.values)])
        shown = ~np.isnan(values)
        return (ids, values) if shown.all() else (ids[shown], values[shown])

    def _numbers(self, counters: Counters) -> Ints:
        found = self._found.get(counters)
        if found is None:
            each = zip(counters.series, counters.groups, counters.rows, strict=True)
            found = np.array([self._id(series, group, rows) for series, group, rows in each], dtype=np.int64)
        return found

    def _note(self, measures: set[str], at: float) -> None:
        """Note since when what these measures gained is known: not since a time that is forgotten."""
        for measure in measures:
            since = self._read.get(measure, -np.inf)
            if at - since <= self._forget_after:
                self._store.observe(measure, since, at)
            self._read[measure] = at

    def follow(self, past: CounterBook) -> None:
        """Go on from a book that ends where this began, once the rows are joined: see `WindowStore.precede`.

        What was silent then is counted from what it showed before, now or when it is seen again.
        """
        groups = {number: group for group, number in past._families.items()}
        here = [
            self._id(series, groups[int(past._family[there])], past._fed[there])
            for series, there in past._ids.items()
        ]
        if not here:
            return
        ids, last, seen = np.array(here), past._last[: len(here)], past._seen[: len(here)]
        begun = np.isfinite(self._began[ids])
        self._last[ids[~begun]], self._seen[ids[~begun]] = last[~begun], seen[~begun]
        some = begun & np.isfinite(seen) & (self._began[ids] - seen <= self._forget_after)
        (first, counted), began = self._first[ids[some]].T, self._began[ids[some]]
        missed = np.where(first >= last[some], first - last[some], first) - counted
        for number in np.flatnonzero(missed):
            rows = np.array(self._fed[ids[some][number]], dtype=np.int64)
            amount, since = np.full(rows.size, missed[number]), np.full(rows.size, seen[some][number])
            self._store.add_late(rows, amount, since, float(began[number]))
        for measure, read in past._read.items():
            self._read.setdefault(measure, read)

    def _increments(self, ids: Ints, values: Floats, born: Bools, oldest: float) -> Floats:
        last, seen = self._last[ids], self._seen[ids]
        grown = np.where(values >= last, values - last, values)
        return np.where(seen < oldest, np.where(born, values, 0.0), grown)

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

    def _id(self, series: Hashable, group: tuple[str, Hashable], rows: tuple[int, ...]) -> int:
        found = self._ids.get(series)
        if found is None:
            found = self._ids[series] = len(self._ids)
            self._fed.append(())
            if found >= self._last.size:
                self._grow()
            self._family[found] = self._family_of(group)
        if self._fed[found] is not rows:
            self._feed(found, rows)
        return found

    def _family_of(self, group: tuple[str, Hashable]) -> int:
        family = self._families.get(group)
        if family is None:
            family = self._families[group] = len(self._families)
            if family >= self._family_seen.size:
                self._family_seen = np.concatenate((self._family_seen, np.full(family, -np.inf)))
                self._family_measure = np.pad(self._family_measure, (0, family))
            self._family_measure[family] = self._measures.setdefault(group[0], len(self._measures))
        return family

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
        self._began = np.concatenate((self._began, np.full(more, np.inf)))
        self._first = np.pad(self._first, ((0, more), (0, 0)))
        self._family = np.concatenate((self._family, np.zeros(more, dtype=np.int64)))
        self._feeds = np.pad(self._feeds, ((0, more), (0, 0)), constant_values=-1)

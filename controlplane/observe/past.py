"""The windows' past, read back after a start or a take-over, piece by piece while the loop goes on.

It is read oldest first into rings of its own, at moments that are multiples of a step in absolute
time: whoever reads it finds the cells that an evaluator has which was never interrupted. The last
minutes come at a tick's resolution. When it has caught up it is put before what was seen since. A piece
that is not answered is asked for once more, and is a hole then.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import FleetwardError
from controlplane.observe.answers import Sorted
from controlplane.observe.counters import CounterBook
from controlplane.observe.queried import QueryBook
from controlplane.observe.series import Row, Source, Track
from controlplane.observe.windows import COARSE_SLOTS, COARSE_STEP, FINE_SLOTS, WindowStore

POINTS = 48
"""Of each series in a piece that is read at a tick of its own: four hours, so that it fits into a tick."""
FINE_POINTS = 128

Texts = Callable[[float], Mapping[str, str]]
Sort = Callable[[Mapping[str, list[Row]]], Sorted]
Answers = Mapping[str, list[Track] | FleetwardError]


@dataclass(frozen=True, slots=True)
class Piece:
    """From its first moment to its last, in such steps."""

    first: float
    last: float
    step: float


def pieces(until: float, tick: float, coarse: float = COARSE_STEP) -> Iterator[Piece]:
    """Return what is to be read of the time up to ``until``: all that the windows reach, oldest first."""
    turn = math.floor((until - FINE_SLOTS * tick) / coarse) * coarse
    begin = turn - (COARSE_SLOTS - 3) * coarse
    yield from _pieces(begin, turn, coarse, POINTS)
    yield from _pieces(turn + tick, until, tick, FINE_POINTS)


def _pieces(first: float, last: float, step: float, points: int) -> Iterator[Piece]:
    while first <= last:
        end = min(last, first + (points - 1) * step)
        yield Piece(first, end, step)
        first += points * step


@dataclass(slots=True)
class Reader:
    """Adds what ranges hold to a store, moment by moment."""

    store: WindowStore
    counters: CounterBook
    asked: QueryBook
    sort: Sort

    def read(self, answers: Answers, step: float, *, coarse: bool = False) -> bool:
        """Take the answers for a piece, but those that failed; tell whether there was anything."""
        by_time: dict[float, dict[str, list[Row]]] = {}
        for name, tracks in answers.items():
            for track in [] if isinstance(tracks, FleetwardError) else tracks:
                for at, value in track.points:
                    by_time.setdefault(at, {}).setdefault(name, []).append(Row(track.labels, value))
        for at in sorted(by_time):
            if at > self.store.last_at:
                self.counters.step(self.sort(by_time[at]).counters, at, spacing=step)
                self.asked.replay(by_time[at], at, step)
                self.store.commit(at, coarse_only=coarse)
        return bool(by_time)


class Past:
    """What lies before the first commit of a store, until it is there.

    ``reader`` reads into a store of the same rows; ``texts`` gives the queries for steps of a length.
    """

    def __init__(self, reader: Reader, source: Source, texts: Texts, left: Iterator[Piece]) -> None:
        self._reader, self._source, self._texts = reader, source, texts
        self._left = deque(left)
        self._again = True

    def go_on(self, into: WindowStore) -> bool:
        """Read the next piece, and over what is empty; tell whether the past is in its place."""
        store = self._reader.store
        while self._left:
            piece = self._left[0]
            asked = self._texts(piece.step)
            answers = self._source.ranges(asked, from_unix(piece.first), from_unix(piece.last), piece.step)
            if self._again and all(isinstance(each, FleetwardError) for each in answers.values()):
                self._again = False
                return False
            self._again = True
            self._left.popleft()
            if self._reader.read(answers, piece.step, coarse=piece.step >= store.coarse_step):
                break
        if self._left:
            return False
        if store.last_at > -math.inf:
            into.precede(store)
        return True

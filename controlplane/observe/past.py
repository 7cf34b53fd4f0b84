"""The windows' past, read back after a start or a take-over, piece by piece while the loop goes on.

It is read oldest first into rings of its own, at moments that are multiples of a step in absolute
time: whoever reads it finds the cells that an evaluator has which was never interrupted. What lies
between two moments that do not tell is looked at more closely; the last minutes come at a tick's
resolution. When it has caught up it is put before what was seen since. A piece that is not answered is
asked for once more, and is a hole then.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import FleetwardError
from controlplane.observe.answers import Sorted
from controlplane.observe.counters import CounterBook
from controlplane.observe.doubts import OLD_SCRAPE, Answers, Closer, Suspect, blind, tracks
from controlplane.observe.queried import QueryBook
from controlplane.observe.series import Row, Source
from controlplane.observe.windows import COARSE_SLOTS, COARSE_STEP, FINE_SLOTS, WindowStore

POINTS = 48
"""Of each series in a piece that is read at a tick of its own: four hours, so that it fits into a tick."""
FINE_POINTS = 128
LOOKS = 8
"""Ticks that closer looks may take beside: what is in doubt after them counts as its ends show."""
LEAST = 50_000
"""Points that may be looked at more closely within a piece's own tick, however few series there are."""

Texts = Callable[[float], Mapping[str, str]]
Sort = Callable[[Mapping[str, list[Row]]], Sorted]


@dataclass(frozen=True, slots=True)
class Piece:
    """From its first moment to its last, in such steps."""

    first: float
    last: float
    step: float

    @property
    def moments(self) -> list[float]:
        return [self.first + number * self.step for number in range(self._count)]

    @property
    def _count(self) -> int:
        return math.floor((self.last - self.first) / self.step + 1e-6) + 1


def pieces(until: float, tick: float, coarse: float = COARSE_STEP) -> Iterator[Piece]:
    """Return what is to be read of the time up to ``until``: all that the windows reach, oldest first.

    Each coarse one begins with the moment at which the one before it ends.
    """
    turn = math.floor((until - FINE_SLOTS * tick) / coarse) * coarse
    begin = turn - (COARSE_SLOTS - 3) * coarse
    yield from _pieces(begin, turn, coarse, POINTS, again=1)
    yield from _pieces(turn + tick, until, tick, FINE_POINTS)


def _pieces(first: float, last: float, step: float, points: int, again: int = 0) -> Iterator[Piece]:
    while first <= last:
        end = min(last, first + (points - 1 + again) * step)
        yield Piece(first, end, step)
        first += points * step


@dataclass(slots=True)
class Reader:
    """Adds what ranges hold to a store, moment by moment. ``tick``: the seconds of the loop's."""

    store: WindowStore
    counters: CounterBook
    asked: QueryBook
    sort: Sort
    tick: float

    def read(
        self, piece: Piece, answers: Answers, closer: Iterable[Answers] = (), *, coarse: bool = False
    ) -> bool:
        """Take the answers for a piece, but those that failed; tell whether there was anything."""
        by_time: dict[float, dict[str, list[Row]]] = {}
        _gather(by_time, answers, frozenset())
        if not by_time:
            return False
        moments = piece.moments
        for each in closer:
            _gather(by_time, each, frozenset(moments))
        dark = set[float]().union(*(blind(each, self.tick) for each in (answers, *closer)))
        for at in sorted({*by_time, *moments}):
            shown = by_time.get(at, {})
            if at <= self.store.last_at or (not shown and math.isinf(self.store.last_at)):
                continue
            if at not in dark:
                self.counters.step(self.sort(shown).counters, at)
            self.asked.replay(shown, at, piece.step)
            self.store.commit(at, coarse_only=coarse)
        return True


def _gather(into: dict[float, dict[str, list[Row]]], answers: Answers, but: Collection[float]) -> None:
    """Sort answers by their moments, those left out that are known."""
    for name in answers:
        for track in tracks(answers, name):
            for at, value in track.points:
                if at not in but:
                    into.setdefault(at, {}).setdefault(name, []).append(Row(track.labels, value))


class Past:
    """What lies before the first commit of a store, until it is there.

    ``reader`` reads into a store of the same rows; ``texts`` gives the queries for steps of a length.
    """

    def __init__(
        self,
        reader: Reader,
        source: Source,
        texts: Texts,
        left: Iterable[Piece],
        doubts: Sequence[Suspect],
        tick: float,
    ) -> None:
        self._reader, self._source, self._texts = reader, source, texts
        self._doubts, self._tick = doubts, tick
        self._left = deque(left)
        self._again = True
        self._held: list[Answers] = []
        """What was answered about the piece that is read."""
        self._looks: deque[Closer] = deque()
        self._beside = LOOKS
        self._most = LEAST

    def go_on(self, into: WindowStore, book: CounterBook) -> bool:
        """Read the next piece, and over what is empty; tell whether the past is in its place."""
        store = self._reader.store
        while self._left:
            piece = self._left[0]
            coarse = piece.step >= store.coarse_step
            if not self._held and not self._ask(piece, coarse=coarse):
                return False
            if not self._look():
                return False
            self._left.popleft()
            held, self._held = self._held, []
            if self._reader.read(piece, held[0], held[1:], coarse=coarse):
                break
        if self._left:
            return False
        if store.last_at > -math.inf:
            into.precede(store)
            book.follow(self._reader.counters)
        return True

    def _ask(self, piece: Piece, *, coarse: bool) -> bool:
        """Ask for a piece, and find out what to look at more closely; False if it is to be asked again."""
        asked = self._texts(piece.step)
        if coarse:
            seconds = piece.step + OLD_SCRAPE * self._tick
            asked = {**asked, **{each.name: each.text(seconds) for each in self._doubts}}
        answers = self._source.ranges(asked, from_unix(piece.first), from_unix(piece.last), piece.step)
        if self._again and all(isinstance(each, FleetwardError) for each in answers.values()):
            self._again = False
            return False
        self._again, self._held = True, [answers]
        if coarse:
            self._most = max(LEAST, POINTS * sum(len(tracks(answers, name)) for name in answers))
            for each in self._doubts:
                self._looks += each.closer(answers, piece.moments, self._tick, self._most)
        return True

    def _look(self) -> bool:
        """Look more closely, at no more than fits into a tick; tell whether that is done."""
        spent = 0.0
        while self._looks:
            look = self._looks[0]
            points = look.series * (look.last - look.first) / self._tick
            if spent and spent + points > self._most:
                if self._beside > 0:
                    self._beside -= 1
                    return False
                self._looks.clear()
                break
            spent += points
            self._looks.popleft()
            first, last = from_unix(look.first), from_unix(look.last)
            self._held.append(self._source.ranges(look.texts, first, last, self._tick))
        return True

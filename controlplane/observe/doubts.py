"""What two readings of the past, minutes apart, do not tell, and what to ask about it.

Counters tell at both ends of a cell all that they gained in it, unless one started again, was born or
ended in it, or nobody scraped at an end. One query of each profile says what began again or ended; the
rest is in the readings. Such a cell is read at a tick's resolution, of those concerned only. It reads
nothing itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from controlplane.kernel.errors import FleetwardError
from controlplane.model.service import Service
from controlplane.observe.profile import SCRAPED_AT, Profile, Query, target_labels
from controlplane.observe.series import Track

SIGHT = "sight"
"""The name of the query that says when anything was scraped last."""
OLD_SCRAPE = 3.0
"""Ticks after which a scrape says nothing about now."""
MANY = 64
"""Of those concerned: of more than so many all are asked about."""

Answers = Mapping[str, list[Track] | FleetwardError]


@dataclass(frozen=True, slots=True)
class Closer:
    """A look at some cells of a piece: what is asked, from when until when, and how many series may come."""

    texts: Mapping[str, str]
    first: float
    last: float
    series: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """The counters of one profile. ``by``: the labels that say whose they are; ``sight``: see there."""

    queries: tuple[Query, ...]
    by: tuple[str, ...]
    sight: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{self.queries[0].profile.name}/doubt"

    @property
    def label(self) -> str:
        """The label that tells apart whose they are."""
        return self.by[-1]

    def text(self, seconds: float) -> str:
        """Return the query for whose counters started again, or ended, within so many seconds."""
        terms = [
            f"resets({each}[{seconds:g}s]) > 0 or (present_over_time({each}[{seconds:g}s]) unless {each})"
            for query in self.queries
            for each in _selectors(query)
        ]
        return f"count by ({', '.join(self.by)}) ({' or '.join(terms)})"

    def narrowed(self, whom: Collection[str]) -> dict[str, str]:
        """Return the queries about these only."""
        if len(whom) > MANY:
            return {query.name: query.promql for query in self.queries} | dict(self.sight)
        escaped = "|".join(re.escape(each).replace("\\", "\\\\") for each in sorted(whom))
        match = f', {self.label}=~"{escaped}"}}'
        return {
            query.name: query.promql.replace(query.selector, query.selector[:-1] + match)
            for query in self.queries
        } | dict(self.sight)

    def closer(self, answers: Answers, moments: Sequence[float], tick: float, most: int) -> Iterator[Closer]:
        """Yield what to look at between these moments, in looks of about so many points at most."""
        held: dict[str, int] = {}
        for track in self._tracks(answers):
            who = track.labels.get(self.label, "")
            held[who] = held.get(who, 0) + 1
        cells = self._doubtful(answers, moments, set(held), tick)
        per_cell = (moments[1] - moments[0]) / tick if len(moments) > 1 else 1.0
        for run in _runs(sorted(cells)):
            whom = set().union(*(cells[number] for number in run))
            series = sum(held.get(who, 1) for who in whom)
            size = max(1, int(most / (per_cell * series)))
            for begin in range(0, len(run), size):
                some = run[begin : begin + size]
                yield Closer(self.narrowed(whom), moments[some[0] - 1] + tick, moments[some[-1]], series)

    def _tracks(self, answers: Answers) -> Iterator[Track]:
        for query in self.queries:
            yield from tracks(answers, query.name)

    def _doubtful(
        self, answers: Answers, moments: Sequence[float], everybody: set[str], tick: float
    ) -> dict[int, set[str]]:
        """Return whom each cell leaves in doubt, by the number of the moment at which it ends."""
        found: dict[int, set[str]] = {}
        places = {at: number for number, at in enumerate(moments)}
        for track in self._tracks(answers):
            for number in _broken(track, places):
                found.setdefault(number, set()).add(track.labels.get(self.label, ""))
        for track in tracks(answers, self.name):
            for at, _ in track.points:
                found.setdefault(places.get(at, 0), set()).add(track.labels.get(self.label, ""))
        for at in blind(answers, tick):
            for number in (places.get(at, 0), places.get(at, -1) + 1):
                found.setdefault(number, set()).update(everybody)
        return {number: whom for number, whom in found.items() if 0 < number < len(moments) and whom}


def suspects(queries: Iterable[Query], service: Service) -> list[Suspect]:
    """Return the counters that are asked for, by profile."""
    found, every = [], list(queries)
    for profile, some in groupby(every, key=lambda query: query.profile):
        counted = tuple(query for query in some if query.counts)
        if counted:
            found.append(Suspect(counted, _labels(profile, service), sight(every)))
    return found


def sight(queries: Iterable[Query]) -> dict[str, str]:
    """Return the query for when anything was scraped last."""
    scraped = next((query.promql for query in queries if query.name == SCRAPED_AT), None)
    return {SIGHT: f"max({scraped})"} if scraped else {}


def blind(answers: Answers, tick: float) -> set[float]:
    """Return the moments at which nothing was scraped, and not for long: they show what was shown before."""
    found: set[float] = set()
    for track in tracks(answers, SIGHT):
        old = {last for at, last in track.points if at - last > OLD_SCRAPE * tick}
        found |= {at for at, last in track.points if last in old and at - last >= tick}
    return found


def tracks(answers: Answers, name: str) -> list[Track]:
    """Return what was answered, nothing if that failed."""
    found = answers.get(name, [])
    return [] if isinstance(found, FleetwardError) else found


def _labels(profile: Profile, service: Service) -> tuple[str, ...]:
    words = target_labels(profile, service)
    return tuple(filter(None, (words.zone, words.node, words.replica)))


def _selectors(query: Query) -> Iterator[str]:
    """Yield what selects each name alone: functions drop names. Of a histogram its count stands for it."""
    among = f'__name__=~"{"|".join(query.measures)}"'
    for name in query.measures:
        own = name.removesuffix("_bucket") + "_count" if name.endswith("_bucket") else name
        yield query.selector.replace(among, f'__name__="{own}"')


def _broken(track: Track, places: Mapping[float, int]) -> Iterator[int]:
    """Yield the cells at whose ends a counter shows that it was not there all the time, or began again."""
    values = [value for _, value in track.points]
    if len(values) == len(places) and all(one <= another for one, another in pairwise(values)):
        return
    shown = [math.nan] * len(places)
    for at, value in track.points:
        if at in places:
            shown[places[at]] = value
    for number in range(1, len(shown)):
        before, after = shown[number - 1 : number + 1]
        if math.isnan(before) != math.isnan(after) or after < before:
            yield number


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield numbers that follow one another together."""
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        yield [number for _, number in run]

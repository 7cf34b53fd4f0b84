"""Recorded metrics as the source that the loop asks: read in chunks ahead, handed out tick by tick.

A chunk holds a bounded number of samples, whatever the fleet's size and however long the span. Whatever the
loop asks is read for the whole chunk when it is first asked. A query that cannot be read ends the
backtest: what is left out silently would be called healthy.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np

from controlplane.backtest.span import Span
from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.observe.archive import Archive, Column
from controlplane.observe.series import Row, Track
from controlplane.observe.windows import Floats

SAMPLES = 400_000
"""Of the widest query in a chunk: some tens of megabytes while its answer is read."""
FIRST, LEAST, MOST = 60, 10, 2000
"""Ticks of the first chunk, whose width is not known yet, and of any."""

AWAY = 3.0
"""Ticks without a sample of any engine, answered or not, after which the scraper itself was away: what is
still there of other series only lingers."""

_Held = tuple[list[Mapping[str, str]], Floats]
"""The labels of a query's series, and their values by tick."""


class Recording:
    """Implements `controlplane.observe.series.Source` over the past; asked at the ticks of a span, in order.

    ``instead``: what is asked in place of a query, by its name. ``beat``: a query that says when anything was
    scraped last; while that is long ago there are no rows of anything, as from a Prometheus that is down.
    """

    def __init__(
        self,
        archive: Archive,
        span: Span,
        step: float,
        instead: Mapping[str, str] | None = None,
        beat: tuple[str, str] | None = None,
    ) -> None:
        self._archive, self._end, self._step = archive, span.end, step
        self._instead = dict(instead or {})
        self._beat = beat
        self._texts: dict[str, str] = dict([beat] if beat else [])
        self._held: dict[str, _Held] = {}
        self._start, self._steps, self._length = span.start, 0, FIRST

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        """Return what the series were at a tick."""
        moment = at.timestamp()
        place = round((moment - self._start) / self._step)
        known = {name: self._instead.get(name, text) for name, text in queries.items()}
        if not 0 <= place < self._steps:
            self._texts |= known
            self._turn(moment)
            place = 0
        late = {name: text for name, text in known.items() if name not in self._held}
        if late:
            self._texts |= late
            self._held |= self._read(late)
        away = self._beat is not None and self._is_away(self._beat[0], place, moment)
        return {name: [] if away else _rows(self._held[name], place) for name in queries}

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        """Return what came before the span, for windows that begin with a history."""
        texts = {name: self._instead.get(name, text) for name, text in queries.items()}
        since, steps = float(round(start.timestamp())), int((end - start).total_seconds() // step) + 1
        answers = self._archive.columns(texts, since, steps, step)
        return {
            name: answer if isinstance(answer, FleetwardError) else [_track(c, since, step) for c in answer]
            for name, answer in answers.items()
        }

    def _is_away(self, beat: str, place: int, moment: float) -> bool:
        if beat not in self._held:
            return False
        newest = max((row.value for row in _rows(self._held[beat], place)), default=0.0)
        return moment - newest > AWAY * self._step

    def _turn(self, moment: float) -> None:
        """Read the next chunk, from ``moment`` on; a smaller one when the server finds it too large."""
        self._start = moment
        while True:
            left = int((self._end - moment) // self._step) + 1
            self._steps = max(1, min(self._length, left))
            try:
                self._held = self._read(self._texts)
                break
            except InvalidInput:
                if self._steps <= LEAST:
                    raise
                self._length = max(LEAST, self._steps // 2)
        widest = max((len(labels) for labels, _ in self._held.values()), default=1)
        self._length = max(LEAST, min(MOST, SAMPLES // max(1, widest)))

    def _read(self, texts: Mapping[str, str]) -> dict[str, _Held]:
        answers = self._archive.columns(texts, self._start, self._steps, self._step)
        found: dict[str, _Held] = {}
        for name, answer in answers.items():
            if isinstance(answer, FleetwardError):
                raise answer
            values = np.array([column.values for column in answer]).reshape(len(answer), self._steps)
            found[name] = [column.labels for column in answer], np.ascontiguousarray(values.T)
        return found


def _rows(held: _Held, place: int) -> list[Row]:
    labels, values = held
    found = zip(labels, values[place].tolist(), strict=True)
    return [Row(names, value) for names, value in found if value == value]  # noqa: PLR0124 - NaN is none


def _track(column: Column, start: float, step: float) -> Track:
    there = np.nonzero(~np.isnan(column.values))[0]
    times, values = (start + there * step).tolist(), column.values[there].tolist()
    return Track(column.labels, tuple(zip(times, values, strict=True)))

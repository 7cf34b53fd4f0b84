"""What is left of an error budget: counted over the whole window, through restarts, and without guessing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.decide.budgets import BUCKETS, BudgetBook, Tallies
from controlplane.kernel.clock import from_unix
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.answers import Sorter
from controlplane.observe.counters import CounterBook, Reading, Readings
from controlplane.observe.measures import Measures
from controlplane.observe.slices import SliceBook
from controlplane.observe.windows import WindowStore
from tests.unit.controlplane.decide import measured
from tests.unit.controlplane.decide.fleet import AT, at
from tests.unit.controlplane.decide.measured import Filled

SERVICE = Target("chat", "local")
REPLICA = at("a/a1/0")
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
FORGET = 300.0
"""Seconds after which what a counter gained unseen is not known any more."""


def slo(target: float = 0.9, window: Any = "1h", **more: Any) -> Slo:
    window = {"rolling": window} if isinstance(window, str) else window
    spec = {"service": "chat", "indicator": "canary", "target": target, "window": window, **more}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": {"tiers": [], **spec}})


def play(filled: Filled, book: BudgetBook, one: Slo, ticks: int, good: float) -> None:
    for _ in range(ticks):
        filled.tick({("canary", "all", REPLICA): 10.0, ("canary", "good", REPLICA): 10.0 * good})
        book.count([one], SERVICE, filled.measures, filled.at)


def on_paper(book: BudgetBook) -> Tallies:
    """Return what the next leader reads of what this one wrote down."""
    return Tallies.model_validate(book.written().model_dump(mode="json", by_alias=True))


def test_a_young_history_has_spent_only_its_part_of_the_window() -> None:
    """Half of the events bad for a sixtieth of the window, a tenth may be: a twelfth is spent."""
    book = BudgetBook()
    play(Filled(), book, slo(), 30, 0.5)
    assert book.left(slo()) == pytest.approx(1 - 5 / 60, abs=0.002)


def test_it_is_spent_and_overspent_and_comes_back_when_the_window_has_passed() -> None:
    one, filled, book = slo(window="2m"), Filled(), BudgetBook()
    play(filled, book, one, 60, 1.0)
    assert book.left(one) == pytest.approx(1.0)
    play(filled, book, one, 12, 0.0)
    left = book.left(one)
    assert left is not None
    assert left < 0
    play(filled, book, one, 61, 1.0)
    assert book.left(one) == pytest.approx(1.0)
    (tally,) = book.written().tallies.values()
    assert len(tally.buckets) <= BUCKETS + 1


def test_a_restart_counts_what_happened_meanwhile_once() -> None:
    one, filled, known = slo(window="4m"), Filled(), BudgetBook()
    play(filled, known, one, 10, 1.0)
    restarted = BudgetBook(on_paper(known))
    play(filled, known, one, 10, 0.5)
    restarted.count([one], SERVICE, filled.measures, filled.at)
    assert restarted.left(one) == pytest.approx(known.left(one), abs=0.01)


def test_few_events_are_no_verdict_and_another_threshold_begins_anew() -> None:
    filled, book = Filled(), BudgetBook()
    play(filled, book, slo(minEvents=100), 5, 0.0)
    assert book.left(slo(minEvents=100)) is None
    assert book.left(slo(window="3h")) is None
    assert book.all_left() == {}
    assert BudgetBook().left(slo()) is None


def test_an_objective_that_joins_or_goes_changes_no_other() -> None:
    one, filled, book = slo(), Filled(), BudgetBook()
    play(filled, book, one, 10, 0.5)
    before = book.left(one)
    book.count([slo(window="2h"), one], SERVICE, filled.measures, filled.at)
    assert book.left(one) == before
    assert book.left(slo(window="2h")) == pytest.approx(1 - 5 * 20 / 7200, abs=1e-3)
    book.count([one], SERVICE, filled.measures, filled.at)
    assert (book.left(one), book.left(slo(window="2h"))) == (before, None)


def test_what_was_written_before_seconds_were_counted_is_read_as_it_was_meant() -> None:
    """Two buckets of 15 s, the first one begun in its middle; half of the events were bad."""
    since = AT.timestamp() + 7.5
    buckets = [[AT.timestamp(), 5.0, 10.0], [AT.timestamp() + 15.0, 5.0, 10.0]]
    tally = {"since": since, "upto": AT.timestamp() + 27.0, "buckets": buckets, "good": 10.0, "total": 20.0}
    book, filled = BudgetBook(Tallies.model_validate({"tallies": {"s/canary/3600": tally}})), Filled()
    book.count([slo()], SERVICE, filled.measures, AT.timestamp() + 28.0)
    found = book.of(slo())
    assert (found.good, found.total) == (10.0, 20.0)
    assert found.observed * HOUR == pytest.approx(7.5 + 12.0)


# ── holes ──────────────────────────────────────────────────────────────────────────────────────────────────

TICK = 10.0


@dataclass(frozen=True)
class Known:
    """A piece of time of which an evaluator knows what happened."""

    begin: float
    end: float
    good: float
    total: float


class Evaluator:
    """What a leader keeps; it reads two counters, or nothing, at each tick."""

    def __init__(self, one: Slo, written: Tallies | None = None) -> None:
        self.slo, self.store = one, WindowStore()
        self.measures = Measures(measured.SERVICE, self.store)
        self.sorter = Sorter(measured.SERVICE, self.store)
        self.counters = CounterBook(self.store, TICK)
        self.slices, self.book = SliceBook(), BudgetBook(written)

    def read(self, moment: float, counted: tuple[float, float] | None) -> None:
        if counted is not None:
            group = ("canary", REPLICA)
            readings = [
                Reading(part, group, self.sorter.rows("canary", part, REPLICA), value)
                for part, value in zip(("good", "all"), counted, strict=True)
            ]
            self.counters.step([Readings.gather(readings)], moment)
        self.store.commit(moment)

    def look(self, moment: float, counted: tuple[float, float] | None) -> None:
        self.read(moment, counted)
        self.slices.keep([self.slo], [SERVICE], self.measures, moment)
        self.book.count([self.slo], SERVICE, self.measures, moment)


class History:
    """Clients, a source of metrics and evaluators, over segments of time; it knows what each could know."""

    def __init__(self, one: Slo, begin: float) -> None:
        self.slo, self.now = one, begin
        self.good = self.total = 0.0
        self.points: list[tuple[float, tuple[float, float]]] = []
        self.evaluator, self.uninterrupted = Evaluator(one), Evaluator(one)
        self.since, self.first = begin, 0
        self.kept: list[Known] = []
        """What earlier evaluators knew and wrote down."""

    def run(self, ticks: int, rate: float, bad: float, *, read: bool = True) -> None:
        for _ in range(ticks):
            self.now += TICK
            self.total += rate * TICK
            self.good += rate * TICK * (1 - bad)
            counted = (self.good, self.total) if read else None
            if counted:
                self.points.append((self.now, counted))
            for each in (self.evaluator, self.uninterrupted):
                each.look(self.now, counted)

    def down(self, seconds: float) -> None:
        """Let time pass in which nobody does anything: the whole machine is asleep."""
        self.now += round(seconds / TICK) * TICK

    def restart(self, *, history: bool) -> None:
        """Begin with a new evaluator; ``history``: the source still has what it showed."""
        written = on_paper(self.evaluator.book)
        upto = min((tally.upto for tally in written.tallies.values()), default=self.now)
        self.kept = [_cut(each, 0.0, upto) for each in self.known() if each.begin < upto]
        self.since, self.first = upto, 0 if history else len(self.points)
        self.evaluator = Evaluator(self.slo, written)
        for moment, counted in self.points[self.first :]:
            self.evaluator.read(moment, counted)

    def known(self) -> list[Known]:
        """Return what the present evaluator can know: gaps that counters bridge are no holes."""
        found = list(self.kept)
        for (begin, before), (end, after) in itertools.pairwise(self.points[self.first :]):
            if end - begin <= FORGET and end > self.since:
                piece = Known(begin, end, after[0] - before[0], after[1] - before[1])
                found.append(_cut(piece, self.since, end))
        return found

    def by_hand(self, begin: float) -> float | None:
        """Return what is left by what was known since ``begin``."""
        spec = self.slo.spec
        pieces = [_cut(each, begin, self.now) for each in self.known() if each.end > begin]
        seconds = sum(each.end - each.begin for each in pieces)
        if spec.slices:
            pieces = list(self._slices(pieces))
        good, total = sum(each.good for each in pieces), sum(each.total for each in pieces)
        if total < 1:
            return None
        return 1 - (total - good) / total * min(1.0, seconds / spec.window.length) / (1 - spec.target)

    def _slices(self, pieces: Sequence[Known]) -> Iterator[Known]:
        """Return each slice that is over as one event."""
        length = self.slo.spec.budgeting.slice
        last = max((each.end for each in pieces), default=0.0) // length
        for number in sorted({int(each.begin // length) for each in pieces if each.begin // length < last}):
            begin, end = number * length, (number + 1) * length
            inside = [_cut(each, begin, end) for each in pieces if each.begin < end and each.end > begin]
            good, total = sum(each.good for each in inside), sum(each.total for each in inside)
            if total > 1e-9:
                well = good / total >= (self.slo.spec.budgeting.slice_target or 0.0) - 1e-9
                yield Known(begin, end, float(well), 1.0)

    def bounds_by_hand(self) -> tuple[float, float] | None:
        """Return the least and the most that may be left.

        Where the window's oldest bucket begins, give or take a slice, or a gap that was bridged.
        """
        window = self.slo.spec.window
        width = window.length / BUCKETS
        begin = (self.now // width - BUCKETS) * width
        if window.calendar is not None:
            begin = window.start(from_unix(self.now)).timestamp()
        edges = {begin, *(each.begin for each in self.known() if abs(each.begin - begin) <= FORGET)}
        found = [left for edge in edges if (left := self.by_hand(edge)) is not None]
        return (min(found), max(found)) if found else None


def _cut(piece: Known, begin: float, end: float) -> Known:
    """Return the part of a piece that lies between two moments."""
    first, last = max(piece.begin, begin), min(piece.end, end)
    share = max(0.0, last - first) / (piece.end - piece.begin)
    return Known(first, max(first, last), piece.good * share, piece.total * share)


WINDOWS = ["1m", "10m", "1h", "7h", {"calendar": {"unit": "day", "timeZone": "Europe/Rome"}}]
RUN = st.tuples(
    st.just("run"), st.integers(1, 30), st.sampled_from([1.0, 100.0]), st.sampled_from([0.0, 0.5, 1.0])
)
DARK = st.tuples(
    st.just("dark"), st.integers(1, 60), st.sampled_from([1.0, 100.0]), st.sampled_from([0.0, 1.0])
)
DOWN = st.tuples(st.just("down"), st.sampled_from([20.0, 120.0, 400.0, HOUR, 6 * HOUR, 3 * DAY]))
RESTART = st.tuples(st.just("restart"), st.booleans())
SEGMENTS = st.lists(st.one_of(RUN, RUN, DARK, DOWN, RESTART), min_size=2, max_size=7)
EVENING = AT.timestamp() + 22.75 * HOUR


def live(history: History, segment: tuple[Any, ...]) -> None:
    match segment:
        case ("run", ticks, rate, bad):
            history.run(ticks, rate, bad)
        case ("dark", ticks, rate, bad):
            history.run(ticks, rate, bad, read=False)
        case ("down", seconds):
            history.down(seconds)
        case ("restart", with_history):
            history.restart(history=with_history)


@settings(max_examples=25)
@given(st.sampled_from(WINDOWS), SEGMENTS)
def test_whatever_nobody_saw_is_never_charged_and_what_was_seen_always_is(
    window: Any, segments: list[tuple[Any, ...]]
) -> None:
    history = History(slo(window=window, minEvents=1), EVENING)
    for segment in segments:
        live(history, segment)
        left, bounds = history.evaluator.book.left(history.slo), history.bounds_by_hand()
        if left is not None and bounds is not None and segment[0] == "run":
            assert bounds[0] - 1e-3 <= left <= bounds[1] + 1e-3


@settings(max_examples=15)
@given(st.sampled_from(["10m", "7h"]), SEGMENTS)
def test_nor_are_slices_of_time_that_nobody_saw(window: str, segments: list[tuple[Any, ...]]) -> None:
    how = {"method": "timeslices", "slice": "60s", "sliceTarget": "90%"}
    history = History(slo(window=window, budgeting=how, minEvents=1), EVENING)
    for segment in segments:
        live(history, segment)
        left = history.evaluator.book.left(history.slo)
        if left is not None:
            seconds = sum(each.end - each.begin for each in history.known())
            spent = min(1.0, seconds / history.slo.spec.window.length) / (1 - history.slo.spec.target)
            assert left >= 1 - spent - 1e-6


@settings(max_examples=15)
@given(st.sampled_from(WINDOWS), st.lists(st.one_of(RUN, DARK, DOWN, st.just(("restart", True))), max_size=6))
def test_one_that_was_restarted_and_one_that_was_not_agree(
    window: Any, segments: list[tuple[Any, ...]]
) -> None:
    history = History(slo(window=window, minEvents=1), EVENING)
    for segment in [("run", 5, 1.0, 0.5), *segments, ("run", 3, 1.0, 0.0)]:
        live(history, segment)
    restarted, other = (each.book.of(history.slo) for each in (history.evaluator, history.uninterrupted))
    assert restarted.total == pytest.approx(other.total, rel=1e-3)
    assert restarted.observed == pytest.approx(other.observed, rel=1e-3)
    assert restarted.left == pytest.approx(other.left, abs=1e-3)


@pytest.mark.parametrize("how", ["occurrences", "timeslices"])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_bad_minute_before_a_long_hole_stays_a_bad_minute(how: str, *, restarts: bool) -> None:
    """Of 30 minutes with 95 % one minute is two thirds of what may be bad: no night spends the rest."""
    slices = (
        {"budgeting": {"method": how, "slice": "60s", "sliceTarget": "90%"}} if how != "occurrences" else {}
    )
    history = History(slo(0.95, "8h", minEvents=1, **slices), EVENING)
    history.run(6, 1.0, 0.0)
    history.run(6, 1.0, 1.0)
    history.down(7 * HOUR)
    if restarts:
        history.restart(history=True)
    history.run(7, 1.0, 0.0)
    left = history.evaluator.book.left(history.slo)
    assert left == pytest.approx(1 - MINUTE / (8 * HOUR) / 0.05, abs=0.03)

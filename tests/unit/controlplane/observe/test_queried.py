"""Objectives' own queries in the windows: each event once, nothing made up while nobody answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.query import Query
from controlplane.model.target import Target
from controlplane.observe.answers import Sorter
from controlplane.observe.measures import Ask, Measures
from controlplane.observe.queried import QueryBook
from controlplane.observe.series import Row
from controlplane.observe.windows import WindowStore
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.measured import SERVICE

TICK = 2.0
WHOLE = Target("chat", "local")
RATES = Query(bad="sum(rate(bad[{{ window }}]))", total="sum(rate(all[{{ window }}]))")


class Play:
    """A book that is asked each tick; ``labels`` and rates are what a Prometheus would answer."""

    def __init__(self, query: Query = RATES) -> None:
        store = WindowStore()
        self.measures = Measures(SERVICE, store)
        self.book = QueryBook(SERVICE, Sorter(SERVICE, store))
        self.query = query
        self.book.want([query])
        self.now = 0.0
        self.asked = 0
        store.commit(0.0)

    def run(
        self, seconds: float, rows: Mapping[str, list[Row] | FleetwardError], *, answers: bool = True
    ) -> None:
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            due = self.book.due(self.now)
            self.asked += bool(due)
            given = {name: rows[name.rpartition("/")[2]] for name in due} if answers else {}
            self.book.take(given, self.now)
            self.measures.store.commit(self.now)

    def counts(self, target: Target, window: float) -> tuple[float, float]:
        found = self.measures.counts([Ask(self.query.key, target)], [window])
        return float(found.good[0, 0]), float(found.total[0, 0])


def rows(events: float, errors: float, **labels: str) -> dict[str, list[Row] | FleetwardError]:
    return {"events": [Row(labels, events)], "errors": [Row(labels, errors)]}


def test_a_rate_becomes_events_and_each_counts_once() -> None:
    play = Play()
    play.run(300, rows(10.0, 1.0))
    assert play.counts(WHOLE, 240) == pytest.approx((2160, 2400), rel=0.07)
    assert play.asked <= 300 / 14


def test_increases_are_events_already() -> None:
    play = Play(Query(bad="sum(increase(bad[{{ window }}]))", total="sum(increase(all[{{ window }}]))"))
    play.run(300, rows(600.0, 60.0))
    assert play.counts(WHOLE, 240) == pytest.approx((2160, 2400), rel=0.07)


def test_a_share_without_events_counts_seconds() -> None:
    play = Play(Query(error_ratio="1 - avg(avg_over_time(up[{{ window }}]))"))
    play.run(300, {"ratio": [Row({}, 0.25)]})
    good, total = play.counts(WHOLE, 240)
    assert good / total == pytest.approx(0.75)
    assert total == pytest.approx(240, rel=0.07)


def test_labels_say_whose_events_they_are() -> None:
    play = Play()
    play.run(100, rows(10.0, 10.0, zone="zone-a"))
    assert play.counts(at("a"), 60)[1] > 0
    assert play.counts(at("b"), 60)[1] == 0
    assert play.counts(WHOLE, 60) == play.counts(at("a"), 60)
    play.book.evacuated = frozenset({"zone-a"})
    before = play.counts(WHOLE, 1000)
    play.run(100, rows(10.0, 10.0, zone="zone-a"))
    assert play.counts(WHOLE, 1000) == before
    assert play.counts(at("a"), 60)[1] > 0


def test_what_nobody_answered_is_not_made_up() -> None:
    play = Play()
    play.run(60, rows(10.0, 0.0))
    assert play.book.fresh(play.now) == {RATES.key}
    play.run(600, {"events": Unavailable("no"), "errors": Unavailable("no")})
    assert play.book.fresh(play.now) == frozenset()
    assert play.counts(WHOLE, 300) == (0.0, 0.0)
    play.run(20, rows(10.0, 0.0))
    assert play.counts(WHOLE, 300)[1] <= 10.0 * (RATES.resolution + 20)


def test_a_range_is_replayed_step_by_step() -> None:
    play = Play()
    assert set(play.book.texts(900.0).values()) == {
        text for text in (RATES.at(900).events, RATES.at(900).errors) if text
    }
    for step in range(1, 5):
        given = {f"{RATES.key}/{name}": found for name, found in rows(2.0, 1.0).items()}
        play.book.replay(given, 900.0 * step, 900.0)
        play.measures.store.commit(900.0 * step)
    assert play.counts(WHOLE, 1800) == (1800.0, 3600.0)


def test_a_query_that_is_no_longer_wanted_is_not_asked() -> None:
    play = Play()
    play.book.want([])
    assert play.book.due(100.0) == {}
    assert play.book.fresh(100.0) == frozenset()

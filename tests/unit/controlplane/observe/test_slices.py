"""Slices of time: each counts once when it is over, an empty one never, and history is not made now."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.measures import Ask
from controlplane.observe.slices import SliceBook
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.measured import Filled

WHOLE, REPLICA = Target("chat", "local"), at("a/a1/0")
TARGETS = [WHOLE, at("a"), at("b")]


def slo(**budgeting: Any) -> Slo:
    how = {"method": "timeslices", "slice": "20s", "sliceTarget": "90%", **budgeting}
    spec = {"service": "chat", "indicator": "canary", "target": "99%", "budgeting": how}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": spec})


class Play:
    def __init__(self, one: Slo) -> None:
        self.slo, self.filled, self.book = one, Filled(), SliceBook()

    def run(self, seconds: float, good: float, total: float = 10.0, *, kept: bool = True) -> None:
        for _ in range(round(seconds / 2)):
            self.filled.tick({("canary", "all", REPLICA): total, ("canary", "good", REPLICA): good})
            if kept:
                self.book.keep([self.slo], TARGETS, self.filled.measures, self.filled.at)

    def counts(self, target: Target, window: float = 60.0) -> tuple[float, float]:
        self.run(2, 0.0, 0.0)  # what was added belongs to the next commit
        ask = Ask(str(self.slo.spec.slices), target)
        found = self.filled.measures.counts([ask], [window])
        return float(found.good[0, 0]), float(found.total[0, 0])


def test_a_slice_is_bad_or_not_as_a_whole() -> None:
    play = Play(slo())
    play.run(20, 10.0)
    play.run(20, 8.0)
    play.run(20, 9.0)
    for target in (WHOLE, at("a")):
        assert play.counts(target) == (2.0, 3.0)
    assert play.counts(at("b")) == (0.0, 0.0)


def test_the_mean_of_shares_takes_each_slice_with_its_own() -> None:
    play = Play(slo(method="ratioTimeslices", sliceTarget=None))
    play.run(20, 10.0)
    play.run(20, 5.0, total=1000.0)
    good, total = play.counts(WHOLE)
    assert total == 2.0
    assert good == pytest.approx(1.005)


def test_an_empty_slice_is_none() -> None:
    play = Play(slo())
    play.run(20, 0.0, total=0.0)
    play.run(20, 10.0)
    assert play.counts(WHOLE) == (1.0, 1.0)


def test_what_was_before_the_loop_began_is_counted_in_its_own_time() -> None:
    play = Play(slo())
    play.run(60, 0.0, kept=False)
    play.run(2, 10.0)
    assert play.counts(WHOLE, 300.0)[1] == 3.0
    assert [play.counts(WHOLE, seconds)[1] for seconds in (34.0, 16.0, 4.0)] == [2.0, 1.0, 0.0]


def test_slices_that_ended_while_nobody_looked_are_counted_when_somebody_does() -> None:
    play = Play(slo())
    play.run(20, 10.0)
    play.run(40, 10.0, kept=False)
    play.run(2, 10.0)
    assert play.counts(WHOLE, 300.0) == (3.0, 3.0)

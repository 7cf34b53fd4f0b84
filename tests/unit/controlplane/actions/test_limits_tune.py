"""`limits.tune`: as many as are served in time, found by the objective itself; gone when nobody needs it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.actions.limits_tune import LimitsTune, TuneParameters
from controlplane.model.action import UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.signals import SignalsSnapshot, SignalState
from controlplane.model.target import Target
from tests.support.steps import StepDriver

ZONE = Target("chat", "local", "zone-a")
WINDOW = 6.0


@dataclass
class Zone:
    """A `SignalReader`: the zone serves ``capacity`` requests/s in time, and of more ever fewer."""

    step: StepDriver
    offered: float = 30.0
    capacity: float = 12.0
    known: bool = True
    window: float = WINDOW

    def latest(self, service: str) -> SignalsSnapshot | None:
        now = self.step.clock.now()
        limit = self.step.platform.admission(service).limits.get("zone-a", math.inf)
        let_in = min(self.offered, limit)
        share = 1.0 if let_in <= self.capacity else max(0.0, 1 - 2 * (let_in - self.capacity) / self.capacity)
        state = SignalState(
            good=share >= 0.95 if self.known else None,
            value=share,
            objective=0.95,
            samples=min(let_in, self.capacity) * self.window,
            since=now - timedelta(seconds=self.window),
            until=now,
        )
        return SignalsSnapshot(at=now, evaluated_at=now, signals={f"slo:ttft@{ZONE}": state})


def tune(**with_: Any) -> tuple[StepDriver, Zone]:
    step = StepDriver(LimitsTune(), zone="zone-a", slo="ttft", **with_)
    zone = Zone(step)
    for port, implementation in list(step.ports.items()):
        if implementation is step.signals:
            step.ports[port] = zone
    return step, zone


def limit(step: StepDriver) -> int | None:
    return step.platform.admission("chat").limits.get("zone-a")


def live(step: StepDriver, seconds: float) -> Any:
    """Let the step go on for so long; return how it ended, or None."""
    end = step.clock.monotonic() + seconds
    while step.clock.monotonic() < end:
        outcome = step.call()
        if not isinstance(outcome, Again):
            return outcome
        step.clock.advance(outcome.after)
    return None


@pytest.mark.parametrize("capacity", [3.0, 12.0, 40.0, 200.0])
def test_it_finds_what_a_zone_serves_in_time_and_stays_there(capacity: float) -> None:
    step, zone = tune()
    zone.capacity, zone.offered = capacity, 2.5 * capacity
    live(step, 120)
    seen = []
    for _ in range(120):
        live(step, 1)
        seen.append(limit(step))
    assert all(found is not None for found in seen)
    assert 0.85 * capacity <= sum(found or 0 for found in seen) / len(seen) <= 1.1 * capacity
    assert max(found or 0 for found in seen) <= 1.1 * capacity + 1


def test_it_follows_a_zone_that_becomes_slower_and_faster_again() -> None:
    step, zone = tune()
    live(step, 120)
    zone.capacity = 5.0
    live(step, 120)
    slow = limit(step)
    zone.capacity = 20.0
    live(step, 300)
    fast = limit(step)
    assert slow is not None
    assert fast is not None
    assert 4 <= slow <= 6
    assert 17 <= fast <= 23


@pytest.mark.parametrize("window", [6.0, 3600.0, 3 * 86400.0])
def test_the_first_limit_rests_on_whatever_the_window_of_the_objective_holds(window: float) -> None:
    step, zone = tune()
    zone.window = window
    live(step, 1)
    assert limit(step) == 12


def test_it_limits_nobody_while_the_objective_is_kept() -> None:
    step, zone = tune(settled="20s")
    zone.offered = 10.0
    outcome = step.run()
    assert outcome == Done({"limit": None, "before": None, "needed": False, "lowest": None, "highest": None})
    assert limit(step) is None


def test_a_time_that_is_over_before_anybody_was_limited_says_that_no_limit_was_needed() -> None:
    step, zone = tune(settled="60s", within="20s")
    zone.offered = 10.0
    outcome = step.run()
    assert isinstance(outcome, Done)
    assert (outcome.outputs["limit"], outcome.outputs["needed"]) == (None, False)


def test_it_takes_the_limit_away_when_it_has_held_nobody_back_for_long_enough() -> None:
    step, zone = tune(settled="30s")
    live(step, 60)
    assert limit(step) is not None
    zone.offered = 4.0
    outcome = step.run()
    assert isinstance(outcome, Done)
    assert (outcome.outputs["limit"], outcome.outputs["needed"]) == (None, False)
    assert outcome.outputs["lowest"] <= 12 <= outcome.outputs["highest"]
    assert limit(step) is None


def test_a_burst_between_begins_the_wait_anew() -> None:
    step, zone = tune(settled="30s")
    live(step, 60)
    zone.offered = 4.0
    assert live(step, 20) is None
    zone.offered = 30.0
    assert live(step, 10) is None
    zone.offered = 4.0
    assert live(step, 25) is None
    assert limit(step) is not None


def test_after_its_time_it_ends_with_the_limit_in_place() -> None:
    step, _ = tune(within="2m")
    outcome = step.run()
    assert isinstance(outcome, Done)
    assert (outcome.outputs["needed"], outcome.outputs["limit"]) == (True, limit(step))
    assert step.clock.monotonic() == pytest.approx(120, abs=2)


def test_its_bounds_hold() -> None:
    step, zone = tune(least=8, most=10)
    zone.capacity = 3.0
    live(step, 60)
    assert limit(step) == 8
    zone.capacity = 100.0
    live(step, 60)
    assert limit(step) == 10


def test_no_limit_is_judged_on_samples_from_before_it() -> None:
    step, _ = tune()
    live(step, 3)
    first = [record.at for record in step.platform.writes()]
    live(step, 60)
    times = [record.at for record in step.platform.writes()]
    assert len(first) == 1
    assert min((later - one).total_seconds() for one, later in pairwise(times)) >= WINDOW


def test_while_nobody_can_tell_the_limit_stays() -> None:
    step, zone = tune(settled="10s")
    live(step, 60)
    stands, zone.known = limit(step), False
    assert live(step, 120) is None
    assert limit(step) == stands


def test_an_objective_that_was_never_known_fails_and_says_so() -> None:
    step, zone = tune(within="30s")
    zone.known = False
    outcome = step.run()
    assert outcome == Failed(FailureKind.PERMANENT, "ttft was never known at zone-a within 30 s")
    assert step.platform.writes() == []


def test_a_limit_that_somebody_else_sets_is_left_alone_by_the_step_and_its_undo() -> None:
    step, _ = tune()
    live(step, 60)
    step.platform.set_limit(ZONE, 3, expected_version=None, by=None)
    outcome = live(step, 10)
    assert isinstance(outcome, Failed)
    assert "somebody else has set it" in outcome.message
    assert [result.status for result in step.undo()] == [UndoStatus.FOREIGN]
    assert limit(step) == 3


@pytest.mark.parametrize("before", [None, 25])
def test_undo_sets_what_stood_before_the_step(before: int | None) -> None:
    step, _ = tune()
    step.platform.set_limit(ZONE, before, expected_version=None, by=None)
    live(step, 90)
    assert limit(step) != before
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert limit(step) == before


@pytest.mark.parametrize("calls", range(12))
def test_a_crash_at_any_call_writes_each_limit_once(calls: int) -> None:
    quiet, _ = tune()
    crashed, _ = tune()
    for _ in range(calls):
        outcome = crashed.call()
        crashed.clock.advance(outcome.after if isinstance(outcome, Again) else 0.0)
    crashed.crash()
    live(quiet, 60)
    live(crashed, 60 - crashed.clock.monotonic())
    limits = [[record.after for record in step.platform.writes()] for step in (quiet, crashed)]
    assert limits[0] == limits[1]


def test_bounds_that_leave_no_room_are_refused() -> None:
    with pytest.raises(ValidationError, match="`least` is more than `most`"):
        TuneParameters.model_validate({"zone": "zone-a", "slo": "ttft", "least": 9, "most": 3})

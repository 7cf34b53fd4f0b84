"""Where an objective stands: the budget's numbers, by hand, and a quiet service that pages nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.decide import signals
from controlplane.decide.budgets import BudgetBook
from controlplane.decide.objectives import exhaustion, statuses
from controlplane.decide.plan import Plan
from controlplane.model.objectives import ObjectiveStatus
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.answers import Sorter
from controlplane.observe.library import CANARY
from controlplane.observe.measures import Measures
from controlplane.observe.slices import SliceBook
from controlplane.observe.windows import WindowStore
from tests.unit.controlplane.decide.fleet import AT, at
from tests.unit.controlplane.decide.measured import SERVICE

WHOLE, REPLICA = Target("chat", "local"), at("a/a1/0")
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def slo(target: str = "99.9%", window: Any = None, **more: Any) -> Slo:
    spec: dict[str, Any] = {"service": "chat", "indicator": "canary", "target": target, "by": ["service"]}
    spec |= {"window": window or {"rolling": "30d"}, **more}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": spec})


class World:
    """One objective, looked at each minute."""

    def __init__(self, one: Slo, start: datetime = AT) -> None:
        self.slo, self.store = one, WindowStore()
        self.sorter = Sorter(SERVICE, self.store)
        self.measures = Measures(SERVICE, self.store)
        self.book, self.slices, self.plan = BudgetBook(), SliceBook(), Plan([one], [WHOLE])
        self.at = start.timestamp()
        self.store.commit(self.at)
        self.seen: list[Verdict] = []

    def minute(self, total: float, bad: float = 0.0) -> Verdict:
        self.at += MINUTE
        for part, amount in (("all", total), ("good", total - bad)):
            self.store.add_each(self.sorter.rows("canary", part, REPLICA), amount)
        self.store.observe("canary", self.at - MINUTE, self.at)
        self.store.commit(self.at)
        self.slices.keep([self.slo], [WHOLE], self.measures, self.at)
        self.book.count([self.slo], WHOLE, self.measures, self.at)
        sight = signals.Sight(datetime.fromtimestamp(self.at, UTC), {CANARY}, replicas=[REPLICA])
        judged = signals.weigh(self.plan, self.measures, sight)
        found = [*judged.told, *judged.calm()]
        self.seen += found
        return found[0]

    def status(self) -> ObjectiveStatus:
        now = datetime.fromtimestamp(self.at, UTC)
        return statuses([self.slo], self.seen[-1:], self.measures, self.book, now)[0]


def test_one_failure_of_three_requests_an_hour_fires_nothing() -> None:
    world = World(slo(fast={"window": "1m", "below": "80%", "minSamples": 8}))
    for minute in range(26 * 60):
        world.minute(float(minute % 20 == 0), float(minute == 24 * 60))
    assert {verdict.tiers for verdict in world.seen} == {()}
    assert not any(verdict.bad for verdict in world.seen)


def test_a_total_outage_fires_at_once_and_spends_the_budget() -> None:
    world = World(slo(fast={"window": "1m", "below": "80%", "minSamples": 8}))
    for _ in range(60):
        world.minute(100.0)
    assert world.minute(100.0, 100.0).tiers[0] == "fast"
    for _ in range(59):
        world.minute(100.0, 100.0)
    status = world.status()
    assert status.state == "bad"
    assert status.budget_left == pytest.approx(1 - (60 / 120) * (2 * HOUR / (30 * DAY)) / 0.001, abs=0.05)
    assert status.burn_rate == pytest.approx(1000, rel=0.01)
    assert status.time_to_exhaustion == 0.0
    page = status.tiers[0]
    assert page.burn_long == pytest.approx(1000, rel=0.01)
    assert (page.fires, page.events, page.says) == (True, 6000.0, "fires")
    assert page.least_long < 1000


@pytest.mark.parametrize(
    ("events", "says"),
    [(1.0, "fewer than 10 events"), (100.0, "the long and the short window is under its factor")],
)
def test_a_tier_that_does_not_fire_says_why(events: float, says: str) -> None:
    world = World(slo(minEvents=10))
    for _ in range(5):
        world.minute(events)
    assert {tier.says for tier in world.status().tiers} == {says}


@pytest.mark.parametrize("bad", [0.0, 100.0])
def test_silence_is_unknown_fires_nothing_new_and_heals_nothing(bad: float) -> None:
    world = World(slo())
    for _ in range(60):
        before = world.minute(100.0, bad)
    for _ in range(6):
        last = world.minute(0.0)
    assert last.state.good is None
    assert set(last.tiers) <= set(before.tiers)
    assert last.bad == bool(bad)
    assert world.status().state == "unknown"


def test_a_calendar_windows_budget_begins_anew_at_midnight() -> None:
    evening = datetime(2026, 5, 31, 21, 0, tzinfo=UTC)  # 23:00 in Rome
    month = {"calendar": {"unit": "month", "timeZone": "Europe/Rome"}}
    world = World(slo("99%", month, tiers=[]), evening)
    for _ in range(60):
        world.minute(10.0, 10.0)
    spent = world.status()
    assert spent.budget_left == pytest.approx(1 - HOUR / (30 * DAY) / 0.01, abs=0.01)
    for _ in range(30):
        world.minute(10.0)
    status = world.status()
    assert status.window == "month, Europe/Rome"
    assert status.window_start == datetime(2026, 5, 31, 22, 0, tzinfo=UTC)
    assert status.budget_left == pytest.approx(1.0, abs=0.01)
    assert status.total == pytest.approx(300, abs=10)


def test_time_slices_count_bad_minutes_not_bad_events() -> None:
    how = {"method": "timeslices", "slice": "5m", "sliceTarget": "90%"}
    world = World(slo("90%", {"rolling": "1d"}, budgeting=how))
    for minute in range(120):
        world.minute(1000.0 if minute % 60 < 30 else 10.0, 0.0 if minute % 60 < 30 else 5.0)
    status = world.status()
    assert status.total == pytest.approx(23, abs=1)
    assert status.value == pytest.approx(0.5, abs=0.05)
    assert status.tiers[0].burn_long == pytest.approx(5.0, rel=0.1)


@pytest.mark.parametrize(
    ("left", "rate", "seconds"),
    [
        (0.5, 2.0, 0.25 * DAY),
        (1.0, 0.5, None),
        (0.5, 0.0, None),
        (None, 2.0, None),
        (-0.1, 0.0, 0.0),
        (0.5, None, None),
    ],
)
def test_a_budget_is_spent_when_its_rest_has_burned(
    left: float | None, rate: float | None, seconds: float | None
) -> None:
    assert exhaustion(left, rate, DAY, DAY) == seconds

"""A take-over: the shortest windows at once, all within a minute, as of one that was never interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from controlplane.decide import signals
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.slo import Slo
from controlplane.model.topology import Weights
from controlplane.observe.library import ENGINE
from controlplane.observe.measures import Ask
from controlplane.observe.observer import TICK, Observer
from controlplane.observe.past import pieces
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import shipped
from controlplane.observe.series import Row, Track
from controlplane.observe.slices import SliceBook
from controlplane.observe.windows import COARSE_STEP
from tests.unit.controlplane.decide.fleet import AT, ZONES, at, topology
from tests.unit.controlplane.decide.measured import SERVICE

REPLICA = at("a/a1/0")
LABELS = {"zone": "zone-a", "node": "node-a1", "replica": "replica-a1-0"}
FINISHED = "vllm:request_success_total"
WEIGHTS = Weights(version="1", weights=dict.fromkeys(ZONES, 100))
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
OUTAGES = ((-2 * DAY, -2 * DAY + 500.0, 5.0), (-50 * MINUTE - 77.0, -37 * MINUTE, 3.0), (-100.0, -70.0, 4.0))
"""From when, until when, and how many of ten requests a second failed; seconds from `AT`."""


def counted(moment: float) -> dict[str, float]:
    """Return how many requests had ended by then, since long ago, by how."""
    since = moment - AT.timestamp()
    bad = sum(rate * max(0.0, min(since, end) - begin) for begin, end, rate in OUTAGES if since > begin)
    return {"stop": 10.0 * (since + 10 * DAY) - bad, "abort": bad}


class Service:
    """A source that knows what happened at every moment; ``silent`` pieces of its past are not answered."""

    def __init__(self) -> None:
        self.silent = 0
        self.asked: list[tuple[float, float, float]] = []

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        found: dict[str, list[Row] | FleetwardError] = {}
        for name, text in queries.items():
            found[name] = []
            if FINISHED in text:
                values = counted(at.timestamp())
                found[name] = [
                    Row({**LABELS, "__name__": FINISHED, "finished_reason": how}, value)
                    for how, value in values.items()
                ]
        return found

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        self.asked.append((start.timestamp(), end.timestamp(), step))
        if self.silent > 0:
            self.silent -= 1
            return dict.fromkeys(queries, Unavailable("no answer"))
        found: dict[str, list[Track] | FleetwardError] = {}
        count = int((end - start).total_seconds() // step) + 1
        moments = [start.timestamp() + step * number for number in range(count)]
        for name, text in queries.items():
            found[name] = []
            if FINISHED in text and not text.startswith("count"):
                found[name] = [
                    Track(
                        {**LABELS, "__name__": FINISHED, "finished_reason": how},
                        tuple((moment, counted(moment)[how]) for moment in moments),
                    )
                    for how in ("stop", "abort")
                ]
        return found


def observer(source: Service, tick: float = TICK) -> Observer:
    return Observer(SERVICE, source, shipped(), ProbeBook(SERVICE.spec), tick=tick, lag=0.0)


def take_over(source: Service, now: datetime, *, tick: float = TICK) -> tuple[Observer, datetime, int]:
    """Return a new leader's observer when it is warm, the time, and the ticks that it took."""
    fresh, ticks = observer(source, tick), 0
    fresh.rebuild(now, topology(), WEIGHTS)
    while fresh.warming:
        now += timedelta(seconds=tick)
        fresh.catch_up()
        fresh.observe(now, topology(), WEIGHTS)
        ticks += 1
    return fresh, now, ticks


def share_and_total(of: Observer, window: float) -> tuple[float, float]:
    found = of.measures.counts([Ask("success", REPLICA)], [window])
    return float(found.good[0, 0] / found.total[0, 0]), float(found.total[0, 0])


def by_hand(until: datetime, window: float) -> tuple[float, float]:
    before, after = counted(until.timestamp() - window), counted(until.timestamp())
    total = sum(after.values()) - sum(before.values())
    return (after["stop"] - before["stop"]) / total, total


def test_the_shortest_windows_are_there_after_two_ticks() -> None:
    fresh, now = observer(Service()), AT
    fresh.rebuild(now, topology(), WEIGHTS)
    for _ in range(2):
        now += timedelta(seconds=TICK)
        fresh.observe(now, topology(), WEIGHTS)
    for window in (6.0, 30.0, 60.0):
        assert share_and_total(fresh, window) == pytest.approx(by_hand(now, window), rel=1e-3)


def test_all_windows_are_there_within_a_minute() -> None:
    fresh, now, ticks = take_over(Service(), AT + timedelta(seconds=5.3))
    assert ticks * TICK <= MINUTE
    for window in (30.0, 300.0, 1800.0, HOUR, 2 * HOUR, 6 * HOUR, DAY, 3 * DAY):
        assert share_and_total(fresh, window) == pytest.approx(by_hand(now, window), rel=1e-3), window
        assert fresh.measures.observed([Ask("success", REPLICA)], [window])[0, 0] == pytest.approx(
            window, rel=1e-3
        )


def test_one_that_took_over_and_one_that_was_never_interrupted_agree() -> None:
    """With a tick of ten seconds, so that the windows of the uninterrupted one reach two hours back."""
    tick, source = 10.0, Service()
    never, now = observer(source, tick), AT - timedelta(hours=2, seconds=3)
    while now < AT:
        never.observe(now, topology(), WEIGHTS)
        now += timedelta(seconds=tick)
    fresh, now, _ = take_over(source, now, tick=tick)
    moment = now - timedelta(seconds=tick)
    while moment > AT + timedelta(seconds=tick):
        moment -= timedelta(seconds=tick)
    while moment <= now:
        never.observe(moment, topology(), WEIGHTS)
        moment += timedelta(seconds=tick)
    never.observe(now + timedelta(seconds=1), topology(), WEIGHTS)
    fresh.observe(now + timedelta(seconds=1), topology(), WEIGHTS)
    for window in (30.0, 300.0, 1800.0, HOUR, 5400.0):
        assert share_and_total(fresh, window) == pytest.approx(share_and_total(never, window), rel=1e-3), (
            window
        )


def test_cells_lie_at_multiples_of_their_step_whoever_reads_them() -> None:
    found = [piece for late in (0.0, 77.0, 250.0) for piece in pieces(AT.timestamp() + late, TICK)]
    edges = [edge for piece in found if piece.step == COARSE_STEP for edge in (piece.first, piece.last)]
    assert {edge % COARSE_STEP for edge in edges} == {0.0}
    assert {piece.step for piece in found} == {COARSE_STEP, TICK}


def test_a_piece_that_is_not_answered_is_asked_for_once_more_and_is_a_hole_then() -> None:
    source = Service()
    fresh = observer(source)
    fresh.rebuild(AT, topology(), WEIGHTS)
    fresh.observe(AT + timedelta(seconds=TICK), topology(), WEIGHTS)
    source.silent = 1
    fresh.catch_up()
    fresh.catch_up()
    assert source.asked[-1] == source.asked[-2]
    source.silent = 2
    while fresh.warming:
        fresh.catch_up()
    seen = float(fresh.measures.observed([Ask("success", REPLICA)], [3 * DAY])[0, 0])
    assert 3 * DAY - 5 * HOUR < seen < 3 * DAY - 3 * HOUR


def test_slices_of_the_past_lie_where_they_were() -> None:
    how = {"method": "timeslices", "slice": "5m", "sliceTarget": "90%"}
    spec = {"service": "chat", "indicator": "success", "target": "99%", "by": ["replica"], "budgeting": how}
    slo = Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": spec})
    source, slices = Service(), SliceBook()
    fresh, now = observer(source), AT
    fresh.want([slo])
    fresh.rebuild(now, topology(), WEIGHTS)
    while fresh.warming:
        now += timedelta(seconds=TICK)
        fresh.catch_up()
        fresh.observe(now, topology(), WEIGHTS)
    slices.keep([slo], [SERVICE.target, REPLICA], fresh.measures, now.timestamp())
    asks = [Ask(str(slo.spec.slices), REPLICA)]
    found = fresh.measures.counts(asks, [30 * MINUTE, 90 * MINUTE, DAY])
    assert (found.total - found.good)[0].tolist() == [0.0, 3.0, 3.0]
    assert found.total[0].tolist() == pytest.approx([6, 18, 288], abs=1)


def test_while_it_is_warming_nothing_fires_that_is_not_so() -> None:
    """What was bad an hour ago is charged when it is known; what is not known is charged to nobody."""
    spec = {"service": "chat", "indicator": "success", "target": "99%", "by": ["replica"]}
    slo = Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": spec})
    fresh, now = observer(Service()), AT + timedelta(hours=1)
    fresh.rebuild(now, topology(), WEIGHTS)
    told = []
    while fresh.warming:
        now += timedelta(seconds=TICK)
        fresh.catch_up()
        fresh.observe(now, topology(), WEIGHTS)
        sight = signals.Sight(now, {ENGINE})
        told += [
            each.tiers for each in signals.judge([slo], [SERVICE.target, REPLICA], fresh.measures, sight)
        ]
    assert set(told[:-1]) == {()}

"""What starts again, ends or falls silent within cells of the past is read as if somebody had looked on."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import pytest

from controlplane.model.target import Target
from controlplane.model.topology import Weights
from controlplane.observe import past
from controlplane.observe.doubts import MANY, suspects
from controlplane.observe.measures import Ask
from controlplane.observe.observer import Observer
from controlplane.observe.past import LOOKS
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import queries, shipped
from tests.unit.controlplane.decide.fleet import AT, ZONES, topology
from tests.unit.controlplane.decide.measured import SERVICE
from tests.unit.controlplane.observe.recorded import Engine, Recorded, Span

WEIGHTS = Weights(version="1", weights=dict.fromkeys(ZONES, 100))
TICK, CELL, MINUTE, HOUR = 10.0, 300.0, 60.0, 3600.0
REPLICAS = [target for target, _ in topology().replicas()]
WINDOWS = (300.0, 1800.0, HOUR, 1.5 * HOUR)
BEGIN = -1.75 * HOUR
"""When the evaluator that is never interrupted starts, in seconds after `AT`."""
EARLY = -4500.0
"""The beginning of a cell."""


def gap(begin: float, minutes: float) -> tuple[Span]:
    return ((begin, begin + minutes * MINUTE),)


TOLD = {
    "steady": Engine(),
    "starts again": Engine(starts=(EARLY + 103,)),
    "starts again unseen": Engine(starts=(EARLY + 103, EARLY + 353, EARLY + 1507, EARLY + 1713)),
    "starts again twice in a cell": Engine(starts=(EARLY + 53, EARLY + 203), fails_after=20.0),
    "silent for a minute": Engine(away=gap(EARLY + 271, 1)),
    "silent for four": Engine(away=gap(EARLY + 171, 4)),
    "silent for five": Engine(away=gap(EARLY + 17, 5)),
    "silent for seven": Engine(away=gap(EARLY + 171, 7)),
    "silent for nine": Engine(away=gap(EARLY + 11, 9)),
    "silent for twelve, as another": Engine(starts=(EARLY + 700,), away=gap(EARLY + 151, 12)),
    "there for moments": Engine(
        starts=tuple(EARLY + 250.0 * turn for turn in range(-100, 9)),
        away=tuple((EARLY + 250 * turn + 93, EARLY + 250 * turn + 234) for turn in range(8)),
        fails_after=40.0,
    ),
    "fails late": Engine(starts=(EARLY + 31, EARLY + 2000), fails_after=137.0),
}
STORIES = dict(zip(REPLICAS, TOLD.values(), strict=True))
WHO = dict(zip(REPLICAS, TOLD, strict=True))


def any_engine(chance: random.Random) -> Engine:
    """Return an engine to which anything may have happened, anywhere in the cells."""
    starts = [chance.uniform(BEGIN, -100) for _ in range(chance.choice((0, 1, 2, 6)))]
    away: list[Span] = []
    for _ in range(chance.choice((0, 1, 2, 4))):
        away += gap(chance.uniform(BEGIN, -100), chance.choice((1, 4, 7, 9, 12)))
    return Engine(tuple(starts), tuple(away), chance.choice((math.inf, 15.0, 200.0)))


def observer(source: Recorded) -> Observer:
    return Observer(SERVICE, source, shipped(), ProbeBook(SERVICE.spec), tick=TICK, lag=0.0)


def both(source: Recorded) -> tuple[Observer, Observer, int]:
    """Return an evaluator that was never interrupted, one that took over, and the ticks that it took."""
    never, now = observer(source), AT + timedelta(seconds=BEGIN)
    while now < AT:
        never.observe(now, topology(), WEIGHTS)
        now += timedelta(seconds=TICK)
    fresh, ticks = observer(source), 0
    fresh.rebuild(now, topology(), WEIGHTS)
    while fresh.warming or ticks == 0:
        fresh.catch_up()
        for each in (never, fresh):
            each.observe(now, topology(), WEIGHTS)
        now += timedelta(seconds=TICK)
        ticks += 1
    return never, fresh, ticks


def seen(by: Observer, target: Target) -> list[tuple[float, float, float]]:
    asks = [Ask("success", target)]
    counted, read = by.measures.counts(asks, WINDOWS), by.measures.observed(asks, WINDOWS)
    return list(zip(counted.good[0].tolist(), counted.total[0].tolist(), read[0].tolist(), strict=True))


def apart(source: Recorded, names: dict[Target, str]) -> dict[tuple[str, float], tuple[object, object]]:
    """Return where the two differ by more than one in a thousand."""
    never, fresh, ticks = both(source)
    assert ticks <= 21 + LOOKS
    found: dict[tuple[str, float], tuple[object, object]] = {}
    for target in (*REPLICAS, SERVICE.target):
        for window, one, other in zip(WINDOWS, seen(never, target), seen(fresh, target), strict=True):
            if other != pytest.approx(one, rel=1e-3, abs=1e-6):
                found[names.get(target, str(target)), window] = (one, other)
    return found


def recorded(engines: dict[Target, Engine], *dark: Span) -> Recorded:
    return Recorded(engines, AT.timestamp(), (BEGIN - HOUR, HOUR), TICK, dark)


def test_one_that_took_over_knows_what_happened_within_the_cells() -> None:
    assert apart(recorded(STORIES), WHO) == {}


@pytest.mark.parametrize("minutes", [1, 4, 5, 7, 9, 12])
def test_what_nobody_scraped_is_the_same_hole(minutes: float) -> None:
    source = recorded({REPLICAS[0]: STORIES[REPLICAS[1]]}, *gap(EARLY + 171, minutes))
    assert apart(source, WHO) == {}


def taken_over(source: Recorded) -> int:
    """Return how many points were asked for until all windows were there."""
    fresh, ticks = observer(source), 0
    fresh.rebuild(AT, topology(), WEIGHTS)
    while fresh.warming:
        fresh.observe(AT + timedelta(seconds=TICK * ticks), topology(), WEIGHTS)
        fresh.catch_up()
        ticks += 1
    assert ticks <= 21 + LOOKS
    return source.points


def test_only_those_concerned_are_looked_at_and_only_in_their_cells() -> None:
    steady = taken_over(recorded(dict.fromkeys(REPLICAS, Engine())))
    once = {**dict.fromkeys(REPLICAS, Engine()), REPLICAS[3]: Engine(starts=(EARLY + 100,))}
    looked = taken_over(recorded(once)) - steady
    assert 0 < looked <= 3 * 2 * CELL / TICK


def test_with_too_much_in_doubt_the_windows_are_there_in_time_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(past, "LEAST", 1)
    monkeypatch.setattr(past, "LOOKS", 2)
    always = Engine(starts=tuple(BEGIN - HOUR + 170.0 * turn for turn in range(60)))
    few = taken_over(recorded(dict.fromkeys(REPLICAS, always)))
    monkeypatch.setattr(past, "LEAST", 1_000_000)
    assert few < taken_over(recorded(dict.fromkeys(REPLICAS, always)))


def test_of_a_histogram_its_count_tells_and_every_name_is_asked_alone() -> None:
    (engine, *_) = suspects(queries(shipped()["vllm"], SERVICE), SERVICE)
    text = engine.text(306.0)
    assert "_bucket" not in text
    assert 'resets({service="chat", __name__="vllm:e2e_request_latency_seconds_count"}[306s]) > 0' in text
    assert text.startswith("count by (zone, node, replica) (resets(")


def test_names_are_told_literally_and_many_are_not_told_apart() -> None:
    (engine, *_) = suspects(queries(shipped()["vllm"], SERVICE), SERVICE)
    few, many = engine.narrowed({"a.b"}), engine.narrowed({str(number) for number in range(MANY + 1)})
    assert all('replica=~"a\\\\.b"' in few[query.name] for query in engine.queries)
    assert {name: text for name, text in many.items() if "replica=~" in text} == {}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_within_the_cells(seed: int) -> None:
    chance = random.Random(seed)
    source = recorded({target: any_engine(chance) for target in REPLICAS})
    assert apart(source, {}) == {}

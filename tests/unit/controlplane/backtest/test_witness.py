"""What a witness keeps: each time without sight, and each time that something was near to firing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controlplane.backtest.witness import Gap, NearMiss, Witness
from controlplane.model.records import Incident
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.states import IncidentState
from controlplane.model.target import Signal, Target

START = datetime(2026, 3, 1, tzinfo=UTC)
AT = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
GPU, ABOVE, BELOW = (
    Signal("gpu", "xid-31", AT),
    Signal("threshold", "queue>20", AT),
    Signal("threshold", "goodput<5", AT),
)


def said(signal: Signal, value: float, objective: float, *, bad: bool, blind: bool = False) -> Verdict:
    state = SignalState(
        good=None if blind else not bad, value=value, objective=objective, samples=9, since=START, until=START
    )
    return Verdict(signal, state, tiers=("threshold",) if bad else (), blind=blind)


def look(
    witness: Witness,
    second: float,
    *verdicts: Verdict,
    incidents: Sequence[Incident] = (),
    engine: str = "fresh",
) -> None:
    sources = (SimpleNamespace(name="engine", state=engine, detail=""),)
    concluded = SimpleNamespace(every=lambda: list(verdicts), slos=(), sources=sources)
    witness.see(cast("Any", concluded), incidents, START + timedelta(seconds=second))


def witnessed() -> Witness:
    return Witness(cast("Any", None))


def times(found: Sequence[NearMiss | Gap]) -> list[tuple[float, float]]:
    return sorted(
        ((each.since - START).total_seconds(), (each.until - START).total_seconds()) for each in found
    )


@pytest.mark.parametrize(
    "between",
    [
        pytest.param((), id="nothing is measured of it"),
        pytest.param((said(GPU, 0.0, 0.0, bad=False),), id="it is well"),
        pytest.param((said(GPU, 0.0, 0.0, bad=False, blind=True),), id="nobody can tell"),
    ],
)
def test_what_was_near_twice_is_told_twice(between: tuple[Verdict, ...]) -> None:
    witness = witnessed()
    look(witness, 0, said(GPU, 1.0, 0.0, bad=True))
    for minute in range(1, 60):
        look(witness, 60 * minute, *between)
    look(witness, 3600, said(GPU, 1.0, 0.0, bad=True))
    assert times(witness.close()) == [(0, 0), (3600, 3600)]


def test_one_that_fired_once_hides_none_that_came_near_an_hour_later() -> None:
    fired = Incident(
        id="inc-1",
        signal=str(GPU),
        service="chat",
        target=str(AT),
        state=IncidentState.FIRING,
        title="xid-31",
        opened_at=START,
        fired_at=START,
        changed_at=START,
    )
    witness = witnessed()
    look(witness, 0, said(GPU, 1.0, 0.0, bad=True), incidents=[fired])
    for minute in range(1, 60):
        look(witness, 60 * minute)
    look(witness, 3600, said(GPU, 1.0, 0.0, bad=True))
    assert times(witness.close()) == [(3600, 3600)]


@pytest.mark.parametrize(
    ("signal", "value", "objective", "bad", "near"),
    [
        (ABOVE, 18.0, 20.0, False, True),
        (ABOVE, 10.0, 20.0, False, False),
        (Signal("threshold", "errors>0", AT), 3.0, 0.0, True, True),
        (Signal("threshold", "errors>0", AT), 0.0, 0.0, False, False),
        (BELOW, 6.0, 5.0, False, True),
        (BELOW, 20.0, 5.0, False, False),
        (BELOW, 0.0, 5.0, True, True),
        (Signal("threshold", "roi<0", AT), -2.0, 0.0, True, True),
        (Signal("threshold", "roi<0", AT), 1.0, 0.0, False, False),
    ],
)
def test_a_threshold_is_near_from_three_quarters_on_and_wherever_it_is_passed(
    signal: Signal, value: float, objective: float, bad: bool, near: bool
) -> None:
    witness = witnessed()
    look(witness, 0, said(signal, value, objective, bad=bad))
    assert bool(witness.close()) is near


@pytest.mark.parametrize("dark", [1, 2, 7])
def test_times_without_sight_are_as_long_as_the_looks_that_had_none(dark: int) -> None:
    witness = witnessed()
    for number in range(20):
        look(witness, 30 * number, engine="lost" if 5 <= number < 5 + dark else "fresh")
    (gap,) = witness.gaps
    assert (gap.until - gap.since).total_seconds() == 30 * dark == 30 * (witness.ticks - witness.seen)


def test_two_times_without_sight_are_two_and_one_that_lasts_ends_with_the_last_look() -> None:
    witness = witnessed()
    for number, state in enumerate(["lost", "fresh", "fresh", "stale", "lost"]):
        look(witness, 30 * number, engine=state)
    found = [
        ((gap.since - START).total_seconds(), (gap.until - START).total_seconds()) for gap in witness.gaps
    ]
    assert found == [(0, 30), (90, 120)]

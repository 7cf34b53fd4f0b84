"""Schedules: every due time is decided on once, in order, whatever pauses lie between the looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from controlplane.kernel.cron import Cron
from controlplane.model.service import Service
from controlplane.model.triggers.schedule import ScheduleTrigger
from tests.unit.controlplane.decide.fleet import at

FOUR = datetime(2026, 3, 2, 4, tzinfo=UTC)
SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {"model": "m", "zones": [{"name": "zone-a"}, {"name": "zone-b"}]},
    }
)


def schedule(**spec: Any) -> ScheduleTrigger:
    return ScheduleTrigger.model_validate({"type": "schedule", "cron": "0 4 * * *", **spec})


def test_a_time_is_due_once_it_has_come_and_until_it_is_decided_on() -> None:
    trigger, before = schedule(), FOUR - timedelta(hours=1)
    assert trigger.due(FOUR - timedelta(seconds=1), before) is None
    due = trigger.due(FOUR + timedelta(seconds=2), before)
    assert due is not None
    assert (due.at, due.late, due.lapsed) == (FOUR, 2.0, False)
    assert trigger.due(FOUR + timedelta(seconds=4), FOUR) is None


@pytest.mark.parametrize(("missed", "lapsed"), [("skip", True), ("runOnce", False)])
def test_what_is_later_than_its_deadline_lapses_unless_it_is_to_be_made_up_for(
    missed: str, lapsed: bool
) -> None:
    trigger = schedule(startingDeadline="10m", missed=missed)
    in_time, late = (trigger.due(FOUR + timedelta(seconds=s), FOUR - timedelta(days=3)) for s in (600, 601))
    assert in_time is not None
    assert late is not None
    assert (in_time.lapsed, late.lapsed) == (False, lapsed)
    assert late.at == FOUR


def test_it_is_for_the_service_or_for_each_zone() -> None:
    assert list(schedule().places(SERVICE)) == [SERVICE.target]
    assert list(schedule(by="zone").places(SERVICE)) == [at("a"), at("b")]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"cron": "0 4 * *"}, "4 fields"),
        ({"timeZone": "Europe/Roma"}, "unknown time zone"),
        ({"missed": "always"}, "skip"),
        ({"by": "node"}, "service"),
    ],
)
def test_what_is_no_schedule_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        schedule(**spec)


@given(
    cron=st.sampled_from(["*/5 * * * *", "30 2 * * *", "0 */2 * * 0,6"]),
    zone=st.sampled_from(["UTC", "Europe/Rome", "Australia/Lord_Howe"]),
    start=st.integers(0, 400 * 24 * 60),
    gaps=st.lists(st.floats(1, 200_000), min_size=1, max_size=15),
    missed=st.sampled_from(["skip", "runOnce"]),
    blocked=st.sets(st.integers(0, 14)),
)
def test_no_due_time_is_decided_on_twice_or_passed_over_in_silence(
    cron: str, zone: str, start: int, gaps: list[float], missed: str, blocked: set[int]
) -> None:
    """Looks at any times; at some of them guards stand in the way. What was decided only ever rises."""
    trigger = schedule(cron=cron, timeZone=zone, startingDeadline="10m", missed=missed)
    now = decided = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=start)
    times = Cron(cron, zone)
    for index, gap in enumerate(gaps):
        now += timedelta(seconds=gap)
        due = trigger.due(now, decided)
        upcoming = times.next(decided)
        assert (due is not None) == (upcoming is not None and upcoming <= now)
        if due is None:
            continue
        assert decided < due.at <= now
        assert due.at == times.latest(now)
        assert due.lapsed == (missed == "skip" and (now - due.at).total_seconds() > 600)
        if due.lapsed or index not in blocked:
            decided = due.at
            assert trigger.due(now, decided) is None

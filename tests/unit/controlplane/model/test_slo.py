"""SLOs: windows of the calendar, queries as indicators, budgeting; what is refused, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.model.documents import load_bundle, revision_hash
from controlplane.model.query import Query, promql_duration
from controlplane.model.slo import Slo
from controlplane.model.slo_window import Calendar, Window

TOTAL = 'sum(rate(shop_total{code=~"2..|5.."}[{{ window }}]))'
BAD = 'sum(rate(shop_total{code=~"5.."}[{{ window }}]))'


def slo(**spec: Any) -> Slo:
    values = {"service": "shop", "indicator": {"bad": BAD, "total": TOTAL}, "target": "99.9%", **spec}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "shop"}, "spec": values})


def message(**spec: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        slo(**spec)
    return str(raised.value)


@pytest.mark.parametrize(
    ("unit", "now", "start", "end"),
    [
        ("day", "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00"),  # the clock jumps: 23 hours
        ("week", "2026-11-29T22:59", "2026-11-22T23:00", "2026-11-29T23:00"),
        ("month", "2026-12-31T22:59", "2026-11-30T23:00", "2026-12-31T23:00"),
        ("quarter", "2026-11-30T12:00", "2026-09-30T22:00", "2026-12-31T23:00"),
        ("year", "2026-07-01T00:00", "2025-12-31T23:00", "2026-12-31T23:00"),
    ],
)
def test_a_calendar_window_begins_at_somebodys_midnight(unit: str, now: str, start: str, end: str) -> None:
    calendar = Calendar.model_validate({"unit": unit, "timeZone": "Europe/Rome"})
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert [each.replace(tzinfo=None) for each in calendar.bounds(at)] == [
        datetime.fromisoformat(start),
        datetime.fromisoformat(end),
    ]


def test_a_window_rolls_for_thirty_days_unless_it_says_otherwise() -> None:
    month = Window.model_validate({"calendar": {"unit": "month"}})
    assert (slo().spec.window.length, month.length, month.rolling) == (30 * 86400, 30 * 86400, None)
    assert month.start(datetime(2026, 5, 9, tzinfo=UTC)) == datetime(2026, 5, 1, tzinfo=UTC)
    for window in (slo().spec.window, month):
        assert Window.model_validate(window.model_dump(mode="json", by_alias=True)) == window
    assert "either `rolling` or `calendar`" in message(window={"rolling": "7d", "calendar": {"unit": "week"}})
    assert "unknown time zone" in message(window={"calendar": {"unit": "week", "timeZone": "Mars/Olympus"}})


@pytest.mark.parametrize(
    ("indicator", "said"),
    [
        ({"total": TOTAL}, "`total` and one of `good` and `bad`"),
        ({"total": TOTAL, "bad": BAD, "good": BAD}, "`total` and one of `good` and `bad`"),
        ({"errorRatio": BAD, "total": TOTAL}, "stands alone"),
        ({"errorRatio": "vector(0)"}, "no `{{ window }}`"),
        ({"errorRatio": "rate(x[{{ windw }}])"}, "windw"),
        ({"errorRatio": "sum(rate(x[{{ window }}])"}, "`(` that nothing closes"),
        ({"errorRatio": 'rate(x{a="}"}[{{ window }}]))'}, "`)` that closes nothing"),
    ],
)
def test_a_query_that_cannot_be_right_is_refused(indicator: dict[str, str], said: str) -> None:
    assert said in message(indicator=indicator)


def test_a_query_is_asked_at_any_window_and_survives_the_store() -> None:
    one = slo()
    asked = Query(bad=BAD, total=TOTAL).at(300)
    assert asked.events == 'sum(rate(shop_total{code=~"2..|5.."}[5m]))'
    assert asked.scale == 300
    assert (
        Query(bad=BAD.replace("rate(", "increase("), total=TOTAL.replace("rate(", "increase(")).scale(9) == 1
    )
    assert one.spec.measure != slo(indicator={"bad": TOTAL, "total": TOTAL}).spec.measure
    again = Slo.model_validate(one.model_dump(mode="json", by_alias=True))
    assert revision_hash(again) == revision_hash(one)


def test_a_misspelt_part_of_a_query_is_told_with_its_place() -> None:
    text = (
        "apiVersion: fleetward.dev/v1\nkind: SLO\nmetadata: {name: s}\nspec:\n  service: shop\n"
        f"  target: 99%\n  indicator:\n    bad: {BAD}\n    totl: {TOTAL}\n"
    )
    problem = next(each for each in load_bundle([("f.yaml", text)]).problems if "totl" in each.message)
    assert (problem.line, problem.column, problem.suggestion) == (9, 5, "did you mean `total`?")


def test_slices_have_a_target_and_nothing_else_has_one() -> None:
    assert "sliceTarget" in message(budgeting={"method": "timeslices"})
    assert "sliceTarget" in message(budgeting={"sliceTarget": "99%"})
    assert "resolution" in message(fast={"window": "30s", "below": "50%"})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(300, "5m"), (5400, "1h30m"), (86400, "1d"), (28 * 86400, "4w"), (30 * 86400, "30d"), (1.5, "1s500ms")],
)
def test_durations_are_written_as_prometheus_does(seconds: float, text: str) -> None:
    assert promql_duration(seconds) == text

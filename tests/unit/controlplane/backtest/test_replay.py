"""A span of the past: each outage that was planted is found, answered and explained, and nothing else is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.backtest.report import Report
from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.states import IncidentState
from tests.support.backtest_documents import DOCUMENTS
from tests.support.recorded_fleet import BEGIN, Planted
from tests.unit.controlplane.backtest.conftest import MINUTE, REPLICA, about, at, play, shelf

OUTAGE = Planted("outage", at("zone-b"), 6 * MINUTE, 3 * MINUTE)
HANG = Planted("hang", REPLICA, 16 * MINUTE, 3 * MINUTE)
GAP = Planted("gap", at(), 26 * MINUTE, 9 * MINUTE)
SPIKE = Planted("spike", REPLICA, 40 * MINUTE, 30)


@pytest.fixture(scope="module")
def report() -> Report:
    return play(shelf(45, [OUTAGE, HANG, GAP, SPIKE]))


def test_what_was_planted_is_found_and_nothing_else(report: Report) -> None:
    found = {each.target for each in report.incidents} - {"chat/local"}
    assert found == {str(OUTAGE.target), str(HANG.target)}
    for each in report.incidents:
        cause = HANG if each.target == str(HANG.target) else OUTAGE
        began = from_unix(BEGIN + cause.at)
        assert began < each.opened_at <= each.fired_at <= began + timedelta(minutes=2)


def test_an_incident_tells_its_course_and_its_worst_value(report: Report) -> None:
    (outage,) = about(report, OUTAGE.target)
    assert [move.state for move in outage.moves] == [
        IncidentState.PENDING,
        IncidentState.FIRING,
        IncidentState.RESOLVED,
    ]
    assert (outage.signal, outage.tier, outage.worst) == ("slo:chat-success@chat/local/zone-b", "fast", 0.0)
    assert "bad at 2 ticks" in outage.moves[1].message
    assert outage.resolved_at is not None


def test_the_playbook_that_would_have_been_started_is_named_with_its_plan(report: Report) -> None:
    (outage,), (hang,) = about(report, OUTAGE.target), about(report, HANG.target)
    (failover,), (restart,) = outage.answers, hang.answers
    assert (failover.playbook, failover.outcome, failover.target) == (
        "zone-failover",
        "run",
        str(OUTAGE.target),
    )
    assert failover.against == ()
    assert failover.values["tier"] == "fast"
    (change,) = failover.plan[0].changes
    assert (change.field, change.before, change.after) == ("weight", 100, 0)
    assert (restart.playbook, restart.plan[0].touches[0].target) == ("hung-replica", str(REPLICA))


def test_a_time_without_samples_is_no_outage_and_is_told(report: Report) -> None:
    engine = next(gap for gap in report.services[0].dark if gap.source == "engine")
    began = from_unix(BEGIN + GAP.at)
    assert began < engine.since < engine.until <= began + timedelta(seconds=GAP.lasted + 30)
    assert report.services[0].observed < 1


def test_the_scrape_interval_is_found_and_is_the_tick(report: Report) -> None:
    seen = report.services[0]
    assert (seen.interval, seen.tick, seen.ticks, seen.replicas) == (30.0, 30.0, 90, 6)
    assert seen.weights == "assumed"


def test_what_is_not_as_it_would_have_been_is_said(report: Report) -> None:
    told = " ".join(report.notes)
    assert "what followed is as recorded" in told
    assert "chat-ttft are shorter than two scrapes, and were judged over 1m" in told
    assert "weights of chat are not recorded" in told
    assert "alert triggers" not in told


def test_a_second_zone_is_refused_while_the_first_would_be_out() -> None:
    both = [OUTAGE, Planted("gray", at("zone-c"), 7 * MINUTE, 3 * MINUTE)]
    found = about(play(shelf(13, both)), at("zone-c"))
    answers = [answer for each in found for answer in each.answers]
    assert [answer.outcome for answer in answers] == ["refused", "queued", "run"]  # as zone-b comes back
    assert [guard.guard for answer in answers for guard in answer.against] == ["blastRadius"] * 2
    assert "2 of 3 zones would be out of service" in answers[0].why


def test_the_mode_of_the_policy_counts_and_can_be_another() -> None:
    recorded = shelf(11, [OUTAGE])
    watched = play(recorded, DOCUMENTS.replace("mode: auto", "mode: observe"))
    assert {answer.outcome for each in watched.incidents for answer in each.answers} == {"observed"}
    acted = play(recorded, DOCUMENTS.replace("mode: auto", "mode: observe"), mode="auto")
    assert {answer.outcome for each in acted.incidents for answer in each.answers} == {"run"}


def test_a_playbook_that_is_not_for_the_case_says_so() -> None:
    elsewhere = DOCUMENTS.replace(
        "when: incident.zone in service.zones and", "when: incident.zone is none and"
    )
    (outage,) = about(play(shelf(11, [OUTAGE]), elsewhere), OUTAGE.target)
    assert {answer.outcome for answer in outage.answers} == {"notMatched"}
    assert outage.answers[0].why.endswith("is false")


def test_what_nearly_fired_is_told_with_what_was_missing() -> None:
    slow = Planted("gray", at("zone-c"), 6 * MINUTE, 30)
    strict = DOCUMENTS.replace("below: 60%, minSamples: 100", "below: 70%, minSamples: 100")
    report = play(shelf(11, [slow]), strict)
    assert report.incidents == ()
    (missed,) = [each for each in report.nearly if each.target == "chat/local/zone-c"]
    assert (missed.way, missed.needed) == ("fast", 0.7)
    assert 0.75 <= missed.reached < 1
    assert missed.value is not None
    assert missed.value > 0.7


def test_a_schedule_is_kept_by_the_clock_of_the_past() -> None:
    timed = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: nightly}
spec:
  triggers: [{type: schedule, cron: "5 0 * * *", timeZone: UTC}]
  steps: [{id: tell, uses: notify.send, with: {channel: oncall, title: night}}]
"""
    (answer,) = play(shelf(10), DOCUMENTS + timed).scheduled
    assert (answer.playbook, answer.outcome) == ("nightly", "run")
    assert from_unix(BEGIN + 300) <= answer.at <= from_unix(BEGIN + 360)


def test_of_many_runs_at_one_tick_each_has_its_plan() -> None:
    timed = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: nightly-NUMBER}
spec:
  triggers: [{type: schedule, cron: "2 0 * * *", timeZone: UTC}]
  steps: [{id: tell, uses: notify.send, with: {channel: oncall, title: night}}]
"""
    many = [timed.replace("NUMBER", str(number)) for number in range(25)]
    answers = play(shelf(4), DOCUMENTS + "".join(many)).scheduled
    assert [answer.outcome for answer in answers] == ["run"] * 25
    assert [[step.id for step in answer.plan] for answer in answers] == [["tell"]] * 25


def test_an_alert_of_prometheus_starts_what_waits_for_it() -> None:
    paged = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: paged}
spec:
  triggers: [{type: alert, match: ['alertname="TargetDown"', 'zone="zone-c"']}]
  steps: [{id: tell, uses: notify.send, with: {channel: oncall, title: down}}]
"""
    recorded = shelf(12)
    recorded.fleet.alert("TargetDown", Planted("spike", at(), 3 * MINUTE, 2 * MINUTE), zone="zone-c")
    report = play(recorded, DOCUMENTS + paged)
    (incident,) = report.incidents
    assert (incident.target, incident.signal) == ("chat/local/zone-c", "alert:TargetDown@chat/local/zone-c")
    assert [(answer.playbook, answer.outcome) for answer in incident.answers] == [("paged", "run")]
    assert any("alert triggers of paged go by Prometheus' own ALERTS" in note for note in report.notes)


def test_a_past_that_nobody_recorded_is_refused_with_what_was_looked_for() -> None:
    with pytest.raises(NotFound, match=r'no samples of up\{service="shop", replica!=""\}'):
        play(
            shelf(10),
            DOCUMENTS.replace("name: chat}", "name: shop}").replace("service: chat", "service: shop"),
        )


def test_without_a_service_there_is_nothing_to_look_at() -> None:
    policy = "apiVersion: fleetward.dev/v1\nkind: Policy\nmetadata: {name: p}\nspec: {}\n"
    with pytest.raises(InvalidInput, match="no Service"):
        play(shelf(10), policy)

"""Guards: each says no for its own reason, with the values it said it on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.decide import guards
from controlplane.decide.guards import Case, View
from controlplane.model.action import Dimension, Reach, Touch
from controlplane.model.policy import PolicySpec
from controlplane.model.records import Halt, OutOfService, Run, Verdict
from controlplane.model.service import Service
from controlplane.model.states import IncidentState, RunState
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import AT, ZONES, at, topology
from tests.unit.controlplane.decide.verdicts import incident, playbook, run

NOW = AT + timedelta(minutes=10)
SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {"model": "m", "zones": [{"name": z} for z in ZONES]},
    }
)
FRESH = {"engine": "fresh", "gateway": "fresh", "platform": "fresh"}
WHOLE = Target("chat", "local")


def view(**more: Any) -> View:
    values: dict[str, Any] = {"sources": FRESH, "replicas": 12, "ticks": 9, "bad_zones": ["zone-a"], **more}
    return View(NOW, SERVICE, PolicySpec(), topology(), **values)


def case(book: dict[str, Any] | None = None, **more: Any) -> Case:
    values: dict[str, Any] = {"view": view(), **more}
    return Case(playbook(**(book or {})), "slo:chat-itl by zone", incident(at("a")), **values)


def test_a_plain_case_is_allowed_by_all_in_their_order() -> None:
    found = guards.judge(case(touches=[Touch(at("a"), Dimension.TRAFFIC)]))
    names = ["halt", "mode", "freeze", "maintenance", "sources", "storm", "calm", "folding"]
    names += ["throttle", "concurrency", "budget", "blastRadius"]
    assert [each.guard for each in found] == names
    assert {each.verdict for each in found} == {Verdict.ALLOW}


@pytest.mark.parametrize(
    ("scope", "verdict"),
    [
        ({}, Verdict.REFUSE),
        ({"service": "chat"}, Verdict.REFUSE),
        ({"service": "other"}, Verdict.ALLOW),
        ({"service": "chat", "zone": "zone-a"}, Verdict.REFUSE),
        ({"service": "chat", "zone": "zone-b"}, Verdict.ALLOW),
        ({"target": str(at("a/a1"))}, Verdict.REFUSE),
        ({"target": str(at("b"))}, Verdict.ALLOW),
    ],
)
def test_a_halt_covers_what_it_names(scope: dict[str, str], verdict: Verdict) -> None:
    halt = Halt(id="halt-1", reason="deploy", by="ada", created_at=AT, **scope)
    assert guards.halt(case(halts=[halt])).verdict is verdict


def test_the_strictest_mode_holds_and_says_whose_it_is() -> None:
    found = guards.mode(case({"mode": "approve"}))
    assert found.verdict is Verdict.ALLOW
    assert found.message == "mode approve (playbook): people are asked before it starts"
    assert found.values == {"policy": "auto", "service": "auto", "playbook": "approve"}
    assert guards.mode(case({"mode": "observe"})).verdict is Verdict.REFUSE


def test_people_are_asked_in_mode_approve_unless_one_of_them_starts_it() -> None:
    assert guards.asks_people(case({"mode": "approve"}))
    assert not guards.asks_people(case({"mode": "auto"}))
    assert not guards.asks_people(case({"mode": "approve"}, by="ada"))


def test_a_source_that_is_not_fresh_refuses_and_a_new_leader_waits() -> None:
    stale = guards.sources(case(view=view(sources={**FRESH, "engine": "stale"})))
    assert (stale.verdict, stale.message) == (Verdict.REFUSE, "engine is stale")
    assert guards.sources(case(view=view(warm=False, ticks=1))).verdict is Verdict.WAIT


def test_all_zones_bad_is_the_observer() -> None:
    found = guards.storm(case(view=view(bad_zones=ZONES)))
    assert (found.verdict, found.values["badZones"]) == (Verdict.REFUSE, list(ZONES))
    assert guards.storm(case(view=view(bad_zones=ZONES[:2]))).verdict is Verdict.ALLOW


def test_too_many_unhealthy_replicas_are_the_observer() -> None:
    found = guards.storm(case(view=view(unhealthy=9)))
    assert found.verdict is Verdict.REFUSE
    assert found.message.startswith("9 of 12 replicas are unhealthy (75%), more than 67%")
    assert guards.storm(case(view=view(unhealthy=8))).verdict is Verdict.ALLOW


def test_a_service_of_one_zone_has_no_storm_of_all_zones() -> None:
    body = SERVICE.model_dump(by_alias=True)
    body["spec"]["zones"] = [{"name": "zone-a"}]
    single = replace(view(), service=Service.model_validate(body))
    assert guards.storm(case(view=single)).verdict is Verdict.ALLOW


def test_the_throttle_counts_runs_of_its_group_and_says_when_again() -> None:
    limit = {"throttle": {"onceWithin": "5m", "groupBy": ["service", "zone"]}}
    recent = run(RunState.FAILED, after=480)
    found = guards.throttle(case(limit, runs=[recent]))
    assert found.verdict is Verdict.REFUSE
    assert found.values["again"] == (recent.created_at + timedelta(minutes=5)).isoformat()
    assert guards.throttle(case(limit, runs=[run(RunState.FAILED, after=200)])).verdict is Verdict.ALLOW
    elsewhere = run(RunState.FAILED, after=480, target=str(at("b")))
    assert guards.throttle(case(limit, runs=[elsewhere])).verdict is Verdict.ALLOW


def test_a_run_that_gave_way_before_it_began_is_not_throttled_by() -> None:
    limit = {"throttle": {"onceWithin": "5m", "groupBy": ["service", "zone"]}}
    unbegun = run(RunState.SUPERSEDED, after=480)
    assert guards.throttle(case(limit, runs=[unbegun])).verdict is Verdict.ALLOW
    begun = unbegun.model_copy(update={"started_at": unbegun.created_at})
    assert guards.throttle(case(limit, runs=[begun])).verdict is Verdict.REFUSE


def test_what_is_calm_now_is_waited_for_and_says_since_when() -> None:
    since = NOW - timedelta(seconds=26)
    found = guards.calm(replace(case(), incident=incident(at("a"), calm_since=since)))
    assert (found.verdict, found.message) == (
        Verdict.WAIT,
        "it is calm now: its signal has not been bad for 26s",
    )
    assert found.values == {"calmSince": since.isoformat()}


@pytest.mark.parametrize("state", [IncidentState.MITIGATED, IncidentState.RESOLVED])
def test_what_gives_back_is_not_held_up_by_calm(state: IncidentState) -> None:
    over = incident(at("a"), state, calm_since=NOW - timedelta(seconds=26))
    assert guards.calm(replace(case(), incident=over)).verdict is Verdict.ALLOW


def test_what_the_clock_or_a_person_calls_for_has_no_signal_to_be_calm() -> None:
    assert guards.calm(replace(case(), incident=None, place=str(at("a")))).verdict is Verdict.ALLOW


def test_concurrency_skips_or_queues_as_the_playbook_says() -> None:
    active = run(RunState.RUNNING, group="service/chat")
    skip = {"concurrency": {"group": "service/chat", "onConflict": "skip"}}
    queue = {"concurrency": {"group": "service/chat", "onConflict": "queue"}}
    assert guards.concurrency(case(skip, runs=[active], group="service/chat")).verdict is Verdict.REFUSE
    found = guards.concurrency(case(queue, runs=[active], group="service/chat"))
    assert (found.verdict, found.message) == (Verdict.ALLOW, f"queues behind {active.id}")
    over = run(RunState.SUCCEEDED, group="service/chat")
    assert guards.concurrency(case(skip, runs=[over], group="service/chat")).verdict is Verdict.ALLOW


def test_a_part_waits_for_the_whole() -> None:
    found = guards.folding(case(parent=incident(at("a"))))
    assert (found.verdict, found.values["target"]) == (Verdict.WAIT, str(at("a")))


def of_the_whole(**more: Any) -> Case:
    overload = incident(WHOLE, name="queue>16", kind="threshold")
    return replace(case(), incident=overload, reach=Reach.SERVING, **more)


def test_the_whole_waits_for_what_was_begun_for_a_part_and_not_for_long() -> None:
    begun = run(RunState.RUNNING, after=590)
    found = guards.folding(of_the_whole(runs=[begun]))
    assert (found.verdict, found.values) == (Verdict.WAIT, {"run": begun.id, "target": str(at("a"))})
    assert found.message == (
        f"{begun.id} (zone-failover) is at work on {at('a')}, which may be all that is needed"
    )
    assert guards.folding(of_the_whole(runs=[run(RunState.RUNNING, after=569)])).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "other",
    [
        run(RunState.SUCCEEDED, after=590),
        run(RunState.RUNNING, after=590, target=str(WHOLE)),
        run(RunState.RUNNING, after=590).model_copy(update={"kind": "drill"}),
    ],
    ids=["one that is over", "one of the whole", "a drill"],
)
def test_the_whole_waits_for_nothing_else(other: Run) -> None:
    assert guards.folding(of_the_whole(runs=[other])).verdict is Verdict.ALLOW


def test_what_only_tells_people_waits_for_no_part() -> None:
    begun = run(RunState.RUNNING, after=590)
    told = replace(of_the_whole(runs=[begun]), reach=Reach.NONE)
    assert guards.folding(told).verdict is Verdict.ALLOW
    assert guards.folding(case(runs=[begun])).verdict is Verdict.ALLOW


def test_the_blast_radius_counts_the_ledger() -> None:
    row = OutOfService(target=str(at("b")), dimension=Dimension.TRAFFIC, holder="run-1", since=AT)
    found = guards.blast_radius(case(ledger=[row], touches=[Touch(at("a"), Dimension.TRAFFIC)]))
    assert (found.guard, found.verdict) == ("blastRadius", Verdict.WAIT)


FREEZE = {"name": "launch", "start": "2020-01-01T00:00:00Z", "end": "2090-01-01T00:00:00Z", "reason": "busy"}


def windows(kind: str, *found: dict[str, Any]) -> View:
    policy = PolicySpec.model_validate({kind: list(found)})
    return replace(view(), policy=policy)


@pytest.mark.parametrize(
    ("wish", "verdict"),
    [("wait", Verdict.WAIT), ("refuse", Verdict.REFUSE), ("run", Verdict.ALLOW)],
)
def test_a_freeze_means_to_a_playbook_what_it_says(wish: str, verdict: Verdict) -> None:
    found = guards.freeze(case({"windows": {"inFreeze": wish}}, view=windows("freeze", FREEZE)))
    assert found.verdict is verdict
    assert found.message == "frozen by launch until 2090-01-01T00:00:00+00:00: busy"


def test_a_freeze_that_is_over_or_another_services_stops_nothing() -> None:
    over = {**FREEZE, "end": "2020-01-02T00:00:00Z"}
    other = {**FREEZE, "services": ["search"]}
    assert guards.freeze(case(view=windows("freeze", over, other))).verdict is Verdict.ALLOW


def test_a_playbook_waits_for_the_maintenance_window_it_asks_for() -> None:
    night = {"name": "night", "cron": "0 2 * * *", "duration": "1h"}
    book = {"windows": {"onlyIn": ["night"]}}
    asked = guards.maintenance(case(book, view=windows("maintenance", night)))
    assert asked.verdict is Verdict.WAIT
    assert asked.values["opens"] is not None
    always = {"name": "night", "start": FREEZE["start"], "end": FREEZE["end"]}
    assert guards.maintenance(case(book, view=windows("maintenance", always))).verdict is Verdict.ALLOW
    assert guards.maintenance(case(view=windows("maintenance", night))).verdict is Verdict.ALLOW


def test_a_window_that_the_policy_does_not_know_is_never_open() -> None:
    found = guards.maintenance(case({"windows": {"onlyIn": ["nigth"]}}, view=windows("maintenance")))
    assert (found.verdict, found.values) == (Verdict.REFUSE, {"unknown": ["nigth"]})


def test_a_case_without_an_incident_is_judged_at_its_place() -> None:
    halt = Halt(id="h", target=str(at("b")), reason="r", by="me", created_at=AT)
    timed = Case(playbook(), "schedule", None, view(), halts=[halt], place=str(at("b")))
    assert guards.halt(timed).verdict is Verdict.REFUSE
    assert guards.halt(replace(timed, place=str(at("a")))).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("spent", "verdict"),
    [(0, Verdict.ALLOW), (4, Verdict.ALLOW), (5, Verdict.REFUSE), (None, Verdict.REFUSE)],
)
def test_a_budget_of_runs_is_used_up_by_as_many(spent: int | None, verdict: Verdict) -> None:
    book = {"budget": {"maxRuns": 5, "window": "7d"}}
    found = guards.budget(case(book, spent=spent))
    assert found.verdict is verdict
    assert found.values == {"maxRuns": 5, "window": "1w", "spent": spent, "then": "notify"}


@pytest.mark.parametrize(
    ("reach", "blind", "stormy"),
    [
        (Reach.NONE, Verdict.ALLOW, Verdict.ALLOW),
        (Reach.SERVING, Verdict.REFUSE, Verdict.ALLOW),
        (Reach.OUT, Verdict.REFUSE, Verdict.REFUSE),
    ],
)
def test_what_cannot_harm_the_fleet_needs_no_sight_of_it(
    reach: Reach, blind: Verdict, stormy: Verdict
) -> None:
    lost = guards.sources(case(view=view(sources={**FRESH, "engine": "lost"}), reach=reach))
    storm = guards.storm(case(view=view(bad_zones=ZONES), reach=reach))
    assert (lost.verdict, storm.verdict) == (blind, stormy)
    assert "engine is lost" in lost.message

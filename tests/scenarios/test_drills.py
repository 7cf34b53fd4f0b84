"""Whole drills on the real engine, in virtual time: only the fleet and its clients are simulated."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from chaos.drills.library import shipped_drills
from controlplane.act.cancel import cancel_run
from controlplane.kernel.ids import new_id
from controlplane.model.action import Dimension
from controlplane.model.policy import Policy
from controlplane.model.records import Freeze, Halt, Incident, Run
from controlplane.model.report import StoredReport, report_name
from controlplane.model.states import IncidentState, RunState
from tests.support.drill_controlplanes import (
    bringing_back,
    failover,
    firing,
    isolate,
    nobody,
    replace_node,
    restart,
)
from tests.support.drill_world import Controlplane, World, assert_clean

pytestmark = pytest.mark.timeout(240)

RESULT_KEYS = {
    "drill", "verdict", "playbook", "injectedAt", "detectedAt", "mitigatedAt", "recoveredAt", "timeToDetect",
    "timeToMitigate", "timeToRecover", "effectiveTokensKept", "baseline", "leftovers", "reasons",
}  # fmt: skip

Make = Callable[[Controlplane], World]


@pytest.mark.parametrize("name", ["zone-outage", "gray-zone"])
def test_a_zone_drill_passes_when_the_zone_is_left_in_time(make: Make, name: str) -> None:
    world = make(failover(after=8))
    run = world.run_to_end(world.start(name))
    assert run.result["reasons"] == [run.result["reasons"][0]]
    assert run.result["verdict"] == "passed", run.result
    assert run.state is RunState.SUCCEEDED
    assert set(run.result) == RESULT_KEYS
    assert run.result["timeToMitigate"] == pytest.approx(8, abs=1.5)
    assert run.result["timeToRecover"] == pytest.approx(45 + 20 + 20, abs=12)
    assert 0.85 < run.result["effectiveTokensKept"] < 1.0
    assert run.result["leftovers"] == []
    assert (run.result["playbook"], run.result["detectedAt"]) == (None, None)
    assert (run.ended_at - run.started_at).total_seconds() < 200  # type: ignore[operator]
    assert_clean(world)


def test_a_hang_drill_passes_when_the_engine_is_restarted_in_time(make: Make) -> None:
    world = make(restart(after=5))
    run = world.run_to_end(world.start("engine-hang"))
    assert run.result["verdict"] == "passed", run.result
    assert_clean(world)


def test_a_hang_that_nobody_ends_fails_on_the_clients_wait_for_a_first_token(make: Make) -> None:
    world = make(nobody)
    run = world.run_to_end(world.start("engine-hang"))
    assert run.result["verdict"] == "failed"
    assert any("first-token" in reason for reason in run.result["reasons"])
    assert_clean(world)


def test_a_slow_replica_is_mitigated_when_it_gets_no_more_requests(make: Make) -> None:
    world = make(isolate(after=10))
    run = world.run_to_end(world.start("gray-replica"))
    assert run.result["verdict"] == "passed", run.result
    assert run.result["timeToMitigate"] == pytest.approx(10, abs=2)
    assert_clean(world)


def test_a_drill_waits_until_what_was_isolated_for_it_is_back(make: Make) -> None:
    target = "chat/local/zone-b/node-b1/replica-b1-0"
    began: list[float] = []

    def take_and_return(world: World) -> None:
        isolate(after=10)(world)
        with world.database.transaction() as tx:
            if world.isolated and not began:
                began.append(world.now)
                tx.ledger.claim(target, Dimension.CAPACITY, "run-of-the-playbook")
            if began and world.now - began[0] >= 90:
                tx.ledger.release(holder="run-of-the-playbook")

    world = make(take_and_return)
    run = world.run_to_end(world.start("gray-replica"))
    assert run.result["verdict"] == "passed", run.result
    assert world.run(run.id).ended_at is not None
    assert world.now - began[0] >= 90
    assert_clean(world)


def test_a_slow_replica_that_nobody_takes_out_fails(make: Make) -> None:
    world = make(nobody)
    run = world.run_to_end(world.start("gray-replica"))
    assert run.result["verdict"] == "failed"
    assert run.result["mitigatedAt"] is None
    assert_clean(world)


def test_a_crash_loop_is_mitigated_when_no_request_meets_its_lives(make: Make) -> None:
    world = make(isolate(after=20))
    run = world.run_to_end(world.start("crash-loop"))
    assert run.result["verdict"] == "passed", run.result
    assert world.isolated == {"replica-c1-1"}
    assert_clean(world)


def test_a_node_drill_passes_when_another_machine_takes_its_place_in_time(make: Make) -> None:
    world = make(replace_node(after=15))
    run = world.run_to_end(world.start("node-loss"))
    assert run.result["verdict"] == "passed", run.result
    assert run.result["timeToMitigate"] == pytest.approx(16, abs=1.5)
    assert_clean(world)


def test_a_node_that_nobody_replaces_fails_the_drill(make: Make) -> None:
    world = make(nobody)
    run = world.run_to_end(world.start("node-loss"))
    assert run.result["verdict"] == "failed"
    assert_clean(world)


def test_the_return_of_a_zone_passes_when_it_was_warmed_and_given_back(make: Make) -> None:
    act = bringing_back(
        firing("zone-failover", failover(zone="zone-c")), "cache-prewarm", "zone-failback", after=60
    )
    world = make(act)
    run = world.run_to_end(world.start("zone-return"))
    assert run.result["verdict"] == "passed", run.result
    assert run.result["playbook"] == "zone-failover"
    assert_clean(world)


def test_a_zone_that_comes_back_cold_fails_the_drill_of_its_return(make: Make) -> None:
    world = make(bringing_back(firing("zone-failover", failover(zone="zone-c")), "zone-failback", after=20))
    run = world.run_to_end(world.start("zone-return"))
    assert run.result["verdict"] == "failed"
    assert run.result["reasons"] == ["playbook `cache-prewarm` had to run to its end, and did not"]
    assert_clean(world)


def test_where_nobody_answers_a_fault_the_drill_does_not_wait_for_what_would_bring_back(make: Make) -> None:
    run = (world := make(nobody)).run_to_end(world.start("zone-return"))
    assert run.result["verdict"] == "failed"
    assert run.ended_at is not None
    assert (run.ended_at - run.created_at).total_seconds() < 240
    assert_clean(world)


def test_an_observer_that_is_lost_costs_nothing_when_nobody_acts_on_it(make: Make) -> None:
    world = make(firing("prometheus-blind", nobody))
    run = world.run_to_end(world.start("prometheus-down"))
    assert run.result["verdict"] == "passed", run.result
    assert run.result["playbook"] == "prometheus-blind"
    assert world.driver.is_observed()
    assert_clean(world)


def test_a_playbook_that_clients_do_not_see_fails_its_drill_when_it_does_not_fire(make: Make) -> None:
    world = make(firing("zone-failover", nobody))
    run = world.run_to_end(world.start("prometheus-down"))
    assert run.result["verdict"] == "failed"
    assert run.result["reasons"] == ["playbook `prometheus-blind` had to fire, and did not"]
    assert_clean(world)


def test_who_leaves_a_zone_for_want_of_data_and_stays_away_fails(make: Make) -> None:
    world = make(lambda world: world.write_weight("zone-b", 0) if not world.driver.is_observed() else None)
    run = world.run_to_end(world.start("prometheus-down"))
    assert run.result["verdict"] == "failed", run.result
    assert world.driver.is_observed()


@pytest.mark.parametrize("name", ["zone-outage", "gray-zone"])
def test_observing_only_fails_on_the_yield_and_ends_the_fault_at_once(make: Make, name: str) -> None:
    world = make(nobody)
    run = world.run_to_end(world.start(name))
    assert run.result["verdict"] == "failed"
    assert run.result["reasons"][0].startswith("not mitigated")
    assert run.result["mitigatedAt"] is None
    assert run.state is RunState.FAILED
    fault = world.faults()[0]
    assert fault.cleared_at is not None
    assert fault.verified_at is not None
    assert (fault.cleared_at - fault.verified_at).total_seconds() < 40
    assert_clean(world)


def test_a_playbook_that_ran_does_not_make_up_for_clients_that_were_not_served(make: Make) -> None:
    world = make(nobody)
    run_id = world.start("zone-outage")
    told = False

    def boast(world: World) -> None:
        nonlocal told
        if world.faults(standing=True) and not told:
            told = True
            _add_incident(world, "chat/local/zone-b")
            _add_playbook_run(world, "zone-failover", "chat/local/zone-b")

    world.controlplane = boast
    run = world.run_to_end(run_id)
    assert run.result["verdict"] == "failed"
    assert run.result["playbook"] == "zone-failover"
    assert run.result["detectedAt"] is not None


def test_late_mitigation_fails(make: Make) -> None:
    world = make(failover(after=33))
    run = world.run_to_end(world.start("gray-zone"))
    assert run.result["verdict"] == "failed"
    assert_clean(world)


def test_a_stop_condition_ends_the_drill_and_takes_everything_back(make: Make) -> None:
    world = make(nobody)
    run_id = world.start("zone-outage")

    def collapse(world: World) -> None:
        if world.faults(standing=True):
            for node in ("node-a1", "node-a2"):
                world.driver.unreachable.add(node)
        else:
            world.driver.unreachable.clear()

    world.controlplane = collapse
    run = world.run_to_end(run_id)
    assert run.result["verdict"] == "aborted"
    assert "effective share was under 0.4" in run.result["reasons"][0]
    assert_clean(world)


def test_a_drill_waits_for_an_open_incident_and_gives_up_as_aborted(make: Make) -> None:
    world = make(nobody)
    _add_incident(world, "chat/local/zone-c")
    run_id = world.start("zone-outage")
    run = world.run_to_end(run_id)
    assert run.result["verdict"] == "aborted"
    assert "is open" in run.result["reasons"][0]
    assert world.faults() == []
    assert world.steps(run_id)["inject-outage"] == "skipped"


def test_a_drill_of_another_environment_breaks_nothing(make: Make) -> None:
    world = make(nobody)
    drill = shipped_drills()["zone-outage"]
    spec = drill.spec.model_copy(update={"environment": "production"})
    run = world.run_to_end(world.start_with(drill.model_copy(update={"spec": spec})))
    assert run.result["verdict"] == "aborted"
    assert "environment `production`" in run.result["reasons"][0]
    assert world.faults() == []


def test_a_drill_in_a_freeze_breaks_nothing(make: Make) -> None:
    world = make(nobody)
    window = {"name": "launch", "start": "2020-01-01T00:00:00Z", "end": "2090-01-01T00:00:00Z"}
    policy = Policy.model_validate(
        {"kind": "Policy", "metadata": {"name": "lab"}, "spec": {"freeze": [window]}}
    )
    with world.database.transaction() as tx:
        tx.documents.put(policy)
    run = world.run_to_end(world.start("zone-outage"))
    assert run.result["verdict"] == "aborted"
    assert "frozen by launch" in run.result["reasons"][0]
    assert world.faults() == []


def test_a_drill_breaks_nothing_while_a_run_has_frozen_changes(make: Make) -> None:
    world = make(nobody)
    now = world.clock.now()
    freeze = Freeze(
        id="freeze-1", service="chat", reason="the error budget is spent", by="run run-1", created_at=now,
        expires_at=now + timedelta(hours=1),
    )  # fmt: skip
    with world.database.transaction() as tx:
        tx.freezes.add(freeze)
    run = world.run_to_end(world.start("zone-outage"))
    assert run.result["verdict"] == "aborted"
    assert run.result["reasons"][0].startswith("frozen by run run-1 until ")
    assert run.result["reasons"][0].endswith("the error budget is spent")
    assert world.faults() == []


def test_a_service_that_is_not_steady_is_not_broken_further(make: Make) -> None:
    world = make(nobody)
    world.driver.unreachable.add("node-a1")
    world.live(20)
    run = world.run_to_end(world.start("zone-outage"))
    assert run.result["verdict"] == "inconclusive"
    assert world.faults() == []


def test_a_cancelled_drill_takes_its_fault_back_and_is_aborted(make: Make) -> None:
    world = make(nobody)
    run_id = world.start("gray-zone")
    while not world.faults(standing=True):
        world.step()
        world.executor.advance(run_id)
    with world.database.transaction() as tx:
        cancel_run(tx, run_id, by="test", reason="enough")
    run = world.run_to_end(run_id)
    world.live(5)
    world.reaper.tick()
    assert run.state is RunState.CANCELLED
    assert run.result["verdict"] == "aborted"
    assert "enough" in run.result["reasons"][0]
    assert world.faults(standing=True) == []


@pytest.mark.parametrize("seconds", [90, 160])
def test_when_the_worker_is_lost_the_reaper_ends_the_fault_and_another_worker_the_drill(
    make: Make, seconds: int
) -> None:
    world = make(failover())
    run_id = world.start("gray-zone")
    while not world.faults(standing=True):
        world.step()
        world.executor.advance(run_id)
    for _ in range(seconds):
        world.step()
        world.reaper.tick()
    assert world.faults(standing=True) == []
    world.executor = world.worker("worker-2")
    run = world.run_to_end(run_id)
    assert run.result["leftovers"] == []
    assert_clean(world)


def test_a_halt_ends_a_fault_even_without_any_worker(make: Make) -> None:
    world = make(nobody)
    run_id = world.start("gray-zone")
    while not world.faults(standing=True):
        world.step()
        world.executor.advance(run_id)
    with world.database.transaction() as tx:
        tx.halts.add(Halt(id="halt-1", reason="stop", by="test", created_at=world.clock.now()))
    for _ in range(10):
        world.step()
        world.reaper.tick()
    assert world.faults(standing=True) == []


def test_without_the_truth_nobody_can_tell(make: Make) -> None:
    world = make(failover())
    run_id = world.start("gray-zone")

    def fall_silent(world: World) -> None:
        failover()(world)
        if world.faults(standing=True):
            world.deaf = True

    world.controlplane = fall_silent
    run = world.run_to_end(run_id)
    assert run.result["verdict"] == "inconclusive"
    assert_clean(world)


def test_the_report_is_stored_rendered_and_saved(make: Make) -> None:
    world = make(failover())
    run = world.run_to_end(world.start("zone-outage"))
    with world.database.reading() as tx:
        body = tx.snapshots.get(report_name(run.id))
    stored = StoredReport.model_validate(body)
    assert stored.report.verdict.value == run.result["verdict"]
    assert "<polyline" in stored.html
    assert 'failures="0"' in stored.junit
    saved = sorted(path.name.removeprefix(run.id) for path in world.ports.reports.iterdir())
    assert saved == [".html", ".json", ".report.json", ".xml"]


def _add_incident(world: World, target: str) -> None:
    now = world.clock.now()
    with world.database.transaction() as tx:
        tx.incidents.add(
            Incident(
                id=new_id("inc"), signal=f"slo:chat-success@{target}", service="chat", target=target,
                state=IncidentState.FIRING, title="success is low", opened_at=now, fired_at=now,
                changed_at=now,
            )
        )  # fmt: skip


def _add_playbook_run(world: World, name: str, target: str) -> None:
    now = world.clock.now() + timedelta(milliseconds=1)
    with world.database.transaction() as tx:
        run = Run(
            id=new_id("run"), kind="playbook", name=name, service="chat", target=target,
            state=RunState.QUEUED, created_at=now,
        )  # fmt: skip
        tx.runs.add(run, {})

"""What was to be done, when its turn comes late: left alone if it is well again by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.act.cancel import cancel_run
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.model.records import Verdict
from controlplane.model.states import IncidentState, RunState
from tests.scenarios.loop_world import World
from tests.unit.controlplane.decide.fleet import ZONES, at


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run(20)
    return made


def against(world: World, target: str) -> list[set[str]]:
    """Return for each decision about zone-failover on a target, oldest first, the guards against it."""
    return [
        {guard.guard for guard in decision.guards if guard.verdict is not Verdict.ALLOW}
        for decision in world.decisions(playbook="zone-failover", target=target)
    ]


def occupy(world: World) -> str:
    """Let a run that waits for something hold the service's group, and return its id."""
    wait = {"id": "wait", "uses": "query.wait", "with": {"query": "vector(1)", "condition": "result > 5"}}
    plan = RunPlan.model_validate({"steps": [{**wait, "timeout": "1h"}]})
    with world.database.transaction() as tx:
        revision = tx.documents.find("Service", "chat")
        assert revision is not None
        pins = {"Service": revision.sha256}
        request = StartRequest(
            "playbook", "deploy", "chat", plan, pins, group="service/chat", started_by="ada"
        )
        return start_run(tx, request, world.woken.append).id


def leave(world: World, run: str) -> None:
    with world.database.transaction() as tx:
        cancel_run(tx, run, by="ada", wake=world.woken.append)


def test_a_zone_that_is_well_again_when_its_turn_comes_is_left_alone(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    world.slow.add(at("b"))
    world.run(12)
    assert against(world, str(at("b"))) == [{"blastRadius"}]
    world.slow.discard(at("a"))
    world.run(12)
    world.slow.discard(at("b"))
    world.run_until(lambda: world.weights()["zone-a"] == 100, 40)
    assert (
        next(each for each in world.incidents() if each.target == str(at("b"))).state is IncidentState.FIRING
    )
    world.run_until(lambda: against(world, str(at("b")))[-1] == {"calm"}, 16)
    world.run(40)
    assert [run.target for run in world.runs("zone-failover")] == [str(at("a"))]
    assert world.weights() == dict.fromkeys(ZONES, 100)
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}


def test_one_that_is_bad_again_meanwhile_is_answered_at_once(world: World) -> None:
    run = occupy(world)
    world.slow.add(at("b"))
    world.run_until(lambda: world.runs("zone-failover"), 8)
    world.slow.clear()
    world.run(16)
    leave(world, run)
    world.run(4)
    (first,) = world.runs("zone-failover")
    assert first.state is RunState.SUPERSEDED
    assert first.reason.startswith("it is calm now: chat-itl at zone-b has not been bad since ")
    assert (first.started_at, world.weights()["zone-b"]) == (None, 100)
    assert against(world, str(at("b")))[-1] == {"calm"}
    world.slow.add(at("b"))
    assert world.run_until(lambda: world.weights()["zone-b"] == 0, 14) <= 14
    assert [each.state for each in world.incidents()] == [IncidentState.FIRING]


def test_one_that_is_bad_still_begins_when_its_group_is_free(world: World) -> None:
    run = occupy(world)
    world.slow.add(at("b"))
    world.run(40)
    assert world.weights()["zone-b"] == 100
    leave(world, run)
    world.run_until(lambda: world.weights()["zone-b"] == 0, 6)


def test_what_gives_back_is_not_held_up_by_calm(world: World) -> None:
    run = occupy(world)
    leave(world, run)
    world.slow.add(at("a"))
    world.run(20)
    world.slow.clear()
    world.run(10)
    zone = world.incidents()[0]
    assert (zone.state, zone.calm_since is None) == (IncidentState.MITIGATED, False)
    world.run_until(lambda: world.runs("zone-failback"), 20)


def test_a_fail_back_that_begins_when_its_zone_fails_again_gives_way(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    run = occupy(world)
    world.slow.clear()
    world.run_until(lambda: world.runs("zone-failback"), 30)
    world.platform.set_weights("chat", {"zone-a": 100}, expected_version=None, by=None)
    world.slow.add(at("a"))
    world.run_until(lambda: world.incidents()[0].state is IncidentState.FIRING, 20)
    leave(world, run)
    world.run(2)
    (failback,) = world.runs("zone-failback")
    assert (failback.state, failback.started_at) == (RunState.SUPERSEDED, None)
    assert failback.reason.startswith("its incident is firing now: ")


def test_a_new_leader_does_not_take_calm_for_fresh_trouble(world: World) -> None:
    run = occupy(world)
    world.slow.add(at("b"))
    world.run_until(lambda: world.runs("zone-failover"), 8)
    world.slow.clear()
    world.run(12)
    since = world.incidents()[0].calm_since
    assert since is not None
    world.controller.close()
    world.controller = world.new_controller("two")
    world.run(6)
    assert world.incidents()[0].calm_since == since
    leave(world, run)
    world.run(4)
    assert world.weights()["zone-b"] == 100

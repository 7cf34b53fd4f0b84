"""Too many clients, through the loop with the shipped playbooks: some are refused, and let in again."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from controlplane.model.records import Verdict
from controlplane.model.states import IncidentState, RunState
from tests.scenarios.loop_world import SPARE, World
from tests.unit.controlplane.decide.fleet import ZONES, at

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
LAB = Path(__file__).parents[2] / "chaos" / "lab" / "fleet"
FILES = [LAB / "service.yaml", LAB / "policy.yaml", LAB / "slos.yaml"]
FILES += [PLAYBOOKS / f"{name}.yaml" for name in ("shed-load", "readmit-load", "zone-failover")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents="\n---\n".join(file.read_text() for file in FILES))
    made.numbers.values = [0.3]
    made.run(20)
    return made


def refused(world: World) -> tuple[str, ...]:
    return world.platform.admission("chat").shed


def test_those_who_can_wait_are_refused_and_nothing_is_taken_out_of_service(world: World) -> None:
    world.numbers.values = [1.4]
    world.crowd = 2.0
    assert world.run_until(lambda: refused(world), 20) <= 12
    assert refused(world) == ("batch",)
    world.run(40)
    assert [run.state for run in world.runs("shed-load")] == [RunState.SUCCEEDED]
    assert world.weights() == dict.fromkeys(ZONES, 100)
    assert {each.state for each in world.incidents(open=True) if each.target == "chat/local"} == {
        IncidentState.MITIGATED
    }
    assert refused(world) == ("batch",)


def test_they_are_let_in_when_there_is_room_and_the_incident_ends(world: World) -> None:
    world.numbers.values = [1.4]
    world.crowd = 2.0
    world.run(60)
    world.crowd = 0.0
    world.numbers.values = [0.3]
    assert world.run_until(lambda: not refused(world), 40) <= 26
    world.run(60)
    assert world.incidents(open=True) == []
    assert [run.state for run in world.runs("readmit-load")] == [RunState.SUCCEEDED]
    assert len(world.runs("shed-load")) == 1


def test_a_service_without_room_is_left_as_it_is_and_does_not_flap(world: World) -> None:
    world.crowd = 2.0
    world.numbers.values = [1.4]
    world.run(300)
    writes = [record.after for record in world.platform.writes() if record.op == "shed"]
    assert writes == [["batch"]]


def test_letting_them_in_too_early_is_taken_back_at_once(world: World) -> None:
    world.crowd = 2.0
    world.run(40)  # the numbers say that there is room, and are wrong
    writes = [record.after for record in world.platform.writes() if record.op == "shed"]
    assert writes[:3] == [["batch"], [], ["batch"]]
    world.run(120)
    lets_in = [record.at for record in world.platform.writes() if record.after == []]
    assert all((later - earlier).total_seconds() >= 30 for earlier, later in itertools.pairwise(lets_in))


def begin_to_leave_a_zone_and_queue(world: World) -> None:
    world.slow.add(at("a"))
    world.run_until(lambda: world.runs("zone-failover"), 10)
    world.backlog, world.crowd = 20.0, SPARE  # neither more nor less
    world.run(6)


def test_nobody_is_refused_while_a_zone_is_being_left_when_that_is_enough(world: World) -> None:
    begin_to_leave_a_zone_and_queue(world)
    decision = world.decisions(playbook="shed-load")[-1]
    folding = next(each for each in decision.guards if each.guard == "folding")
    assert (decision.outcome, folding.verdict) == ("queued", Verdict.WAIT)
    assert folding.values["run"] == world.runs("zone-failover")[0].id
    world.backlog, world.crowd = 0.0, 0.0
    world.run(60)
    assert world.runs("shed-load") == []


def test_those_who_can_wait_are_refused_when_leaving_a_zone_was_not_enough(world: World) -> None:
    world.numbers.values = [1.4]
    begin_to_leave_a_zone_and_queue(world)
    assert refused(world) == ()
    assert world.run_until(lambda: refused(world), 40) <= 26
    assert world.weights()["zone-a"] == 0


def test_a_zone_that_is_slow_is_no_reason_to_refuse_anybody(world: World) -> None:
    world.slow.add(at("a"))
    world.run(40)
    assert world.runs("shed-load") == []
    assert len(world.runs("zone-failover")) == 1

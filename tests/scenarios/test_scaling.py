"""More clients than the replicas can serve, through the loop: standby is brought up, and goes when it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.records import Verdict
from controlplane.model.states import IncidentState, RunState
from controlplane.model.target import Target
from tests.scenarios.loop_world import World
from tests.unit.controlplane.decide.fleet import ZONES, at

ROOT = Path(__file__).parents[2]
LAB = ROOT / "chaos" / "lab" / "fleet"
FILES = [LAB / f"{name}.yaml" for name in ("service", "policy", "slos")]
FILES += [ROOT / "playbooks" / f"{name}.yaml" for name in ("scale-out", "scale-in", "zone-failover")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents="\n---\n".join(file.read_text() for file in FILES))
    made.numbers.values = [0.9]
    made.run(20)
    return made


def scale(world: World) -> list[int]:
    return [world.platform.scale(Target("chat", "local", zone)).replicas for zone in ZONES]


def grow(world: World) -> None:
    """Let a fifth more clients come than the replicas can serve, until the standby serves them."""
    world.crowd = 1.2
    world.run_until(lambda: scale(world) == [6, 6, 6], 20)
    world.run_until(lambda: world.backlog == 0, 60)


def test_standby_is_brought_up_in_every_zone_and_is_enough(world: World) -> None:
    world.crowd = 1.2
    assert world.run_until(lambda: scale(world) == [6, 6, 6], 20) <= 16
    world.run_until(lambda: world.backlog == 0, 60)
    world.run(20)
    assert [run.state for run in world.runs("scale-out")] == [RunState.SUCCEEDED]
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}
    assert world.weights() == dict.fromkeys(ZONES, 100)
    assert world.runs("zone-failover") == []


def test_it_stays_up_as_long_as_it_is_needed_and_goes_then(world: World) -> None:
    grow(world)
    world.run(120)
    assert scale(world) == [6, 6, 6]
    assert [run.state for run in world.runs("scale-in")] == [RunState.RUNNING]
    world.crowd, world.numbers.values = 0.0, [0.2]
    assert 30 <= world.run_until(lambda: scale(world) == [4, 4, 4], 60) <= 44
    world.run(40)
    assert [run.state for run in world.runs("scale-in")] == [RunState.SUCCEEDED]
    with world.database.reading() as tx:
        assert tx.ledger.list() == []
    assert [each for each in world.incidents(open=True) if each.target == "chat/local"] == []


def test_more_clients_while_it_waits_to_go_keep_it_up(world: World) -> None:
    grow(world)
    world.run(20)
    world.platform.set_scale(Target("chat", "local", "zone-a"), 5, expected_version=None, by=None)
    world.crowd = 2.5
    world.run_until(lambda: scale(world) == [6, 6, 6], 60)
    assert [run.state for run in world.runs("scale-in")] == [RunState.CANCELLED]


def test_letting_it_go_too_early_is_taken_back(world: World) -> None:
    world.numbers.values = [0.2]  # the numbers say that there is less to do, and are wrong
    grow(world)
    world.run_until(lambda: scale(world) == [4, 4, 4], 60)
    world.run_until(lambda: scale(world) == [6, 6, 6], 30)
    first = world.runs("scale-in")[0]
    assert first.state in {RunState.FAILED, RunState.CANCELLED}


def test_it_waits_while_a_zone_is_being_left(world: World) -> None:
    world.slow.add(at("a"))
    world.run_until(lambda: world.runs("zone-failover"), 10)
    world.backlog, world.crowd = 12.0, 0.8
    world.run(6)
    assert world.runs("scale-out") == []
    decision = world.decisions(playbook="scale-out")[-1]
    folding = next(each for each in decision.guards if each.guard == "folding")
    assert (decision.outcome, folding.verdict) == ("queued", Verdict.WAIT)

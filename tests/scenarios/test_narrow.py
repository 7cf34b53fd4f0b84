"""What is done about single replicas, by the shipped playbooks: alone, beside their zone, and given back."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.records import Incident
from controlplane.model.states import IncidentState, RunState
from controlplane.model.target import Target
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import ZONES, at

SHIPPED = Path(__file__).parents[2] / "playbooks"
NAMES = ("gray-replica-isolate", "crash-loop", "replica-return")
ONE = at("b/b1/0")
ZONE = [at(f"b/b{node}/{index}") for node in (1, 2) for index in (0, 1)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    shipped = [(SHIPPED / f"{name}.yaml").read_text() for name in NAMES]
    made = World(tmp_path, documents="---\n".join([f"{DOCUMENTS}\n", *shipped]))
    made.run(20)
    return made


def isolated(world: World) -> set[Target]:
    return {target for target, view in world.platform.topology("chat").replicas() if not view.in_rotation}


def claims(world: World) -> set[str]:
    with world.database.reading() as tx:
        return {row.target for row in tx.ledger.list()}


def incident(world: World, target: Target, kind: str = "threshold") -> Incident:
    found = [
        each for each in world.incidents() if each.target == str(target) and each.signal.startswith(kind)
    ]
    return found[-1]


def test_a_slow_replica_is_isolated_and_given_back_when_it_was_good_for_half_a_minute(world: World) -> None:
    world.slow.add(ONE)
    assert world.run_until(lambda: isolated(world) == {ONE}, 24) <= 20
    world.run(20)
    assert [run.state for run in world.runs()] == [RunState.SUCCEEDED]
    assert incident(world, ONE).state is IncidentState.MITIGATED
    assert (world.weights(), claims(world)) == (dict.fromkeys(ZONES, 100), {str(ONE)})
    world.slow.clear()
    assert 30 <= world.run_until(lambda: not isolated(world), 60) <= 44
    world.run(40)
    assert [run.name for run in world.runs()] == ["gray-replica-isolate", "replica-return"]
    assert {run.state for run in world.runs()} == {RunState.SUCCEEDED}
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}
    assert claims(world) == set()


def test_of_a_slow_zone_no_replica_is_isolated_beside_the_failover(world: World) -> None:
    world.slow.add(at("b"))
    world.run(60)
    assert world.weights()["zone-b"] == 0
    world.slow.clear()
    world.run_until(lambda: world.weights()["zone-b"] == 100, 60)
    world.run(60)
    assert {run.name for run in world.runs()} == {"zone-failover", "zone-failback"}
    assert (isolated(world), claims(world)) == (set(), set())
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}


def test_the_last_of_a_zone_to_recover_is_not_isolated_for_that(world: World) -> None:
    world.slow |= set(ZONE)
    world.run(40)
    world.slow -= set(ZONE[1:])
    world.run(20)
    world.slow.clear()
    world.run_until(lambda: world.weights()["zone-b"] == 100, 60)
    assert {run.name for run in world.runs()} == {"zone-failover", "zone-failback"}


def test_one_that_stays_slow_is_isolated_so_that_its_zone_comes_back_without_it(world: World) -> None:
    world.slow |= set(ZONE)
    world.run(40)
    world.slow = {ONE}
    assert world.run_until(lambda: isolated(world) == {ONE}, 60) >= 26
    assert world.weights()["zone-b"] == 0
    world.run_until(lambda: world.weights()["zone-b"] == 100, 60)
    assert isolated(world) == {ONE}
    world.slow.clear()
    world.run_until(lambda: not isolated(world), 60)
    world.run(60)
    assert claims(world) == set()
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}


def test_an_engine_in_a_crash_loop_is_isolated_until_the_restarts_are_past(world: World) -> None:
    for count in (1, 2):
        world.restarts[ONE] = count
        world.run(10)
    world.run_until(lambda: isolated(world) == {ONE}, 10)
    world.run(60)
    assert incident(world, ONE).state is IncidentState.MITIGATED
    assert [run.name for run in world.runs()] == ["crash-loop"]
    assert world.run_until(lambda: not isolated(world), 100) >= 30
    world.run(60)
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}
    assert claims(world) == set()


def test_a_hung_replica_waits_for_its_zone_and_is_restarted_when_that_is_out(world: World) -> None:
    world.slow.add(at("b"))
    world.run(4)
    world.hang(ONE)
    world.run_until(lambda: world.runs("hung-replica"), 60)
    zone = incident(world, at("b"), "slo")
    assert zone.state is IncidentState.MITIGATED
    world.run(20)
    assert [record.target for record in world.platform.writes() if record.op == "restart"] == [str(ONE)]
    world.slow.clear()
    world.run_until(lambda: world.weights()["zone-b"] == 100, 60)
    assert isolated(world) == set()


def test_a_zone_that_nobody_can_evacuate_does_not_keep_its_hung_replica_waiting(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    world.slow.add(at("b"))
    world.run(20)
    assert world.weights() == {"zone-a": 0, "zone-b": 100, "zone-c": 100}
    world.hang(ONE)
    world.run_until(lambda: world.runs("hung-replica"), 20)


def test_what_a_person_gives_back_counts_as_out_of_service_no_more(world: World) -> None:
    world.slow.add(ONE)
    world.run_until(lambda: isolated(world) == {ONE}, 24)
    world.run(20)
    world.platform.set_rotation(ONE, True, expected_version=None, by=None)
    world.run(8)
    assert (isolated(world), claims(world)) == (set(), set())
    assert incident(world, ONE).state is IncidentState.FIRING


def test_only_one_of_two_slow_replicas_is_isolated_at_a_time(world: World) -> None:
    other = at("c/c1/0")
    world.slow |= {ONE, other}
    world.run(60)
    assert len(isolated(world)) == 1
    assert len(world.runs("gray-replica-isolate")) == 1
    world.slow -= isolated(world)
    world.run_until(lambda: len(world.runs("gray-replica-isolate")) == 2, 80)

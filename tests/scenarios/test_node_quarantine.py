"""A node that its cluster does not reach: one is quarantined and replaced, a whole zone's are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.states import IncidentState, RunState
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

SHIPPED = Path(__file__).parents[2] / "playbooks" / "node-quarantine.yaml"
NODE = at("a/a1")
NAME = "node-quarantine"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents=f"{DOCUMENTS}---\n{SHIPPED.read_text(encoding='utf-8')}")
    made.run(20)
    return made


def signals(world: World) -> list[tuple[str, IncidentState]]:
    return [(each.signal, each.state) for each in world.incidents() if each.signal.startswith("node:")]


def serving(world: World) -> int:
    return sum(view.serves for _, view in world.platform.topology("chat").replicas())


def test_a_node_that_is_gone_is_replaced_and_gets_users_and_new_work_again(world: World) -> None:
    world.platform.set_reachable("node-a1", False)
    waited = world.run_until(lambda: world.runs(NAME), 30)
    assert 6 <= waited <= 12
    world.run_until(lambda: [run.state for run in world.runs(NAME)] == [RunState.SUCCEEDED], 90)

    writes = [(each.op, each.after) for each in world.platform.writes() if each.by]
    ops = ["schedulable", "rotation", "rotation", "replace", "rotation", "rotation", "schedulable"]
    assert [op for op, _ in writes] == ops
    assert serving(world) == 12
    world.run(20)
    assert signals(world) == [(f"node:not-ready@{NODE}", IncidentState.RESOLVED)]
    with world.database.reading() as tx:
        assert tx.ledger.list() == []
    assert world.runs("zone-failover") == []


def test_one_that_comes_back_by_itself_is_not_replaced(world: World) -> None:
    world.platform.set_reachable("node-a1", False)
    world.run_until(lambda: world.runs(NAME), 30)
    world.run(8)
    world.platform.set_reachable("node-a1", True)
    world.run_until(lambda: [run.state for run in world.runs(NAME)] == [RunState.SUCCEEDED], 60)

    assert "replace" not in {each.op for each in world.platform.writes()}
    assert serving(world) == 12


def test_a_zone_whose_nodes_are_all_gone_is_left_and_no_machine_is_replaced(world: World) -> None:
    for node in ("node-a1", "node-a2"):
        world.platform.set_reachable(node, False)
    world.run_until(lambda: world.weights()["zone-a"] == 0, 30)
    world.run(60)
    assert world.runs(NAME) == []
    assert signals(world) == []


def test_the_one_that_stays_away_in_a_zone_that_was_left_is_replaced_and_the_zone_comes_back(
    world: World,
) -> None:
    for node in ("node-a1", "node-a2"):
        world.platform.set_reachable(node, False)
    world.run_until(lambda: world.weights()["zone-a"] == 0, 30)
    world.platform.set_reachable("node-a2", True)
    world.run_until(lambda: [run.state for run in world.runs(NAME)] == [RunState.SUCCEEDED], 120)
    world.run_until(lambda: world.weights()["zone-a"] == 100, 120)
    assert serving(world) == 12

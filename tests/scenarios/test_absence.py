"""Absence through the loop: a node's own silence is answered, the observer's is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.states import IncidentState
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

PLAYBOOK = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: gone}
spec:
  triggers:
    - {type: absence, of: gpu_use, for: 10s, by: node}
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 0}}
"""
NODES = [at(f"{zone}/{zone}{number}") for zone in "abc" for number in (1, 2)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents=DOCUMENTS + PLAYBOOK)
    for node in NODES:
        made.source.put(
            "DCGM_FI_DEV_GPU_UTIL", 50.0, zone=str(node.zone), node=str(node.node), UUID=f"GPU-{node.node}"
        )
    made.run(20)
    return made


def test_a_node_whose_series_is_gone_is_answered_after_its_time(world: World) -> None:
    world.source.drop(UUID=f"GPU-{NODES[0].node}")
    waited = world.run_until(lambda: world.runs("gone"), 30)
    assert 10 <= waited <= 16
    assert [(each.signal, each.state) for each in world.incidents()] == [
        (f"absence:gpu_use@{NODES[0]}", IncidentState.FIRING)
    ]


def test_when_nobody_has_it_the_observer_is_suspected(world: World) -> None:
    for node in NODES:
        world.source.drop(UUID=f"GPU-{node.node}")
    world.run(60)
    assert (world.incidents(), world.runs("gone")) == ([], [])

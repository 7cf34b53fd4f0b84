"""XIDs through the loop: one event, one incident, one run, with the code and the rung in its scope."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.states import IncidentState, RunState
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

PLAYBOOK = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: gpu-notice}
spec:
  triggers:
    - {type: gpu}
  when: incident.rung in ["restart-engine", "reset-gpu", "replace-node"] and incident.xid != 45
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 0}}
"""
REPLICA, NODE = at("a/a1/0"), at("a/a1")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents=DOCUMENTS + PLAYBOOK)
    show(made, 0)
    made.run(20)
    return made


def show(world: World, code: int) -> None:
    """Write the gauge as the exporter does: a new code is a new series."""
    labels = {"zone": "zone-a", "node": str(NODE.node), "UUID": "GPU-1", "pod": str(REPLICA.replica)}
    world.source.drop(UUID="GPU-1")
    world.source.put("DCGM_FI_DEV_XID_ERRORS", float(code), **labels, err_code=str(code))


def errors(world: World) -> list[tuple[str, str, IncidentState]]:
    return [(each.signal, each.tier, each.state) for each in world.incidents() if each.signal[:3] == "gpu"]


def test_an_error_is_one_incident_and_one_run_however_long_the_gauge_keeps_it(world: World) -> None:
    show(world, 31)
    waited = world.run_until(lambda: world.runs("gpu-notice"), 10)
    assert waited <= 8
    world.run(100)
    assert errors(world) == [(f"gpu:xid-31@{REPLICA}", "restart-engine", IncidentState.RESOLVED)]
    (run,) = world.runs("gpu-notice")
    assert (run.state, run.target) == (RunState.SUCCEEDED, str(REPLICA))
    scope = run.scope["incident"]
    assert (scope["xid"], scope["rung"], scope["fault"]) == (31, "restart-engine", "app")


def test_a_take_over_repeats_nothing_and_the_next_time_is_a_rung_higher(world: World) -> None:
    show(world, 31)
    world.run(100)
    world.controller.close()
    world.controller = world.new_controller("two")
    world.run(40)
    assert len(errors(world)) == 1
    show(world, 0)
    world.run(4)
    show(world, 31)
    world.run(20)
    assert errors(world)[1:] == [(f"gpu:xid-31@{REPLICA}", "reset-gpu", IncidentState.FIRING)]
    assert [run.scope["incident"]["rung"] for run in world.runs("gpu-notice")] == [
        "restart-engine",
        "reset-gpu",
    ]


def test_an_error_of_the_machine_is_the_nodes(world: World) -> None:
    show(world, 79)
    world.run(10)
    assert errors(world) == [(f"gpu:xid-79@{NODE}", "replace-node", IncidentState.FIRING)]


def test_a_warning_is_a_ticket_that_nobody_answers(world: World) -> None:
    show(world, 63)
    world.run(20)
    assert [each.severity for each in world.incidents()] == ["ticket"]
    assert world.runs("gpu-notice") == []


def test_an_error_that_is_answered_late_is_answered_all_the_same(world: World) -> None:
    """It has happened: that nothing is shown of it any more does not mend the card."""
    world.work = False
    show(world, 31)
    world.run(100)
    assert [(each.state, each.calm_since) for each in world.incidents()] == [(IncidentState.RESOLVED, None)]
    world.work = True
    world.run(4)
    assert [run.state for run in world.runs("gpu-notice")] == [RunState.SUCCEEDED]

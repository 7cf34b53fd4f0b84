"""A replica that is kept out of rotation and then breaks is mended all the same: nobody else would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.model.states import IncidentState, RunState
from controlplane.model.target import Target
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

SHIPPED = Path(__file__).parents[2] / "playbooks"
ONE = at("b/b1/0")


def hang(world: World) -> None:
    world.hang(ONE)


def err(world: World) -> None:
    """Let the exporter tell of an error of the card, which an engine's start mends."""
    labels = {"zone": "zone-b", "node": str(ONE.node), "UUID": "GPU-1", "pod": ONE.name}
    world.source.drop(UUID="GPU-1")
    world.source.put("DCGM_FI_DEV_XID_ERRORS", 31.0, **labels, err_code="31")


@pytest.fixture
def world(tmp_path: Path) -> World:
    shipped = [(SHIPPED / f"{name}.yaml").read_text() for name in ("gpu-ladder",)]
    made = World(tmp_path, documents="---\n".join([f"{DOCUMENTS}\n", *shipped]))
    labels = {"zone": "zone-b", "node": str(ONE.node), "UUID": "GPU-1", "pod": ONE.name}
    made.source.put("DCGM_FI_DEV_XID_ERRORS", 0.0, **labels, err_code="0")
    made.run(20)
    return made


def restarted(world: World) -> list[Target]:
    return [Target.parse(each.target) for each in world.platform.writes() if each.op == "restart"]


@pytest.mark.parametrize(("broken", "playbook"), [(hang, "hung-replica"), (err, "gpu-ladder")])
def test_it_is_restarted_once_and_no_more_when_it_is_given_back(
    world: World, broken: Callable[[World], None], playbook: str
) -> None:
    world.platform.set_rotation(ONE, False, expected_version=None, by=None)
    world.run(10)
    broken(world)
    world.run_until(lambda: restarted(world) == [ONE], 30)
    world.run_until(lambda: [run.state for run in world.runs(playbook)] == [RunState.SUCCEEDED], 90)
    world.platform.set_rotation(ONE, True, expected_version=None, by=None)
    world.run(50)
    assert restarted(world) == [ONE]
    assert len(world.runs(playbook)) == 1
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}


@pytest.mark.parametrize(("broken", "playbook"), [(hang, "hung-replica"), (err, "gpu-ladder")])
def test_one_that_was_mended_before_it_was_isolated_is_not_mended_again_for_that(
    world: World, broken: Callable[[World], None], playbook: str
) -> None:
    broken(world)
    world.run_until(lambda: restarted(world) == [ONE], 30)
    world.platform.set_rotation(ONE, False, expected_version=None, by=None)
    world.run(140)
    assert restarted(world) == [ONE]
    assert len(world.runs(playbook)) == 1

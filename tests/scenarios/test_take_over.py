"""A leader dies in the middle: the next one sees at once, knows its windows soon, tells nothing untrue."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.objectives import OBJECTIVES, ObjectivesSnapshot, ObjectiveStatus
from controlplane.model.states import IncidentState
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

TIERS = "tiers: [{name: slow, factor: 2, long: 5m, short: 30s, severity: page}]\n"
SLOS = DOCUMENTS.replace(
    "by: [service, zone]\n", f"by: [service, zone]\n  window: {{rolling: 1h}}\n  {TIERS}", 1
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, mode="observe", documents=SLOS)
    made.source.kept = []
    made.run(40)
    return made


def take_over(world: World) -> None:
    world.controller.close()
    world.controller = world.new_controller(f"after {world.clock.now():%H:%M:%S}")


def standing(world: World) -> ObjectiveStatus:
    with world.database.reading() as tx:
        body = tx.snapshots.get(OBJECTIVES, service="chat")
    return next(
        each for each in ObjectivesSnapshot.model_validate(body).objectives if each.name == "chat-itl"
    )


def states(world: World) -> list[IncidentState]:
    return [each.state for each in world.incidents() if each.signal == f"slo:chat-itl@{at('a')}"]


def test_an_incident_goes_on_through_it_and_is_over_once_the_windows_are_known(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    assert states(world) == [IncidentState.FIRING]
    take_over(world)
    world.slow.clear()
    world.run(10)
    assert states(world) == [IncidentState.FIRING]
    world.run(60)
    assert states(world) == [IncidentState.RESOLVED]


def test_trouble_that_begins_then_is_seen_by_the_fast_tier_within_two_ticks(world: World) -> None:
    take_over(world)
    world.slow.add(at("a"))
    world.run(8)  # a tick to read what was, two of slow steps to fill the window, and two to see them
    assert states(world) == [IncidentState.FIRING]


def test_nothing_fires_after_it_that_did_not_before(world: World) -> None:
    take_over(world)
    world.run(70)
    assert world.incidents() == []


def test_the_budget_is_that_of_one_that_was_never_interrupted(world: World) -> None:
    """What was slow is counted once, whoever counts it, and is known when the past is read."""
    world.slow.add(at("a"))
    world.run(20)
    world.slow.clear()
    world.run(40)
    before = standing(world)
    take_over(world)
    world.run(30)
    after = standing(world)
    assert after.observed * 3600 == pytest.approx(before.observed * 3600 + 30, abs=4)
    assert after.budget_left == pytest.approx(before.budget_left, abs=2e-3)

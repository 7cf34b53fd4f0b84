"""Objectives in the loop: an outage is an incident within two ticks, silence is unknown, and all is shown."""

from __future__ import annotations

from pathlib import Path

from controlplane.controller.standing import SAVED_EVERY
from controlplane.model.objectives import ObjectiveStatus
from controlplane.model.states import IncidentState
from controlplane.model.target import Target
from controlplane.store.objectives import objective
from tests.scenarios.loop_world import TICK, World
from tests.support.chat_documents import SERVICE, joined

_OBJECTIVES = """
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: clients}
spec:
  service: chat
  indicator: success
  target: 99.9%
  window: {calendar: {unit: month}}
  by: [service]
  fast: {window: 6s, below: 80%, minSamples: 8}
---
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: seen}
spec:
  service: chat
  indicator: canary
  target: 99%
  by: [service]
  budgeting: {method: timeslices, slice: 10s, sliceTarget: 90%}
  minEvents: 2
  tiers: [{name: page, factor: 10, long: 2m, short: 30s}]
"""
DOCUMENTS = joined(SERVICE, _OBJECTIVES)
WHOLE = Target("chat", "local")


def status(world: World, name: str) -> ObjectiveStatus:
    with world.database.reading() as tx:
        return objective(tx, name)[1]


def firing(world: World) -> list[str]:
    return [each.signal for each in world.incidents(open=True) if each.state is IncidentState.FIRING]


def test_a_total_outage_is_an_incident_within_two_ticks(tmp_path: Path) -> None:
    world = World(tmp_path, documents=DOCUMENTS)
    world.run(60)
    assert firing(world) == []
    assert status(world, "clients").state == "good"
    world.dead.add(WHOLE)
    assert world.run_until(lambda: firing(world), 60) <= 2 * TICK
    world.run(12)
    shown = status(world, "clients")
    assert shown.state == "bad"
    assert shown.places[0].firing[0] == "fast"
    assert shown.budget_left is not None
    assert shown.budget_left < 1


def test_bad_slices_of_time_burn_and_a_take_over_knows_the_budget(tmp_path: Path) -> None:
    world = World(tmp_path, documents=DOCUMENTS)
    world.run(60)
    world.dead.add(WHOLE)
    world.run(60)
    shown = status(world, "seen")
    assert shown.tiers[0].burn_long is not None
    assert shown.tiers[0].fires
    world.run(30)
    before = status(world, "seen")
    world.controller = world.new_controller("two")
    world.run(20)
    after = status(world, "seen")
    lost = SAVED_EVERY / 10  # a canary has no past to be read again: what was not written down is lost
    assert after.total >= before.total - lost > 0


def test_silence_of_a_source_is_unknown_and_fires_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, documents=DOCUMENTS)
    world.run(60)
    world.source.broken = True
    world.run(300)
    assert firing(world) == []
    assert status(world, "clients").state == "unknown"

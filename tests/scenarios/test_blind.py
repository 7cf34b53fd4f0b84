"""The observer is lost: people are told and told again, and nothing is done to the fleet."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Verdict
from controlplane.model.states import IncidentState, RunState
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

SHIPPED = (Path(__file__).parents[2] / "playbooks" / "prometheus-blind.yaml").read_text()
OWN = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: stop-everything}
spec:
  triggers: [{type: absence, sources: all, for: 6s}]
  steps:
    - {id: stop, uses: halt, with: {reason: nobody sees anything, for: 30m}}
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: restart-something}
spec:
  windows: {inFreeze: run}
  triggers: [{type: absence, sources: any, for: 6s}]
  steps:
    - {id: tell, uses: notify.send, with: {channel: oncall, title: restarting}}
    - {id: restart, uses: replica.restart, with: {replica: replica-a1-0}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents=f"{DOCUMENTS}\n---\n{SHIPPED}{OWN}")
    made.numbers.values = [12.0]
    made.run(20)
    return made


def go_blind(world: World) -> None:
    world.source.broken = True
    world.numbers.values = [Unavailable("no metrics source")]


def told(world: World) -> list[str]:
    return [sent[0].title for sent in world.outbox.sent]


def test_people_are_told_once_and_the_fleet_is_left_alone(world: World) -> None:
    go_blind(world)
    world.slow.add(at("a"))
    assert world.run_until(lambda: told(world), 20) <= 12
    world.run(120)
    assert told(world) == ["Automation of chat is blind"]
    assert [run.state for run in world.runs("prometheus-blind")] == [RunState.RUNNING]
    assert world.platform.writes() == []
    assert world.runs("zone-failover") == []


def test_when_it_sees_again_they_are_told_and_the_incident_is_over(world: World) -> None:
    go_blind(world)
    world.run(30)
    world.source.broken, world.numbers.values = False, [12.0]
    world.run_until(lambda: len(told(world)) == 2, 20)
    world.run(20)
    assert told(world)[1] == "Automation of chat sees again"
    assert [run.state for run in world.runs("prometheus-blind")] == [RunState.SUCCEEDED]
    assert {each.state for each in world.incidents() if each.signal.startswith("absence:sources-any")} == {
        IncidentState.RESOLVED
    }


def test_a_halt_may_be_raised_while_blind_and_nothing_that_could_harm(world: World) -> None:
    go_blind(world)
    world.seen.broken = True  # for `all`: the platform is a source too
    world.run(30)
    with world.database.reading() as tx:
        assert [halt.reason for halt in tx.halts.in_force()] == ["nobody sees anything"]
    assert world.runs("restart-something") == []
    refused = world.decisions(playbook="restart-something")[0]
    assert next(each.guard for each in refused.guards if each.verdict is not Verdict.ALLOW) == "sources"
    passed = world.decisions(playbook="stop-everything")[0]
    sources = next(each for each in passed.guards if each.guard == "sources")
    assert sources.verdict is Verdict.ALLOW
    assert sources.message.endswith("its actions change nothing of the fleet")

"""An error budget that is spent freezes changes, and remedies go on; what is back of it ends the freeze."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.model.records import Freeze
from tests.scenarios.loop_world import World

ROOT = Path(__file__).parents[2]
LAB = ROOT / "chaos" / "lab" / "fleet"
OWN = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: risky}
spec:
  triggers: [{type: schedule, cron: "* * * * *"}]
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 0}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    slos = (LAB / "slos.yaml").read_text().replace("rolling: 10m", "rolling: 2m")
    files = [LAB / "service.yaml", LAB / "policy.yaml", ROOT / "playbooks" / "budget-freeze.yaml"]
    made = World(tmp_path, documents="\n---\n".join([*(file.read_text() for file in files), slos, OWN]))
    made.run(20)
    return made


def freezes(world: World) -> list[Freeze]:
    with world.database.reading() as tx:
        return tx.freezes.in_force("chat")


def spend(world: World) -> None:
    world.crowd = 4.0
    world.run(14)
    world.crowd = 0.0
    world.run_until(lambda: world.backlog == 0, 200)


def test_a_spent_budget_freezes_changes_until_a_tenth_is_back(world: World) -> None:
    assert freezes(world) == []
    spend(world)
    assert [each.by for each in freezes(world)] == [f"run {world.runs('budget-freeze')[0].id}"]
    assert "budget chat-wait<0" in freezes(world)[0].reason
    world.run(62)
    frozen = next(each for each in world.decisions(playbook="risky") if each.outcome == "queued")
    assert next(each.message for each in frozen.guards if each.guard == "freeze").startswith("frozen by run ")
    assert [sent[1] for sent in world.outbox.sent] == ["oncall"]
    world.run_until(lambda: not freezes(world), 200)
    assert [each for each in world.incidents(open=True) if each.signal.startswith("budget:")] == []
    assert len(world.runs("budget-freeze")) == 1


def test_what_was_spent_is_known_after_a_take_over(world: World) -> None:
    spend(world)
    world.run(32)  # they are written down now and then
    world.controller = world.new_controller("two")
    world.run(20)
    assert len(freezes(world)) == 1


def test_a_person_lifts_it_by_undoing_the_run(world: World) -> None:
    spend(world)
    with world.database.transaction() as tx:
        tx.freezes.lift(freezes(world)[0].id)
    assert freezes(world) == []

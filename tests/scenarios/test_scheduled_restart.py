"""The weekly restart through the loop: in its window, one at a time, and never beside an incident."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controlplane.model.policy import Policy
from controlplane.model.states import RunState
from controlplane.model.target import Target
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

SHIPPED = Path(__file__).parents[2] / "playbooks" / "scheduled-restart.yaml"
NAME = "scheduled-restart"
TUESDAY = datetime(2026, 1, 6, 3, tzinfo=UTC)
NIGHT = {"name": "maintenance", "cron": "0 2 * * *", "duration": "3h"}


def made(folder: Path, **policy: object) -> World:
    world = World(folder, documents=f"{DOCUMENTS}---\n{SHIPPED.read_text(encoding='utf-8')}")
    body = {"kind": "Policy", "metadata": {"name": "policy"}, "spec": {"maintenance": [NIGHT], **policy}}
    with world.database.transaction() as tx:
        tx.documents.put(Policy.model_validate(body))
    world.run(4)
    world.clock.advance((TUESDAY - timedelta(seconds=30) - world.clock.now()).total_seconds())
    world.run(20)
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made(tmp_path)


def restarted(world: World) -> list[str]:
    return [Target.parse(each.target).name for each in world.platform.writes() if each.op == "restart"]


def test_it_begins_in_its_window_one_at_a_time_and_waits_while_a_zone_fails(world: World) -> None:
    assert world.runs(NAME) == []
    world.run_until(lambda: len(restarted(world)) == 2, 120)
    world.slow.add(at("c"))
    world.run_until(lambda: world.weights()["zone-c"] == 0, 30)
    world.run(16)
    done = restarted(world)
    assert done == ["replica-a1-0", "replica-a1-1", "replica-a2-0"][: len(done)]
    world.run(30)
    assert restarted(world) == done

    world.slow.clear()
    world.run_until(lambda: len(restarted(world)) > len(done), 200)
    assert world.weights()["zone-c"] == 100
    out: set[str] = set()
    for each in world.platform.writes():
        if each.op == "rotation":
            out ^= {each.target}
        assert len(out) <= 1
    assert [run.state for run in world.runs(NAME)] == [RunState.RUNNING]


def test_outside_of_its_window_it_waits_and_lapses(tmp_path: Path) -> None:
    world = made(tmp_path, maintenance=[{**NIGHT, "cron": "0 12 * * *"}])
    world.run(60)
    assert world.runs(NAME) == []
    assert [each.outcome for each in world.decisions(playbook=NAME)] == ["queued"]
    world.clock.advance(3600)
    world.run(20)
    assert world.runs(NAME) == []
    assert [each.outcome for each in world.decisions(playbook=NAME)] == ["queued", "refused"]


def test_each_replica_is_claimed_by_the_run_while_it_is_out(world: World) -> None:
    world.run_until(lambda: len(restarted(world)) == 1, 120)
    (run,) = world.runs(NAME)
    seen: set[str] = set()
    for _ in range(60):
        world.step()
        with world.database.reading() as tx:
            rows = tx.ledger.list()
        out = {
            str(place) for place, view in world.platform.topology("chat").replicas() if not view.in_rotation
        }
        assert {row.holder for row in rows} <= {run.id}
        assert out <= {row.target for row in rows}
        seen |= out
    assert len(seen) >= 3


def test_it_waits_for_what_others_have_taken_out(world: World) -> None:
    """Its own limit is one replica: what a drill or a person has taken counts for that too."""
    world.run_until(lambda: len(restarted(world)) == 1, 120)
    world.platform.set_rotation(at("c/c2/1"), False, expected_version=None, by=None)
    world.run(60)
    (run,) = world.runs(NAME)
    assert len(restarted(world)) <= 2
    assert "waits for blast radius: 2 of 12 replicas would be out of service, the limit is 1" in run.waiting
    world.platform.set_rotation(at("c/c2/1"), True, expected_version=None, by=None)
    world.run_until(lambda: len(restarted(world)) >= 4, 120)

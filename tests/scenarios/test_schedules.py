"""What the clock calls for: once per due time, through restarts, take-overs, freezes and pauses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controlplane.kernel.errors import FleetwardError
from controlplane.model.documents import load_bundle
from controlplane.model.policy import Policy
from controlplane.model.states import RunState
from controlplane.store import schedules
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import ZONES, at

FOUR = datetime(2026, 1, 1, 4, tzinfo=UTC)
PLAYBOOK = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: nightly}
spec:
  triggers:
    - {type: schedule, cron: "0 4 * * *", startingDeadline: 2m, SPEC}
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 0}}
"""

Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(spec: str = "by: service", **policy: object) -> World:
        world = World(tmp_path, documents=DOCUMENTS + PLAYBOOK.replace("SPEC", spec))
        if policy:
            body = {"kind": "Policy", "metadata": {"name": "policy"}, "spec": policy}
            with world.database.transaction() as tx:
                tx.documents.put(Policy.model_validate(body))
        world.run(20)
        return world

    return made


def go_to(world: World, moment: datetime) -> None:
    """Let the time come without anybody looking."""
    world.clock.advance((moment - world.clock.now()).total_seconds())


def started(world: World) -> list[str | None]:
    return [run.target for run in world.runs("nightly")]


def test_nothing_starts_before_its_time_and_once_when_it_has_come(make: Make) -> None:
    world = make()
    go_to(world, FOUR - timedelta(seconds=20))
    world.run(18)
    assert started(world) == []
    world.run(60)
    assert [run.state for run in world.runs("nightly")] == [RunState.SUCCEEDED]
    run = world.runs("nightly")[0]
    assert (run.target, run.incident, run.trigger) == (
        "chat/local",
        None,
        "schedule:0 4 * * * UTC by service",
    )
    go_to(world, FOUR + timedelta(days=1, seconds=-1))
    world.run(60)
    assert len(world.runs("nightly")) == 2


def test_by_zone_it_starts_once_for_each_zone(make: Make) -> None:
    world = make("by: zone")
    go_to(world, FOUR)
    world.run(60)
    assert sorted(str(target) for target in started(world)) == [str(at(zone[-1])) for zone in ZONES]
    assert {run.scope["incident"]["zone"] for run in world.runs("nightly")} == set(ZONES)


def test_a_take_over_in_the_minute_starts_nothing_twice(make: Make) -> None:
    world = make()
    go_to(world, FOUR)
    world.run_until(lambda: started(world), 40)
    world.controller.close()
    world.controller = world.new_controller("two")
    world.run(60)
    assert len(started(world)) == 1


def test_a_leader_that_dies_before_its_commit_leaves_the_time_due(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    go_to(world, FOUR)

    def broken(self: object, schedule: object) -> None:
        msg = "the machine is gone"
        raise FleetwardError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(schedules.ScheduleRepository, "put", broken)
        world.run(30)
        assert started(world) == []
    world.controller = world.new_controller("two")
    world.run(60)
    assert len(started(world)) == 1


def test_what_was_missed_is_left_out_and_said(make: Make) -> None:
    world = make()
    go_to(world, FOUR + timedelta(hours=3))
    world.run(60)
    assert started(world) == []
    (decision,) = world.decisions(playbook="nightly")
    assert (decision.outcome, decision.guards[0].guard) == ("refused", "schedule")
    assert "due 2026-01-01T04:00:00.000Z" in decision.guards[0].message


def test_what_was_missed_often_is_made_up_for_once_if_it_says_so(make: Make) -> None:
    world = make("missed: runOnce")
    go_to(world, FOUR + timedelta(days=5, hours=3))
    world.run(60)
    assert len(started(world)) == 1


def test_a_playbook_that_is_new_begins_now_not_in_the_past(make: Make) -> None:
    world = make("missed: runOnce")
    late = PLAYBOOK.replace("nightly", "late").replace("SPEC", "missed: runOnce")
    bundle = load_bundle([("late.yaml", late)]).raise_problems()
    go_to(world, FOUR + timedelta(minutes=1))
    with world.database.transaction() as tx:
        tx.documents.put(bundle.loaded[0].model)
    world.run(60)
    assert (len(world.runs("nightly")), world.runs("late")) == (1, [])


FREEZE = {"name": "launch", "start": "2026-01-01T00:00:00Z"}


def test_a_freeze_holds_it_up_until_its_deadline(make: Make) -> None:
    world = make(freeze=[{**FREEZE, "end": "2026-01-01T04:01:00Z"}])
    go_to(world, FOUR - timedelta(seconds=10))
    world.run(66)
    assert started(world) == []
    assert world.decisions(playbook="nightly")[-1].outcome == "queued"
    world.run(10)
    assert len(started(world)) == 1


def test_a_freeze_that_outlasts_the_deadline_ends_it(make: Make) -> None:
    world = make(freeze=[{**FREEZE, "end": "2026-01-02T00:00:00Z"}])
    go_to(world, FOUR - timedelta(seconds=10))
    world.run(140)
    assert started(world) == []
    assert [each.outcome for each in world.decisions(playbook="nightly")] == ["queued", "refused"]
    go_to(world, datetime(2026, 1, 2, tzinfo=UTC))
    world.run(20)
    assert started(world) == []


def test_no_row_is_left_of_a_trigger_that_is_no_more(make: Make) -> None:
    world = make()
    with world.database.reading() as tx:
        assert [row.playbook for row in tx.schedules.list()] == ["nightly"]
    changed = PLAYBOOK.replace("0 4", "0 5").replace("SPEC", "by: service")
    bundle = load_bundle([("new.yaml", changed)]).raise_problems()
    with world.database.transaction() as tx:
        tx.documents.put(bundle.loaded[0].model)
    world.run(4)
    with world.database.reading() as tx:
        assert [row.trigger for row in tx.schedules.list()] == ["schedule:0 5 * * * UTC by service"]

"""The built-in actions under the engine: failover and fail-back, harm on the way, people in between.

Effects are counted in the platform's own write log.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Fenced
from controlplane.model.action import UndoStatus
from controlplane.model.states import RunState, StepState
from controlplane.model.topology import WriteTag
from tests.support.rig import Rig
from tests.support.scripted import Scripted

CHECK = {"id": "headroom", "uses": "capacity.check", "with": {"without": "zone-a", "perReplica": 4}}
SHIFT = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0, "over": "5s"}}
RESTORE = {"id": "restore", "uses": "traffic.restore", "with": {"zone": "zone-a"}, "timeout": "5m"}
FAIL = {"id": "fail", "uses": "query.wait", "with": {"query": "q", "condition": "result + 1"}}


def shares(rig: Rig, run_id: str) -> list[int]:
    """Return what a run wrote for zone-a, from the platform's own log."""
    return [
        record.after["zone-a"] for record in rig.platform.writes() if record.by and record.by.run == run_id
    ]


def evacuated(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    run = rig.start({**SHIFT, "with": {"zone": "zone-a", "weight": 0}})
    assert rig.finish(run).state == RunState.SUCCEEDED
    return rig


def pass_until(rig: Rig, weight: int) -> None:
    for _ in range(400):
        if rig.weights()["zone-a"] == weight:
            return
        rig.pass_time(0.5)
    raise AssertionError(f"zone-a never came to {weight}: {rig.weights()}")


def test_a_failover_checks_the_capacity_then_ramps_down_within_its_time(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.metrics.values = [16.0]
    run = rig.start(CHECK, SHIFT)

    assert rig.finish(run).state == RunState.SUCCEEDED

    assert rig.steps(run)["headroom"].outputs["ratio"] == pytest.approx(1.333)
    assert shares(rig, run.id) == [83, 66, 50, 33, 17, 0]
    times = [record.at for record in rig.platform.writes()]
    assert times[-1] - times[0] == timedelta(seconds=5)
    assert rig.out_of_service() == {"chat/local/zone-a"}


def test_too_little_capacity_stops_the_failover_before_anything_is_touched(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.metrics.values = [30.0]
    run = rig.start(CHECK, SHIFT)

    assert rig.finish(run).state == RunState.FAILED
    assert "ratio 0.71, under 1.05" in rig.steps(run)["headroom"].error
    assert rig.platform.writes() == []
    assert rig.out_of_service() == set()


def test_a_failback_raises_in_stages_and_gives_the_claim_up(tmp_path: Path) -> None:
    rig = evacuated(tmp_path)
    run = rig.start(RESTORE)

    assert rig.finish(run).state == RunState.SUCCEEDED
    assert shares(rig, run.id) == [5, 25, 100]
    assert rig.out_of_service() == set()


def test_a_failback_that_harms_goes_back_and_the_zone_stays_claimed(tmp_path: Path) -> None:
    rig = evacuated(tmp_path)
    run = rig.start(RESTORE)
    pass_until(rig, 25)
    rig.pass_time(4)
    rig.signals.clients = False

    ended = rig.finish(run)

    assert ended.state == RunState.FAILED
    assert shares(rig, run.id) == [5, 25, 0]
    assert "did not hold at 25" in rig.steps(run)["restore"].error
    assert rig.out_of_service() == {"chat/local/zone-a"}
    assert {view.status for view in rig.undo(run)} <= {UndoStatus.UNDONE, UndoStatus.KEPT}


def test_a_failback_that_can_see_nothing_raises_nothing_and_times_out(tmp_path: Path) -> None:
    rig = evacuated(tmp_path)
    rig.signals.silent = True
    run = rig.start({**RESTORE, "timeout": "30s"})

    ended = rig.finish(run)

    assert ended.state == RunState.FAILED
    assert shares(rig, run.id) == []
    assert "nothing has been measured yet" in rig.steps(run)["restore"].error or "waiting" in ended.reason


def test_a_failed_run_gives_the_zone_its_users_back_when_the_canary_is_good(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT, FAIL)

    assert rig.finish(run).state == RunState.FAILED
    assert [view.status for view in rig.undo(run)] == [UndoStatus.UNDONE]
    assert shares(rig, run.id)[-1] == 100
    assert rig.out_of_service() == set()


def test_a_failed_run_does_not_send_users_back_to_a_zone_that_is_not_good(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.signals.canary = False
    run = rig.start(SHIFT, FAIL)

    assert rig.finish(run).state == RunState.FAILED
    (view,) = rig.undo(run)
    assert (view.status, view.detail) == (
        UndoStatus.WITHHELD,
        "zone-a stays at 0: the canary of zone-a is not good",
    )
    assert rig.weights()["zone-a"] == 0
    assert rig.out_of_service() == {"chat/local/zone-a"}


def test_a_persons_change_in_the_middle_of_a_ramp_ends_the_run_and_stays(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT)
    pass_until(rig, 66)
    rig.platform.set_weights("chat", {"zone-a": 40}, expected_version=None, by=None)

    assert rig.finish(run).state == RunState.FAILED
    assert rig.weights()["zone-a"] == 40
    assert [view.status for view in rig.undo(run)] == [UndoStatus.FOREIGN]
    assert "zone-a is at weight 40" in rig.steps(run)["shift"].error


@pytest.mark.parametrize("when", ["before", "after", "lost"])
@pytest.mark.parametrize(
    ("step", "op"),
    [
        (SHIFT, "weights"),
        ({"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-a1-0"}}, "restart"),
    ],
)
def test_whatever_way_a_write_fails_the_effects_are_those_of_one_that_does_not(
    tmp_path: Path, step: dict[str, Any], op: str, when: Any
) -> None:
    rig = Rig(tmp_path)
    rig.platform.fail_next(op, when)
    run = rig.start({**step, "retry": {"limit": 1}})

    assert rig.finish(run).state == RunState.SUCCEEDED
    writes = [record for record in rig.platform.writes() if record.op == op]
    assert len(writes) == (6 if op == "weights" else 1)
    keys = [record.by.key for record in writes if record.by]
    assert len(set(keys)) == len(writes)


def test_a_worker_that_was_stopped_for_longer_than_its_lease_is_refused_by_the_platform(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT)
    pass_until(rig, 83)
    stale = next(record.by for record in rig.platform.writes() if record.by)
    rig.survive()
    rig.finish(run)

    assert stale.fence < max(record.by.fence for record in rig.platform.writes() if record.by)
    late = WriteTag(run=run.id, step="shift", attempt=1, fence=stale.fence, key="another")
    with pytest.raises(Fenced):
        rig.platform.set_weights("chat", {"zone-a": 83}, expected_version=None, by=late)
    assert rig.weights()["zone-a"] == 0


def test_people_are_told_which_zone_was_evacuated(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    tell = {
        "id": "tell",
        "uses": "notify.send",
        "with": {
            "channel": "oncall",
            "title": "{{ service.name }}: zone-a at {{ steps.shift.outputs.weight }}",
        },
    }
    run = rig.start(SHIFT, tell)

    assert rig.finish(run).state == RunState.SUCCEEDED
    ((message, channel, _, key),) = rig.outbox.sent
    assert (message.title, channel) == ("chat: zone-a at 0", "oncall")
    assert key.startswith(f"{run.id}/tell")


def test_a_wait_holds_the_run_until_the_queue_is_empty(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("after"))
    rig.metrics.values = [9.0, 4.0, 0.0]
    wait = {
        "id": "wait",
        "uses": "query.wait",
        "with": {"query": "q", "condition": "result < 1", "interval": "5s"},
    }
    run = rig.start(wait, {"id": "after", "uses": "after"})
    began = rig.clock.now()

    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["wait"].state == StepState.SUCCEEDED
    assert rig.steps(run)["wait"].outputs == {"result": 0.0, "looks": 3}
    assert (rig.clock.now() - began).total_seconds() == pytest.approx(10, abs=0.6)

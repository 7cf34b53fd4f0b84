"""`replica.isolate`: out of rotation while it runs on, and back only when that harms nobody."""

from typing import Any

import pytest

from controlplane.actions.replica_isolate import ReplicaIsolate
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")


def isolate(**with_: Any) -> StepDriver:
    return StepDriver(ReplicaIsolate(), **(with_ or {"replica": "replica-a1-0"}))


def effects(step: StepDriver) -> list[tuple[str, bool]]:
    return [(record.target, record.after) for record in step.platform.writes() if record.op == "rotation"]


def test_the_replica_leaves_rotation_and_runs_on() -> None:
    step = isolate()
    uid = step.view().uid

    assert step.run() == Done({"replica": str(REPLICA), "uid": uid})
    view = step.view()
    assert (view.uid, view.ready, view.in_rotation, view.serves) == (uid, True, False, False)
    assert effects(step) == [(str(REPLICA), False)]


def test_it_says_that_the_replica_loses_its_capacity() -> None:
    step = isolate()
    (touch,) = step.action.touches(step.parameters, step.context())

    assert (touch.target, touch.dimension, touch.returns) == (REPLICA, Dimension.CAPACITY, False)


def test_one_that_somebody_isolated_before_is_left_so_and_not_given_back_by_undo() -> None:
    step = isolate()
    step.platform.set_rotation(REPLICA, False, expected_version=None, by=None)

    assert isinstance(step.run(), Done)
    assert step.action.plan(step.parameters, step.context()) == []
    assert step.undo() == []
    assert step.view().in_rotation is False


def test_the_last_that_serves_a_zone_with_traffic_is_not_taken_out() -> None:
    step = isolate()
    for name in ("replica-a1-1", "replica-a2-0"):
        step.platform.stop_replica(name)
    target = Target("chat", "local", "zone-a", "node-a2", "replica-a2-1")
    step.platform.set_rotation(target, False, expected_version=None, by=None)

    outcome = step.run()

    assert outcome == Failed(
        FailureKind.PERMANENT,
        "zone-a gets traffic and would have no replica left: shift its traffic away first",
    )
    assert step.view().in_rotation is True
    step.set_weight(0)
    assert isinstance(step.run(), Done)


@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_is_looked_after_and_isolates_once(when: Any) -> None:
    step = isolate()
    step.platform.fail_next("rotation", when)

    assert isinstance(step.run(), Done)
    assert effects(step) == [(str(REPLICA), False)]


def test_a_crash_after_the_write_isolates_once_and_can_still_be_undone() -> None:
    step = isolate()
    step.crash()

    assert isinstance(step.run(), Done)
    assert effects(step) == [(str(REPLICA), False)]
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert step.view().in_rotation is True


def test_a_replica_that_changes_all_the_time_is_written_on_what_is_there() -> None:
    step = isolate()
    step.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=None)
    step.call()

    assert step.view().in_rotation is False


@pytest.mark.parametrize(
    ("canary", "silent", "detail"),
    [
        (False, False, "replica-a1-0 stays out of rotation: the canary of replica-a1-0 is not good"),
        (None, False, "replica-a1-0 stays out of rotation: the canary of replica-a1-0 says nothing"),
        (True, True, "replica-a1-0 stays out of rotation: nothing has been measured yet"),
    ],
)
def test_undo_sends_nobody_to_a_replica_that_is_not_known_to_be_good(
    canary: bool | None, silent: bool, detail: str
) -> None:
    step = isolate()
    step.run()
    step.signals.canary, step.signals.silent = canary, silent

    (result,) = step.undo()

    assert (result.status, result.detail) == (UndoStatus.WITHHELD, detail)
    assert step.view().in_rotation is False


def test_undo_of_what_somebody_gave_back_changes_nothing() -> None:
    step = isolate()
    step.run()
    step.platform.set_rotation(REPLICA, True, expected_version=None, by=None)
    step.signals.canary = False

    (result,) = step.undo()

    assert (result.status, result.detail) == (UndoStatus.UNDONE, "replica-a1-0 is in rotation already")
    assert effects(step) == [(str(REPLICA), False), (str(REPLICA), True)]


def test_a_platform_that_does_not_answer_is_the_engines_to_retry() -> None:
    step = isolate()
    step.platform.fail_next("rotation", "before")

    with pytest.raises(Unavailable):
        step.call()
    assert effects(step) == []

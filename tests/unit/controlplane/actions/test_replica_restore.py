"""`replica.restore`: clients come back to what is known to be good, and leave again when it does not hold."""

from typing import Any

import pytest

from controlplane.actions.replica_restore import ReplicaRestore
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")


def restore(*, isolated: bool = True, **with_: Any) -> StepDriver:
    step = StepDriver(ReplicaRestore(), **{"replica": "replica-a1-0", **with_})
    if isolated:
        step.platform.set_rotation(REPLICA, False, expected_version=None, by=None)
    return step


def written(step: StepDriver) -> list[bool]:
    return [record.after for record in step.platform.writes() if record.by is not None]


def advance_to_hold(step: StepDriver) -> None:
    while step.state.get("phase") != "hold":
        outcome = step.call()
        assert isinstance(outcome, Again), outcome
        step.clock.advance(outcome.after)


def test_a_replica_whose_canary_is_good_gets_its_clients_back_and_is_watched() -> None:
    step = restore()

    assert step.run() == Done({"replica": str(REPLICA)})
    assert (step.view().in_rotation, written(step)) == (True, [True])
    assert step.clock.monotonic() == pytest.approx(15)


def test_one_that_is_in_rotation_is_left_as_it_is() -> None:
    step = restore(isolated=False)

    assert step.action.plan(step.parameters, step.context()) == []
    assert isinstance(step.run(), Done)
    assert (written(step), step.undo()) == ([], [])


def test_it_says_that_the_replica_returns() -> None:
    step = restore()
    (touch,) = step.action.touches(step.parameters, step.context())

    assert (touch.target, touch.dimension, touch.returns) == (REPLICA, Dimension.CAPACITY, True)


def test_a_bad_canary_keeps_it_out_without_a_write() -> None:
    step = restore()
    step.signals.canary = False

    outcome = step.run()

    why = "the canary of replica-a1-0 is not good"
    outputs = {"replica": str(REPLICA), "reason": why}
    assert outcome == Failed(FailureKind.PERMANENT, f"replica-a1-0 stays out of rotation: {why}", outputs)
    assert written(step) == []


@pytest.mark.parametrize("unknown", [{"canary": None}, {"silent": True}, {"age": 10.1}, {"canary_age": 10.1}])
def test_it_is_not_given_back_while_nobody_knows_whether_it_is_good(unknown: dict[str, Any]) -> None:
    step = restore()
    for name, value in unknown.items():
        setattr(step.signals, name, value)

    with pytest.raises(AssertionError, match="waiting: "):
        step.run(limit=60)
    assert written(step) == []


@pytest.mark.parametrize("bad", ["canary", "part"])
def test_what_is_bad_with_its_clients_is_taken_out_again_at_once(bad: str) -> None:
    step = restore()
    advance_to_hold(step)
    step.clock.advance(3)
    setattr(step.signals, bad, False)
    before = step.clock.monotonic()

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.PERMANENT
    assert outcome.message.startswith("replica-a1-0 did not hold and is out of rotation again: ")
    assert (written(step), step.view().in_rotation) == ([True, False], False)
    assert step.clock.monotonic() == before


def test_samples_from_before_it_had_clients_do_not_count() -> None:
    step = restore()
    step.signals.part, step.signals.window = False, 3600

    assert isinstance(step.run(), Done)


def test_an_end_that_nobody_saw_is_waited_for() -> None:
    step = restore(hold="6s")
    advance_to_hold(step)
    step.signals.canary = None

    with pytest.raises(AssertionError, match="waiting: "):
        step.run(limit=60)
    step.signals.canary = True
    assert isinstance(step.run(), Done)


def test_somebody_elses_hand_is_respected() -> None:
    step = restore()
    advance_to_hold(step)
    step.platform.set_rotation(REPLICA, False, expected_version=None, by=None)

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert outcome.message == "somebody else has taken replica-a1-0 out again"
    assert step.view().in_rotation is False


@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_is_looked_after_and_gives_back_once(when: Any) -> None:
    step = restore()
    step.platform.fail_next("rotation", when)

    assert isinstance(step.run(), Done)
    assert written(step) == [True]


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_crash_at_any_call_gives_back_once_and_watches(calls: int) -> None:
    step = restore()
    for _ in range(calls):
        outcome = step.call()
        assert isinstance(outcome, Again)
        step.clock.advance(outcome.after)
    step.crash()

    assert isinstance(step.run(), Done)
    assert written(step) == [True]
    assert step.clock.monotonic() >= 15


def test_undo_takes_it_out_again() -> None:
    step = restore()
    step.run()

    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert step.view().in_rotation is False

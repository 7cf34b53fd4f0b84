"""`node.restore`: users and new work come back to a node when all of it is well, and not before."""

from typing import Any

import pytest

from controlplane.actions.node_restore import NodeRestore
from controlplane.kernel.errors import NotFound
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

NODE = Target("chat", "local", "zone-a", "node-a1")
REPLICAS = [f"{NODE}/replica-a1-0", f"{NODE}/replica-a1-1"]


def begun(**with_: Any) -> StepDriver:
    """Return the step after its first look, which keeps what is out."""
    step = drained(**with_)
    step.call()
    return step


def drained(**with_: Any) -> StepDriver:
    step = StepDriver(NodeRestore(), node="node-a1", **with_)
    step.platform.set_schedulable(NODE, False, expected_version=None, by=None)
    for replica in REPLICAS:
        step.platform.set_rotation(Target.parse(replica), False, expected_version=None, by=None)
    return step


def effects(step: StepDriver) -> list[tuple[str, str, Any]]:
    return [
        (each.op, Target.parse(each.target).name, each.after) for each in step.platform.writes() if each.by
    ]


BACK = [
    ("rotation", "replica-a1-0", True),
    ("rotation", "replica-a1-1", True),
    ("schedulable", "node-a1", True),
]


def test_all_of_it_comes_back_and_the_node_is_opened() -> None:
    step = drained()
    (touch,) = step.action.touches(step.parameters, step.context())
    planned = [
        (change.target.name, change.intended) for change in step.action.plan(step.parameters, step.context())
    ]

    assert step.run() == Done({"node": str(NODE), "replicas": REPLICAS})
    assert (touch.target, touch.dimension, touch.returns) == (NODE, Dimension.CAPACITY, True)
    assert planned == [(name, value) for _, name, value in BACK]
    assert effects(step) == BACK


def test_nothing_comes_back_before_node_replicas_and_canaries_are_well() -> None:
    step = begun()
    step.platform.set_reachable("node-a1", False)
    step.call()
    assert step.reasons[-1] == "waiting: node-a1 is not ready"

    step.platform.set_reachable("node-a1", True)
    step.platform.restart_replica(Target.parse(REPLICAS[1]), expected_uid=None, reason="", by=None)
    step.call()
    assert step.reasons[-1] == "waiting: replica-a1-1 is loading"

    step.clock.advance(5)
    step.signals.canary = False
    step.call()
    assert step.reasons[-1] == "waiting: the canary of replica-a1-0 is not good"
    assert effects(step) == []

    step.signals.canary = True
    assert isinstance(step.run(), Done)


def test_a_replica_that_is_not_listed_stays_as_it_is() -> None:
    step = drained(replicas=REPLICAS[1:])
    step.platform.stop_replica("replica-a1-0")

    assert step.run() == Done({"node": str(NODE), "replicas": REPLICAS[1:]})
    assert effects(step) == BACK[1:]


def test_a_replica_that_the_node_does_not_hold_is_not_found() -> None:
    with pytest.raises(NotFound, match="node-a1 has no replica"):
        drained(replicas=["chat/local/zone-a/node-a2/replica-a2-0"]).call()


@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_gives_each_back_once(when: Any) -> None:
    step = drained()
    step.platform.fail_next("rotation", when)

    assert isinstance(step.run(), Done)
    assert effects(step) == BACK


def test_a_crash_in_the_middle_gives_each_back_once_and_undo_takes_them_out() -> None:
    step = begun()
    step.crash()

    assert isinstance(step.run(), Done)
    assert effects(step) == BACK
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE] * 3
    assert step.standing()["schedulable"]["node-a1"] is False
    assert [step.standing()["rotation"][Target.parse(replica).name] for replica in REPLICAS] == [False, False]


def test_what_is_well_and_in_rotation_already_is_left_so() -> None:
    step = StepDriver(NodeRestore(), target=str(NODE))

    assert isinstance(step.run(), Done)
    assert step.action.plan(step.parameters, step.context()) == []
    assert step.platform.writes() == []


def test_it_goes_on_looking_for_as_long_as_it_is_let() -> None:
    step = begun()
    step.platform.set_reachable("node-a1", False)
    outcomes = [step.call() for _ in range(3)]
    assert all(isinstance(outcome, Again) and outcome.after == 1.0 for outcome in outcomes)


def test_a_node_that_is_not_well_in_time_gets_nobody() -> None:
    step = drained(within="5s")
    step.platform.set_reachable("node-a1", False)

    outcome = step.run(limit=10)

    why = "node-a1 is not ready, after 5 s"
    outputs = {"node": str(NODE), "reason": why}
    assert outcome == Failed(FailureKind.PERMANENT, f"node-a1 stays out of rotation: {why}", outputs)
    assert effects(step) == []


def test_it_is_watched_before_it_is_opened_for_new_work() -> None:
    step = begun(hold="10s")
    step.call()
    assert effects(step) == BACK[:2]
    assert step.reasons[-1] == "watching node-a1"

    assert isinstance(step.run(), Done)
    assert effects(step) == BACK
    assert step.clock.monotonic() == pytest.approx(10)


@pytest.mark.parametrize("bad", ["canary", "part"])
def test_when_one_does_not_hold_all_that_it_gave_back_leave_again(bad: str) -> None:
    step = drained(hold="10s")
    step.platform.set_rotation(Target.parse(REPLICAS[1]), True, expected_version=None, by=None)
    step.call()
    step.call()
    setattr(step.signals, bad, False)
    step.clock.advance(3)

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert outcome.message.startswith("node-a1 did not hold and is out of rotation again: ")
    assert effects(step) == [BACK[0], ("rotation", "replica-a1-0", False)]
    assert step.standing()["rotation"]["replica-a1-1"] is True, "somebody else had given that one back"
    assert step.standing()["schedulable"]["node-a1"] is False


def test_one_that_somebody_takes_out_meanwhile_is_left_to_them() -> None:
    step = begun()
    step.call()
    step.platform.set_rotation(Target.parse(REPLICAS[1]), False, expected_version=None, by=None)

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert outcome.message == "somebody else has taken replica-a1-1 out again"

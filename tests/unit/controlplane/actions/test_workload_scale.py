"""`workload.scale`: counted once, never over somebody else's number, and judged when something goes."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.actions.workload_scale import ScaleParameters, WorkloadScale
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.action import Change, Dimension, Reach, Touch, UndoStatus
from controlplane.model.outcome import Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

ZONE = Target("chat", "local", "zone-a")


def scale(**with_: Any) -> StepDriver:
    return StepDriver(WorkloadScale(), **{"zone": "zone-a", **with_})


def set_by_hand(step: StepDriver, replicas: int) -> None:
    step.platform.set_scale(ZONE, replicas, expected_version=None, by=None)


def written(step: StepDriver) -> list[int]:
    return [record.after for record in step.platform.writes() if record.by is not None]


def test_more_replicas_are_waited_for_until_they_serve() -> None:
    step = scale(by="+2")
    assert step.action.plan(step.parameters, step.context()) == [Change(ZONE, "replicas", 4, 6)]
    assert step.run() == Done({"replicas": 6, "before": 4, "ready": 6})
    assert step.clock.monotonic() >= 4.0
    assert step.reasons[-1] == "4 of 6 replicas of zone-a serve"
    assert step.scale("zone-b").replicas == 4


@pytest.mark.parametrize(
    ("with_", "start", "end"),
    [
        ({"by": 1}, 4, 5),
        ({"by": "-1"}, 4, 3),
        ({"to": 6}, 4, 6),
        ({"to": "usual"}, 6, 4),
        ({"by": "+9"}, 4, 6),
    ],
)
def test_a_wish_is_a_difference_a_number_or_what_is_usual(with_: Any, start: int, end: int) -> None:
    step = scale(**with_)
    set_by_hand(step, start)
    assert isinstance(step.run(), Done)
    assert step.scale().replicas == end


@pytest.mark.parametrize("with_", [{}, {"by": 1, "to": 5}, {"to": 0}, {"to": "all"}, {"by": "many"}])
def test_a_wish_that_makes_no_sense_is_refused(with_: Any) -> None:
    with pytest.raises(ValidationError):
        ScaleParameters.model_validate({"zone": "zone-a", **with_})


def test_a_zone_without_room_says_so() -> None:
    step = scale(by="+1")
    set_by_hand(step, 6)
    step.clock.advance(10)
    outcome = step.run()
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.message) == (
        FailureKind.PERMANENT,
        "zone-a has 6 replicas, and room for no more",
    )
    assert written(step) == []


def test_none_at_all_is_not_what_scaling_is_for() -> None:
    with pytest.raises(InvalidInput, match="0 replicas of zone-a would be none"):
        scale(by=-4).call()
    with pytest.raises(NotFound):
        scale(zone="zone-x", by=1).call()


def test_those_that_do_not_come_in_time_fail_the_step_and_others_that_are_down_do_not_delay_it() -> None:
    late = scale(by="+1", readyWithin="3s")
    started = late.clock.now()
    outcome: Any = None
    for _ in range(6):
        outcome = late.action.run(late.parameters, replace(late.context(), started_at=started))
        if isinstance(outcome, Failed):
            break
        late.state = outcome.state
        late.clock.advance(1.0)
    assert outcome.message == "4 of 5 replicas of zone-a serve after 3s"
    step = scale(by="+1")
    step.platform.stop_replica("replica-a1-0")
    assert step.run() == Done({"replicas": 5, "before": 4, "ready": 4})


def test_fewer_take_out_the_last_and_more_take_out_nothing() -> None:
    fewer, more = scale(by=-2), scale(by="+1")
    set_by_hand(fewer, 6)
    last = [
        Target("chat", "local", "zone-a", "node-a2", "replica-a2-2"),
        Target("chat", "local", "zone-a", "node-a1", "replica-a1-2"),
    ]
    assert fewer.action.touches(fewer.parameters, fewer.context()) == [
        Touch(target, Dimension.CAPACITY) for target in last
    ]
    assert more.action.touches(more.parameters, more.context()) == [Touch(ZONE, Dimension.NOTHING)]


@pytest.mark.parametrize(
    ("with_", "reach"),
    [
        ({"by": "+1"}, Reach.SERVING),
        ({"by": "+{{ inputs.more }}"}, Reach.SERVING),
        ({"by": 1}, Reach.OUT),
        ({"by": -1}, Reach.OUT),
        ({"to": 6}, Reach.OUT),
        ({"to": "usual"}, Reach.OUT),
    ],
)
def test_only_what_is_written_with_a_plus_promises_to_take_nothing_out(with_: Any, reach: Reach) -> None:
    assert WorkloadScale().reach_with({"zone": "zone-a", **with_}) is reach


@pytest.mark.parametrize("calls", range(3))
def test_a_crash_at_any_call_scales_once_and_can_be_undone(calls: int) -> None:
    step = scale(by="+1")
    for _ in range(calls):
        step.call()
    step.crash()
    assert step.run() == Done({"replicas": 5, "before": 4, "ready": 5})
    assert written(step) == [5]
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert step.scale().replicas == 4


def test_what_somebody_else_sets_meanwhile_is_left_alone() -> None:
    step = scale(by="+1")
    step.call()
    set_by_hand(step, 6)
    outcome = step.run()
    assert isinstance(outcome, Failed)
    assert outcome.message == "zone-a shall have 6 replicas: somebody else has set it"
    assert written(step) == []


def test_undo_leaves_a_human_s_number_alone() -> None:
    step = scale(by="+1")
    step.run()
    set_by_hand(step, 6)
    assert [result.status for result in step.undo()] == [UndoStatus.FOREIGN]
    assert step.scale().replicas == 6


def test_undoing_more_is_judged_as_taking_them_out() -> None:
    step = scale(by="+1")
    step.run()
    (record,) = step.records.values()
    assert step.action.undo_touches(record, step.parameters, step.context()) == [
        Touch(Target("chat", "local", "zone-a", "node-a1", "replica-a1-2"), Dimension.CAPACITY)
    ]


def test_an_answer_that_is_lost_is_looked_for() -> None:
    step = scale(by="+1")
    step.platform.fail_next("scale", "after")
    assert step.run() == Done({"replicas": 5, "before": 4, "ready": 5})
    assert written(step) == [5]

"""`node.cordon`, `node.uncordon`, `node.replace`, `gpu.recycle`: once, on what was looked at."""

from typing import Any

import pytest

from controlplane.actions.gpu_recycle import GpuRecycle
from controlplane.actions.node_cordon import NodeCordon, NodeUncordon
from controlplane.actions.node_replace import NodeReplace
from controlplane.kernel.errors import NotFound
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done
from controlplane.model.target import Target
from tests.support.steps import StepDriver

NODE = Target("chat", "local", "zone-a", "node-a1")


def cordon() -> StepDriver:
    return StepDriver(NodeCordon(), node="node-a1")


def replace() -> StepDriver:
    return StepDriver(NodeReplace(), node="node-a1", reason="broken")


def recycle() -> StepDriver:
    return StepDriver(GpuRecycle(), replica="replica-a1-0", reason="XID 94")


def schedulable(step: StepDriver) -> bool:
    return bool(step.standing()["schedulable"]["node-a1"])


def effects(step: StepDriver) -> list[tuple[str, str]]:
    return [(record.op, record.target) for record in step.platform.writes()]


def test_a_cordon_keeps_new_work_off_and_takes_nothing_out_of_service() -> None:
    step = cordon()
    (touch,) = step.action.touches(step.parameters, step.context())

    assert step.run() == Done({"node": str(NODE), "before": True})
    assert (touch.target, touch.dimension) == (NODE, Dimension.NOTHING)
    assert schedulable(step) is False
    assert step.view().serves is True


def test_a_node_that_was_cordoned_before_stays_so_after_undo() -> None:
    step = cordon()
    step.platform.set_schedulable(NODE, False, expected_version=None, by=None)

    assert step.run() == Done({"node": str(NODE), "before": False})
    assert step.action.plan(step.parameters, step.context()) == []
    assert step.undo() == []
    assert schedulable(step) is False


def test_a_crash_between_write_and_commit_keeps_what_stood_before() -> None:
    step = cordon()
    step.call()
    step.crash()

    assert step.run() == Done({"node": str(NODE), "before": True})
    assert effects(step) == [("schedulable", str(NODE))]
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert schedulable(step) is True


def test_undo_shows_its_fence_to_a_write_that_may_be_under_way() -> None:
    step = cordon()
    step.call()
    step.platform.fail_next("schedulable", "lost")
    step.call()

    (result,) = step.undo()

    assert (result.status, result.detail) == (UndoStatus.UNDONE, "node-a1 is open for new work already")
    assert effects(step) == []


def test_uncordon_opens_a_node_and_undo_closes_it() -> None:
    step = StepDriver(NodeUncordon(), target=str(NODE))
    step.platform.set_schedulable(NODE, False, expected_version=None, by=None)

    assert step.run() == Done({"node": str(NODE), "before": False})
    assert schedulable(step) is True
    step.undo()
    assert schedulable(step) is False


@pytest.mark.parametrize(
    ("with_", "hint"),
    [
        ({"node": "node-a9"}, "did you mean `node-a"),
        ({"target": "chat/local/zone-b/node-a1"}, "did you mean `chat/local/zone-"),
    ],
)
def test_a_node_that_is_not_there_is_not_found(with_: dict[str, str], hint: str) -> None:
    with pytest.raises(NotFound, match=hint):
        StepDriver(NodeCordon(), **with_).call()


@pytest.mark.parametrize("with_", [{}, {"node": "a", "target": "b"}])
def test_exactly_one_way_to_name_the_node_is_taken(with_: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either `target` or `node`"):
        StepDriver(NodeCordon(), **with_)


def test_a_node_that_does_not_answer_is_replaced_and_waited_for() -> None:
    step = replace()
    step.platform.set_reachable("node-a1", False)
    zone = step.platform.topology("chat").zone("zone-a")
    assert zone is not None
    before = zone.nodes[0].uid

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert outcome.outputs["before"] == before
    assert outcome.outputs["uid"] != before
    assert outcome.outputs["seconds"] == 4.0
    assert effects(step) == [("replace", str(NODE))]
    assert "2 replicas ready" in step.reasons[-1]


@pytest.mark.parametrize("make", [replace, recycle], ids=["replace", "recycle"])
@pytest.mark.parametrize("calls", range(5))
def test_a_crash_at_any_call_renews_once(make: Any, calls: int) -> None:
    step = make()
    for _ in range(calls):
        outcome = step.call()
        assert isinstance(outcome, Again)
        step.clock.advance(outcome.after)
    step.crash()

    assert isinstance(step.run(), Done)
    assert len(effects(step)) == 1


@pytest.mark.parametrize(("make", "op"), [(replace, "replace"), (recycle, "recycle")])
@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_is_looked_after_and_renews_once(make: Any, op: str, when: Any) -> None:
    step = make()
    step.platform.fail_next(op, when)

    assert isinstance(step.run(), Done)
    assert [name for name, _ in effects(step)] == [op]


def test_a_node_that_somebody_replaces_meanwhile_is_not_replaced_twice() -> None:
    step = replace()
    step.call()
    other = step.platform.replace_node(NODE, expected_uid=None, reason="by hand", by=None)

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert outcome.outputs["uid"] == other
    assert len(effects(step)) == 1
    assert step.notes == [f"node-a1 is {other} already: it was replaced by somebody else, or before a crash"]

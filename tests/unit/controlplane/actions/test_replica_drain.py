"""`replica.drain` and `node.drain`: no new requests, and a bounded wait for those under way."""

from typing import Any

import pytest

from controlplane.actions.node_drain import NodeDrain
from controlplane.actions.replica_drain import ReplicaDrain
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

NODE = Target("chat", "local", "zone-a", "node-a1")
REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")


def drain(**with_: Any) -> StepDriver:
    return StepDriver(ReplicaDrain(), replica="replica-a1-0", **with_)


def drain_node(**with_: Any) -> StepDriver:
    return StepDriver(NodeDrain(), node="node-a1", **with_)


def test_it_waits_until_the_requests_under_way_are_over() -> None:
    step = drain()
    step.platform.set_requests("replica-a1-0", 2)
    began = step.clock.monotonic()
    step.call()
    for left in (2, 1):
        step.platform.set_requests("replica-a1-0", left)
        step.clock.advance(1)
        assert isinstance(step.call(), Again)
        assert step.reasons[-1].startswith(f"{left} requests are under way after")
    step.platform.set_requests("replica-a1-0", 0)
    step.clock.advance(1)

    assert step.call() == Done({"replica": str(REPLICA), "uid": step.view().uid, "requests": 0})
    assert step.clock.monotonic() - began == 3
    assert step.view().in_rotation is False


def test_emptiness_that_was_seen_before_it_left_rotation_says_nothing() -> None:
    step = drain()
    step.call()

    outcome = step.call()

    assert isinstance(outcome, Again)
    assert outcome.reason == "it is not known how many requests are under way after 0 s"


@pytest.mark.parametrize("step", [drain(within="5s"), drain_node(within="5s")], ids=["replica", "node"])
def test_after_its_time_it_goes_on_without_those_that_are_left(step: StepDriver) -> None:
    step.platform.set_requests("replica-a1-0", 3)
    began = step.clock.monotonic()

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert outcome.outputs["requests"] == 3
    assert step.clock.monotonic() - began == 5


def test_or_fails_if_it_was_told_so() -> None:
    step = drain(within="5s", onTimeout="fail")
    step.platform.set_requests("replica-a1-0", 3)

    assert step.run() == Failed(
        FailureKind.PERMANENT, "replica-a1-0 is not empty: 3 requests are under way after 5 s"
    )


def test_a_platform_that_cannot_tell_costs_the_whole_time() -> None:
    step = drain(within="7s")
    step.call()
    step.platform.set_reachable("node-a1", False)
    began = step.clock.monotonic()

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert outcome.outputs["requests"] is None
    assert step.clock.monotonic() - began == 7


def test_a_restart_meanwhile_ends_the_wait() -> None:
    step = drain()
    step.platform.set_requests("replica-a1-0", 3)
    uid = step.view().uid
    step.call()
    step.platform.restart_replica(REPLICA, expected_uid=None, reason="by hand", by=None)

    assert step.run() == Done({"replica": str(REPLICA), "uid": uid, "requests": 0})


@pytest.mark.parametrize("calls", range(4))
def test_a_crash_at_any_call_of_a_nodes_drain_has_the_same_effects(calls: int) -> None:
    step = drain_node()
    for _ in range(calls):
        outcome = step.call()
        if not isinstance(outcome, Again):
            break
        step.clock.advance(outcome.after)
    step.crash()

    assert isinstance(step.run(), Done)
    assert [(record.op, record.target) for record in step.platform.writes()] == [
        ("schedulable", str(NODE)),
        ("rotation", f"{NODE}/replica-a1-0"),
        ("rotation", f"{NODE}/replica-a1-1"),
    ]
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE] * 3
    standing = step.standing()
    assert all(standing["rotation"].values())
    assert all(standing["schedulable"].values())


def test_a_node_out_of_service_loses_its_capacity_and_is_planned_part_by_part() -> None:
    step = drain_node()
    step.platform.set_rotation(REPLICA, False, expected_version=None, by=None)

    (touch,) = step.action.touches(step.parameters, step.context())
    changes = step.action.plan(step.parameters, step.context())

    assert (touch.target, touch.dimension) == (NODE, Dimension.CAPACITY)
    assert [(change.target.name, change.field, change.before, change.intended) for change in changes] == [
        ("node-a1", "schedulable", True, False),
        ("replica-a1-1", "inRotation", True, False),
    ]


@pytest.mark.parametrize("step", [drain(), drain_node()], ids=["replica", "node"])
def test_the_last_that_serve_a_zone_with_traffic_are_not_drained(step: StepDriver) -> None:
    for name in ("replica-a1-1", "replica-a2-0", "replica-a2-1"):
        step.platform.stop_replica(name)

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert "zone-a gets traffic and would have no replica left" in outcome.message
    assert step.platform.writes() == []


def test_undo_of_a_nodes_drain_leaves_a_bad_replica_out_and_opens_the_node() -> None:
    step = drain_node()
    step.run()
    step.signals.canary = False

    assert [result.status for result in step.undo()] == [
        UndoStatus.WITHHELD,
        UndoStatus.WITHHELD,
        UndoStatus.UNDONE,
    ]
    assert step.standing()["schedulable"]["node-a1"] is True
    assert step.view().in_rotation is False

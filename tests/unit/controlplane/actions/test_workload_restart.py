"""`workload.restart`: every replica once, one at a time, drained, and only while enough others serve."""

from collections import Counter
from typing import Any

import pytest

from controlplane.actions.workload_restart import WorkloadRestart
from controlplane.kernel.errors import NotFound
from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.outcome import Again, Done, Failed
from controlplane.model.target import Target
from tests.support.steps import StepDriver

ZONE_A = ["replica-a1-0", "replica-a1-1", "replica-a2-0", "replica-a2-1"]


def rolling(**with_: Any) -> StepDriver:
    return StepDriver(WorkloadRestart(), **{"zones": ["zone-a"], **with_})


def place(name: str) -> Target:
    return Target("chat", "local", "zone-a", f"node-{name[8:10]}", name)


def restarted(step: StepDriver) -> list[str]:
    return [Target.parse(each.target).name for each in step.platform.writes() if each.op == "restart"]


def drive(step: StepDriver, calls: int) -> None:
    for _ in range(calls):
        outcome = step.call()
        if not isinstance(outcome, Again):
            return
        step.clock.advance(outcome.after)


def test_each_replica_is_restarted_once_in_order_and_given_back() -> None:
    step = rolling()

    assert step.run() == Done({"restarted": 4, "skipped": 0})
    assert restarted(step) == ZONE_A
    assert all(step.view(name).serves for name in ZONE_A)


def test_at_any_moment_at_most_one_is_out_and_each_is_out_before_it_restarts() -> None:
    step = rolling()
    step.run()

    out: set[str] = set()
    for record in step.platform.writes():
        if record.op == "rotation":
            out ^= {record.target}
        else:
            assert record.target in out
        assert len(out) <= 1


def test_zones_are_taken_in_the_order_given() -> None:
    step = rolling(zones=["zone-b", "zone-a"])
    step.signals.canary = True
    (first, *others) = step.action.touches(step.parameters, step.context())

    assert (first.target.name, first.dimension) == ("replica-b1-0", Dimension.CAPACITY)
    assert [touch.dimension for touch in others] == [Dimension.NOTHING] * 7
    assert [touch.target.zone for touch in (first, *others)] == ["zone-b"] * 4 + ["zone-a"] * 4


def test_requests_under_way_are_waited_for() -> None:
    step = rolling(drainWithin="10s")
    step.platform.set_requests("replica-a1-0", 1)
    drive(step, 6)

    assert restarted(step) == []
    assert "1 requests are under way" in step.reasons[-1]
    step.platform.set_requests("replica-a1-0", 0)
    assert step.run() == Done({"restarted": 4, "skipped": 0})


@pytest.mark.parametrize("calls", range(0, 44, 3))
def test_a_crash_at_any_call_restarts_each_once(calls: int) -> None:
    step = rolling()
    drive(step, calls)
    step.crash()

    assert isinstance(step.run(), Done)
    assert Counter(restarted(step)) == Counter(ZONE_A)
    assert all(step.view(name).serves for name in ZONE_A)


@pytest.mark.parametrize("op", ["restart", "rotation"])
@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_restarts_each_once(op: str, when: Any) -> None:
    step = rolling()
    step.platform.fail_next(op, when)

    assert step.run() == Done({"restarted": 4, "skipped": 0})
    assert Counter(restarted(step)) == Counter(ZONE_A)


def test_it_waits_while_too_few_others_serve() -> None:
    step = rolling(minHealthy="75%")
    for name in ("replica-b1-0", "replica-b1-1", "replica-c1-0"):
        step.platform.stop_replica(name)
    drive(step, 5)

    assert step.reasons[-1] == "waits: 8 of 12 replicas would serve, 75% must"
    assert step.platform.writes() == []
    node = Target("chat", "local", "zone-b", "node-b1", "replica-b1-0")
    step.platform.restart_replica(node, expected_uid=None, reason="by hand", by=None)
    assert isinstance(step.run(), Done)


def test_one_that_somebody_restarts_or_isolates_before_its_turn_is_left_alone() -> None:
    step = rolling()
    step.call()
    step.platform.restart_replica(place("replica-a1-1"), expected_uid=None, reason="by hand", by=None)
    step.platform.set_rotation(place("replica-a2-0"), False, expected_version=None, by=None)

    assert step.run() == Done({"restarted": 2, "skipped": 2})
    assert restarted(step) == ["replica-a1-1", "replica-a1-0", "replica-a2-1"]
    assert step.view("replica-a2-0").in_rotation is False


def test_one_that_does_not_come_back_fails_the_step_and_stays_out() -> None:
    step = rolling(readyWithin="20s")
    drive(step, 4)
    step.signals.canary = False

    outcome = step.run()

    assert isinstance(outcome, Failed)
    assert "replica-a1-0 is ready, and the canary of replica-a1-0 is not good" in outcome.message
    assert restarted(step) == ["replica-a1-0"]
    assert step.view().in_rotation is False


def test_undo_gives_back_what_is_out_and_keeps_the_restarts() -> None:
    step = rolling(readyWithin="20s")
    drive(step, 4)
    step.signals.canary = False
    step.run()
    assert [result.status for result in step.undo()] == [UndoStatus.KEPT, UndoStatus.WITHHELD]

    step.signals.canary = True
    assert [result.status for result in step.undo()] == [UndoStatus.KEPT, UndoStatus.UNDONE]
    assert step.view().in_rotation is True


def test_a_zone_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="no zone `zone-x`"):
        rolling(zones=["zone-x"]).call()


def test_one_that_can_wait_waits_while_an_incident_is_open_or_an_slo_of_the_service_is_broken() -> None:
    step = rolling(calm=True)
    step.signals.incidents = ("chat-itl at zone-b", "chat-itl at zone-c")
    drive(step, 3)
    assert step.reasons[-1] == "waits: an incident is open: chat-itl at zone-b and 1 more"

    step.signals.incidents = ()
    step.signals.clients = False
    drive(step, 2)
    assert step.reasons[-1] == "waits: slo:tpot@chat/local is 0.7 against 0.95"
    assert step.platform.writes() == []

    step.signals.clients = True
    assert step.run() == Done({"restarted": 4, "skipped": 0})


def test_an_incident_that_opens_in_the_middle_lets_the_one_that_is_out_come_back_first() -> None:
    step = rolling(calm=True)
    drive(step, 4)
    step.signals.incidents = ("chat-itl at zone-b",)
    drive(step, 20)

    assert restarted(step) == ["replica-a1-0"]
    assert step.view().serves
    assert step.reasons[-1] == "waits: an incident is open: chat-itl at zone-b"


def test_while_nobody_can_tell_it_waits() -> None:
    step = rolling(calm=True)
    step.signals.silent = True
    drive(step, 3)

    assert step.reasons[-1] == "waits: nothing has been measured yet"
    assert step.platform.writes() == []


def test_each_is_claimed_while_it_is_out_and_no_longer() -> None:
    step = rolling()
    claimed: set[Target] = set()
    while isinstance(outcome := step.call(), Again):
        out = {place(name) for name in ZONE_A if not step.view(name).in_rotation}
        assert out <= step.claims
        assert len(step.claims) <= 1
        claimed |= step.claims
        step.clock.advance(outcome.after)

    assert isinstance(outcome, Done)
    assert (claimed, step.claims) == ({place(name) for name in ZONE_A}, set())


def test_one_that_is_left_alone_is_not_claimed() -> None:
    step = rolling()
    step.call()
    step.platform.set_rotation(place(ZONE_A[1]), False, expected_version=None, by=None)

    assert step.run() == Done({"restarted": 3, "skipped": 1})
    assert step.claims == set()


def test_it_waits_while_the_blast_radius_has_no_room() -> None:
    step = rolling()
    step.no_room = "waits for blast radius: 2 of 12 replicas would be out of service, the limit is 1"
    drive(step, 5)

    assert (step.reasons[-1], step.platform.writes()) == (step.no_room, [])
    step.no_room = None
    assert step.run() == Done({"restarted": 4, "skipped": 0})

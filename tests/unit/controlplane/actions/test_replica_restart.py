"""`replica.restart`: one restart of the incarnation that was looked at, whatever fails."""

import pytest

from controlplane.actions.replica_restart import ReplicaRestart
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.action import Dimension
from controlplane.model.outcome import Again, Done
from controlplane.model.target import Target
from tests.support.steps import StepDriver

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")


def restart(**with_: str) -> StepDriver:
    return StepDriver(ReplicaRestart(), **(with_ or {"replica": "replica-a1-0"}))


def uid(step: StepDriver) -> str:
    return dict(step.platform.topology("chat").replicas())[REPLICA].uid


def restarts(step: StepDriver) -> list[str]:
    return [record.after for record in step.platform.writes() if record.op == "restart"]


@pytest.mark.parametrize("with_", [{"replica": "replica-a1-0"}, {"target": str(REPLICA)}])
def test_it_restarts_the_replica_and_waits_until_it_is_ready(with_: dict) -> None:
    step = restart(**with_, reason="its memory leaks")
    before = uid(step)

    outcome = step.run()

    assert outcome == Done({"replica": str(REPLICA), "before": before, "uid": uid(step), "seconds": 4.0})
    assert restarts(step) == [uid(step)]
    assert uid(step) != before


@pytest.mark.parametrize("calls", range(6))
def test_a_crash_at_any_call_restarts_once(calls: int) -> None:
    step = restart()
    for _ in range(calls):
        outcome = step.call()
        assert isinstance(outcome, Again)
        step.clock.advance(outcome.after)

    step.crash()

    assert isinstance(step.run(), Done)
    assert len(restarts(step)) == 1


@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_is_looked_after_and_restarts_once(when: str) -> None:
    step = restart()
    before = uid(step)
    step.platform.fail_next("restart", when)  # type: ignore[arg-type]

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert (outcome.outputs["before"], outcome.outputs["uid"]) == (before, uid(step))
    assert len(restarts(step)) == 1


def test_a_replica_that_somebody_restarts_meanwhile_is_not_hit_twice() -> None:
    step = restart()
    step.call()
    other = step.platform.restart_replica(REPLICA, expected_uid=None, reason="by hand", by=None)

    outcome = step.run()

    assert isinstance(outcome, Done)
    assert outcome.outputs["uid"] == other
    assert restarts(step) == [other]
    assert step.notes == [
        f"replica-a1-0 is {other} already: it was restarted by somebody else, or before a crash"
    ]


def test_a_platform_that_is_away_while_it_loads_does_not_end_the_wait() -> None:
    step = restart()
    step.call()
    step.call()
    step.platform.fail_next("topology", "before", "before")

    assert isinstance(step.run(), Done)


def test_a_node_that_does_not_answer_is_the_engines_to_retry() -> None:
    step = restart()
    step.platform.set_reachable("node-a1", False)
    step.call()

    with pytest.raises(Unavailable):
        step.call()
    assert restarts(step) == []


def test_a_replica_that_never_loads_is_waited_for_without_a_second_restart() -> None:
    step = restart()
    step.call()
    step.call()
    step.platform.stop_replica("replica-a1-0")

    with pytest.raises(AssertionError, match="is stopped"):
        step.run(limit=60)
    assert len(restarts(step)) == 1


@pytest.mark.parametrize(
    ("with_", "hint"),
    [
        ({"replica": "replica-a1-9"}, "did you mean `replica-a1-1`"),
        (
            {"target": "chat/local/zone-a/node-a1/replica-a1-9"},
            "did you mean `chat/local/zone-a/node-a1/replica",
        ),
        ({"target": "chat/local/zone-a"}, "no replica"),
    ],
)
def test_a_replica_that_is_not_there_is_not_found(with_: dict, hint: str) -> None:
    with pytest.raises(NotFound, match=hint):
        restart(**with_).call()


@pytest.mark.parametrize("with_", [{}, {"replica": "a", "target": "b"}])
def test_exactly_one_way_to_name_the_replica_is_taken(with_: dict) -> None:
    with pytest.raises(ValueError, match="either `target` or `replica`"):
        StepDriver(ReplicaRestart(), reason="", **with_)


def test_it_says_that_the_replica_loses_its_capacity() -> None:
    step = restart()
    (touch,) = step.action.touches(step.parameters, step.context())

    assert (touch.target, touch.dimension, touch.returns) == (REPLICA, Dimension.CAPACITY, False)

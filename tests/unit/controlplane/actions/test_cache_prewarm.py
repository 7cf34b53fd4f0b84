"""`cache.prewarm`: every prompt to every replica, past the load balancing, whatever fails in between."""

from typing import Any

import pytest

from controlplane.actions.cache_prewarm import CachePrewarm
from controlplane.actions.workload_restart import WorkloadRestart
from controlplane.kernel.errors import NotFound, Refused, Unavailable
from controlplane.model.outcome import Done
from controlplane.model.target import Target
from tests.support.steps import StepDriver

ZONE_A = ["replica-a1-0", "replica-a1-1", "replica-a2-0", "replica-a2-1"]
REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")


def prewarm(**with_: Any) -> StepDriver:
    return StepDriver(CachePrewarm(), **{"prompts": ["one", "two"], **(with_ or {"zone": "zone-a"})})


def asked(step: StepDriver) -> list[tuple[str, str]]:
    return [(address.removeprefix("memory://"), prompt) for address, prompt in step.engines.asked]


def test_each_replica_of_the_zone_is_asked_each_prompt() -> None:
    step = prewarm()

    assert step.run() == Done({"replicas": 4, "prompts": 8})
    assert asked(step) == [(name, prompt) for name in ZONE_A for prompt in ("one", "two")]
    assert step.platform.writes() == []


def test_one_that_loads_is_waited_for_and_one_that_is_stopped_is_left_out() -> None:
    step = prewarm()
    step.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=None)
    step.platform.stop_replica("replica-a2-1")

    assert step.run() == Done({"replicas": 3, "prompts": 6})
    assert "replica-a1-0 is loading" in step.reasons
    assert {name for name, _ in asked(step)} == set(ZONE_A[:3])


def test_an_engine_that_does_not_answer_is_asked_again_and_none_twice_for_it() -> None:
    step = prewarm(replica="replica-a1-0")
    step.engines.errors = [Unavailable("silence")]

    assert step.run() == Done({"replicas": 1, "prompts": 2})
    assert asked(step) == [("replica-a1-0", "one"), ("replica-a1-0", "one"), ("replica-a1-0", "two")]


def test_a_prompt_that_the_engine_will_not_have_ends_the_step() -> None:
    step = prewarm()
    step.engines.errors = [Refused("too long")]

    with pytest.raises(Refused):
        step.call()


def test_a_zone_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="no zone `zone-x`"):
        prewarm(zone="zone-x").call()


@pytest.mark.parametrize("with_", [{"prompts": ["a"]}, {"prompts": ["a"], "zone": "a", "replica": "b"}])
def test_exactly_one_place_is_taken(with_: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either `zone` or `replica`"):
        StepDriver(CachePrewarm(), **with_)


def test_a_rolling_restart_prewarms_each_replica_before_it_is_given_back() -> None:
    step = StepDriver(WorkloadRestart(), zones=["zone-a"], prewarm=["one", "two"])
    rotation = []
    step.engines.seen = lambda address: rotation.append(
        step.view(address.removeprefix("memory://")).in_rotation
    )

    assert step.run() == Done({"restarted": 4, "skipped": 0})
    assert asked(step) == [(name, prompt) for name in ZONE_A for prompt in ("one", "two")]
    assert rotation == [False] * 8

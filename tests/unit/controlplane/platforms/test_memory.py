"""The memory platform's own means: load time, failures by script, safety between threads."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Ambiguous, FleetwardError, NotFound, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView, WriteTag
from controlplane.platforms.memory import MemoryPlatform

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-1")


def tag(key: str, fence: int = 1) -> WriteTag:
    return WriteTag(run="r", step="s", attempt=1, fence=fence, key=key)


def replica(platform: MemoryPlatform) -> ReplicaView:
    return dict(platform.topology("chat").replicas())[REPLICA]


def test_a_restarted_replica_is_ready_when_its_load_time_is_over_and_not_before() -> None:
    clock = VirtualClock()
    platform = MemoryPlatform(clock, load_time=4.0)
    platform.restart_replica(REPLICA, expected_uid=None, reason="", by=None)

    clock.advance(3.999)
    assert (replica(platform).state, replica(platform).ready) == ("loading", False)
    version = replica(platform).version
    clock.advance(0.001)
    assert (replica(platform).state, replica(platform).ready) == ("ready", True)
    assert replica(platform).version != version


def test_a_restart_concerns_its_own_slot_only() -> None:
    platform = MemoryPlatform(VirtualClock())
    before = {target: view.uid for target, view in platform.topology("chat").replicas()}

    uid = platform.restart_replica(REPLICA, expected_uid=before[REPLICA], reason="", by=None)

    after = {target: view.uid for target, view in platform.topology("chat").replicas()}
    assert after == {**before, REPLICA: uid}


def test_a_stopped_replica_comes_back_by_a_restart() -> None:
    clock = VirtualClock()
    platform = MemoryPlatform(clock)
    platform.stop_replica("replica-a1-1")
    clock.advance(60)
    assert replica(platform).state == "stopped"

    platform.restart_replica(REPLICA, expected_uid=None, reason="", by=None)
    clock.advance(60)
    assert replica(platform).state == "ready"


def test_scripted_failures_strike_in_order_and_only_once_each() -> None:
    platform = MemoryPlatform(VirtualClock())
    platform.fail_next("weights", "before", "lost", "after")

    with pytest.raises(Unavailable):
        platform.set_weights("chat", {"zone-a": 1}, expected_version=None, by=tag("1"))
    with pytest.raises(Ambiguous):
        platform.set_weights("chat", {"zone-a": 2}, expected_version=None, by=tag("2"))
    assert platform.writes() == []
    with pytest.raises(Ambiguous):
        platform.set_weights("chat", {"zone-a": 3}, expected_version=None, by=tag("3"))
    assert [record.after["zone-a"] for record in platform.writes()] == [3]
    platform.set_weights("chat", {"zone-a": 4}, expected_version=None, by=tag("4"))
    assert [record.after["zone-a"] for record in platform.writes()] == [3, 4]


def test_a_scripted_failure_of_a_read_is_unavailable() -> None:
    platform = MemoryPlatform(VirtualClock())
    platform.fail_next("topology", "before")

    with pytest.raises(Unavailable):
        platform.topology("chat")
    assert platform.topology("chat").service == "chat"


def test_a_read_cannot_be_scripted_to_be_ambiguous() -> None:
    with pytest.raises(ValueError, match="only `before`"):
        MemoryPlatform(VirtualClock()).fail_next("topology", "after")


def test_names_that_are_not_there_are_not_found() -> None:
    platform = MemoryPlatform(VirtualClock())

    with pytest.raises(NotFound):
        platform.set_reachable("node-z9", False)
    with pytest.raises(NotFound):
        platform.stop_replica("replica-z9-0")


def test_of_many_writers_with_one_key_exactly_one_has_an_effect() -> None:
    platform = MemoryPlatform(VirtualClock())
    answers: list[str] = []

    def write() -> None:
        answers.append(platform.restart_replica(REPLICA, expected_uid=None, reason="", by=tag("k")))

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(answers)) == 1
    assert len(platform.writes()) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["zone-a", "zone-b", "zone-c"]),
            st.integers(0, 100),
            st.integers(1, 3),
            st.integers(0, 5),
            st.sampled_from([(), ("before",), ("after",), ("lost",)]),
        ),
        max_size=25,
    )
)
def test_the_log_replays_to_the_weights_whatever_fails_and_whoever_is_late(
    writes: list[tuple[str, int, int, int, tuple]],
) -> None:
    platform = MemoryPlatform(VirtualClock())
    for zone, weight, fence, key, failures in writes:
        platform.fail_next("weights", *failures)
        try:
            platform.set_weights("chat", {zone: weight}, expected_version=None, by=tag(f"k{key}", fence))
        except FleetwardError:
            continue

    log = platform.writes()
    standing = dict.fromkeys(("zone-a", "zone-b", "zone-c"), 100)
    for record in log:
        assert record.before == standing
        standing = record.after
    assert platform.weights("chat").weights == standing
    fences = [record.by.fence for record in log if record.by]
    assert fences == sorted(fences)
    keys = [record.by.key for record in log if record.by]
    assert len(keys) == len(set(keys))

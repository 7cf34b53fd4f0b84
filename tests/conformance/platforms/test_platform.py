"""What every platform promises: versions, fences, keys, and a write log that counts effects."""

import pytest

from controlplane.kernel.errors import (
    Ambiguous,
    Conflict,
    Fenced,
    InvalidInput,
    NotFound,
    Unavailable,
    VersionConflict,
)
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView, WriteRecord
from tests.support.fleets import Fleet

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
EQUAL = {"zone-a": 100, "zone-b": 100, "zone-c": 100}


def last_seq(fleet: Fleet) -> int:
    return max((record.seq for record in fleet.platform.writes()), default=0)


def effects(fleet: Fleet, after: int) -> list[WriteRecord]:
    return fleet.platform.writes(after)


def replica(fleet: Fleet, target: Target = REPLICA) -> ReplicaView:
    return dict(fleet.platform.topology("chat").replicas())[target]


def settled(fleet: Fleet) -> ReplicaView:
    """Return the replica once the platform has looked at the fleet twice: what earlier tests did is seen."""
    for _ in range(2):
        seen = fleet.platform.topology("chat").observed_at
        fleet.wait(lambda seen=seen: fleet.platform.topology("chat").observed_at > seen)  # type: ignore[misc]
    fleet.wait(lambda: replica(fleet).ready)
    return replica(fleet)


class TestReading:
    def test_a_topology_names_every_slot_with_uid_version_labels_and_owner(self, fleet: Fleet) -> None:
        topology = fleet.platform.topology("chat")

        assert [zone.name for zone in topology.zones] == ["zone-a", "zone-b", "zone-c"]
        assert [node.name for node in topology.zones[0].nodes] == ["node-a1", "node-a2"]
        assert [target.name for target, _ in topology.replicas()][:3] == [
            "replica-a1-0",
            "replica-a1-1",
            "replica-a2-0",
        ]
        assert topology.zones[0].labels["topology.kubernetes.io/zone"] == "zone-a"
        for _, view in topology.replicas():
            assert view.uid
            assert view.version
            assert view.owner is not None
            assert view.ready is True
        assert len({view.uid for _, view in topology.replicas()}) == 12

    def test_every_zone_starts_with_the_same_weight(self, fleet: Fleet) -> None:
        assert fleet.platform.weights("chat").weights == EQUAL

    def test_a_service_that_is_not_there_is_not_found(self, fleet: Fleet) -> None:
        with pytest.raises(NotFound, match="no service `chta`"):
            fleet.platform.topology("chta")
        with pytest.raises(NotFound, match="no service `chta`"):
            fleet.platform.weights("chta")
        with pytest.raises(NotFound, match="no service `chta`"):
            fleet.platform.set_weights("chta", {"zone-a": 1}, expected_version=None, by=None)


class TestWeights:
    def test_a_write_changes_the_named_zones_and_moves_the_version(self, fleet: Fleet) -> None:
        before = fleet.platform.weights("chat")

        after = fleet.platform.set_weights(
            "chat", {"zone-a": 5}, expected_version=before.version, by=fleet.tag()
        )

        assert after.weights == {**EQUAL, "zone-a": 5}
        assert after.version != before.version
        assert fleet.platform.weights("chat") == after

    def test_a_write_on_an_old_version_is_refused_without_effect(self, fleet: Fleet) -> None:
        old = fleet.platform.weights("chat").version
        fleet.platform.set_weights("chat", {"zone-b": 50}, expected_version=old, by=None)
        seq = last_seq(fleet)

        with pytest.raises(VersionConflict):
            fleet.platform.set_weights("chat", {"zone-a": 0}, expected_version=old, by=fleet.tag())

        assert fleet.platform.weights("chat").weights == {**EQUAL, "zone-b": 50}
        assert effects(fleet, seq) == []

    def test_a_write_without_a_version_is_made_on_what_is_there(self, fleet: Fleet) -> None:
        fleet.platform.set_weights("chat", {"zone-b": 50}, expected_version=None, by=None)

        after = fleet.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=fleet.tag())

        assert after.weights == {"zone-a": 0, "zone-b": 50, "zone-c": 100}

    def test_a_write_of_what_is_there_is_no_effect(self, fleet: Fleet) -> None:
        before = fleet.platform.weights("chat")
        seq = last_seq(fleet)

        after = fleet.platform.set_weights(
            "chat", {"zone-a": 100}, expected_version=before.version, by=fleet.tag()
        )

        assert after == before
        assert effects(fleet, seq) == []

    def test_the_same_key_again_gets_the_first_answer_and_has_no_second_effect(self, fleet: Fleet) -> None:
        tag = fleet.tag()
        version = fleet.platform.weights("chat").version
        first = fleet.platform.set_weights("chat", {"zone-a": 5}, expected_version=version, by=tag)
        fleet.platform.set_weights("chat", {"zone-a": 60}, expected_version=None, by=None)
        seq = last_seq(fleet)

        again = fleet.platform.set_weights("chat", {"zone-a": 5}, expected_version=version, by=tag)

        assert again == first
        assert effects(fleet, seq) == []
        assert fleet.platform.weights("chat").weights["zone-a"] == 60

    def test_a_lower_fence_of_the_run_is_refused_without_effect(self, fleet: Fleet) -> None:
        newer = fleet.tag(fence=7)
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)
        seq = last_seq(fleet)

        with pytest.raises(Fenced):
            fleet.platform.set_weights(
                "chat", {"zone-a": 0}, expected_version=None, by=fleet.tag(fence=6, run=newer.run)
            )

        assert effects(fleet, seq) == []

    def test_a_lower_fence_is_refused_even_with_a_key_that_was_used(self, fleet: Fleet) -> None:
        older = fleet.tag(fence=1)
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=older)
        newer = fleet.tag(fence=2, run=older.run)
        fleet.platform.set_weights("chat", {"zone-a": 40}, expected_version=None, by=newer)

        with pytest.raises(Fenced):
            fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=older)

    def test_a_newer_owner_repeats_a_key_without_a_second_effect(self, fleet: Fleet) -> None:
        older = fleet.tag(fence=1)
        first = fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=older)
        seq = last_seq(fleet)

        newer = fleet.tag(fence=2, run=older.run, key=older.key)
        again = fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)

        assert again == first
        assert effects(fleet, seq) == []

    def test_a_fence_that_was_only_shown_keeps_an_earlier_owner_out(self, fleet: Fleet) -> None:
        older = fleet.tag(fence=1)
        newer = fleet.tag(fence=2, run=older.run)
        seq = last_seq(fleet)

        fleet.platform.show_fence("chat", by=newer)

        with pytest.raises(Fenced):
            fleet.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=older)
        with pytest.raises(Fenced):
            fleet.platform.show_fence("chat", by=older)
        assert effects(fleet, seq) == []
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)
        assert len(effects(fleet, seq)) == 1

    def test_a_fence_is_shown_to_the_platform_of_a_service(self, fleet: Fleet) -> None:
        with pytest.raises(NotFound):
            fleet.platform.show_fence("nobody", by=fleet.tag())

    def test_fences_of_different_runs_have_nothing_to_do_with_each_other(self, fleet: Fleet) -> None:
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=fleet.tag(fence=9))

        after = fleet.platform.set_weights(
            "chat", {"zone-a": 40}, expected_version=None, by=fleet.tag(fence=1)
        )

        assert after.weights["zone-a"] == 40

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({}, InvalidInput),
            ({"zone-a": 101}, InvalidInput),
            ({"zone-a": -1}, InvalidInput),
            (dict.fromkeys(EQUAL, 0), InvalidInput),
            ({"zone-x": 1}, NotFound),
        ],
    )
    def test_a_change_that_makes_no_sense_is_refused_without_effect(
        self, fleet: Fleet, changes: dict, error: type[Exception]
    ) -> None:
        seq = last_seq(fleet)

        with pytest.raises(error):
            fleet.platform.set_weights("chat", changes, expected_version=None, by=fleet.tag())

        assert effects(fleet, seq) == []

    def test_the_log_says_what_stood_there_what_stands_there_and_who_did_it(self, fleet: Fleet) -> None:
        seq = last_seq(fleet)
        tag = fleet.tag()

        after = fleet.platform.set_weights("chat", {"zone-c": 0}, expected_version=None, by=tag)

        (record,) = effects(fleet, seq)
        assert record.seq == seq + 1
        assert (record.op, record.target) == ("weights", "chat/local")
        assert record.before == EQUAL
        assert record.after == after.weights
        assert record.version == after.version
        assert record.by == tag

    def test_a_write_that_cannot_be_made_is_unavailable_and_leaves_no_trace(self, fleet: Fleet) -> None:
        seq = last_seq(fleet)
        tag = fleet.tag()

        with fleet.weights_unavailable(), pytest.raises(Unavailable):
            fleet.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=tag)

        assert effects(fleet, seq) == []
        after = fleet.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=tag)
        assert after.weights["zone-a"] == 0


class TestRestart:
    def test_a_restart_makes_a_new_incarnation_that_loads_and_becomes_ready(self, fleet: Fleet) -> None:
        before = settled(fleet)
        seq = last_seq(fleet)
        tag = fleet.tag()

        uid = fleet.platform.restart_replica(REPLICA, expected_uid=before.uid, reason="leak", by=tag)

        assert uid != before.uid
        fleet.wait(lambda: replica(fleet).uid == uid and replica(fleet).ready)
        (record,) = effects(fleet, seq)
        assert (record.op, record.target) == ("restart", str(REPLICA))
        assert (record.before, record.after, record.by) == (before.uid, uid, tag)

    def test_a_restart_of_another_incarnation_is_refused_without_effect(self, fleet: Fleet) -> None:
        seq = last_seq(fleet)

        with pytest.raises(VersionConflict):
            fleet.platform.restart_replica(REPLICA, expected_uid="long-gone", reason="", by=fleet.tag())

        assert effects(fleet, seq) == []

    def test_the_same_key_restarts_once(self, fleet: Fleet) -> None:
        tag = fleet.tag()
        seq = last_seq(fleet)
        first = fleet.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=tag)

        again = fleet.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=tag)

        assert again == first
        assert len(effects(fleet, seq)) == 1

    def test_a_key_that_was_used_for_something_else_is_a_conflict(self, fleet: Fleet) -> None:
        tag = fleet.tag()
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=tag)
        seq = last_seq(fleet)

        with pytest.raises(Conflict):
            fleet.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=tag)

        assert effects(fleet, seq) == []

    def test_a_lower_fence_restarts_nothing(self, fleet: Fleet) -> None:
        newer = fleet.tag(fence=2)
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)
        seq = last_seq(fleet)

        with pytest.raises(Fenced):
            fleet.platform.restart_replica(
                REPLICA, expected_uid=None, reason="", by=fleet.tag(fence=1, run=newer.run)
            )

        assert effects(fleet, seq) == []

    @pytest.mark.parametrize(
        ("target", "error"),
        [
            (Target("chat", "local", "zone-a", "node-a1", "replica-a1-9"), NotFound),
            (Target("chat", "local", "zone-b", "node-b1", "replica-a1-0"), NotFound),
            (Target("chta", "local", "zone-a", "node-a1", "replica-a1-0"), NotFound),
            (Target("chat", "local", "zone-a", "node-a1"), InvalidInput),
        ],
    )
    def test_what_is_no_replica_here_is_refused(
        self, fleet: Fleet, target: Target, error: type[Exception]
    ) -> None:
        seq = last_seq(fleet)

        with pytest.raises(error):
            fleet.platform.restart_replica(target, expected_uid=None, reason="", by=fleet.tag())

        assert effects(fleet, seq) == []

    def test_a_node_that_does_not_answer_is_listed_and_restarts_nothing(self, fleet: Fleet) -> None:
        uid = settled(fleet).uid
        fleet.cut("node-a1")
        try:
            fleet.wait(lambda: not replica(fleet).ready)
            seq = last_seq(fleet)

            with pytest.raises(Unavailable):
                fleet.platform.restart_replica(REPLICA, expected_uid=uid, reason="", by=fleet.tag())

            node = fleet.platform.topology("chat").zones[0].nodes[0]
            assert (node.name, node.ready) == ("node-a1", False)
            assert replica(fleet).uid == uid
            assert effects(fleet, seq) == []
        finally:
            fleet.mend("node-a1")
        fleet.wait(lambda: replica(fleet).ready)

    def test_a_lost_answer_is_ambiguous_and_the_key_keeps_it_from_happening_twice(self, fleet: Fleet) -> None:
        before = settled(fleet).uid
        seq = last_seq(fleet)
        tag = fleet.tag()

        with fleet.restart_answer_lost("node-a1"), pytest.raises(Ambiguous):
            fleet.platform.restart_replica(REPLICA, expected_uid=before, reason="", by=tag)
        again = fleet.platform.restart_replica(REPLICA, expected_uid=before, reason="", by=tag)

        assert again != before
        fleet.wait(lambda: replica(fleet).uid == again)
        assert len(effects(fleet, seq)) == 1

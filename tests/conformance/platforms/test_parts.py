"""What every platform promises about writes to parts: rotation, cordons, machines, GPUs."""

from collections.abc import Callable

import pytest

from controlplane.kernel.errors import Conflict, Fenced, InvalidInput, NotFound, Unavailable, VersionConflict
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, WriteRecord, WriteTag
from tests.support.fleets import Fleet

NODE = Target("chat", "local", "zone-b", "node-b2")
REPLICA = Target("chat", "local", "zone-b", "node-b2", "replica-b2-1")
Declare = Callable[..., str]


def replica(fleet: Fleet, target: Target = REPLICA) -> ReplicaView:
    return dict(fleet.platform.topology("chat").replicas())[target]


def node(fleet: Fleet) -> NodeView:
    zone = fleet.platform.topology("chat").zone("zone-b")
    assert zone is not None
    return zone.nodes[1]


def seen(fleet: Fleet) -> None:
    """Let the platform look at the fleet twice: what earlier tests did is seen."""
    for _ in range(2):
        at = fleet.platform.topology("chat").observed_at
        fleet.wait(lambda at=at: fleet.platform.topology("chat").observed_at > at)  # type: ignore[misc]
    fleet.wait(lambda: replica(fleet).ready)


def last_seq(fleet: Fleet) -> int:
    return max((record.seq for record in fleet.platform.writes()), default=0)


def effects(fleet: Fleet, after: int) -> list[WriteRecord]:
    return fleet.platform.writes(after)


class Part:
    """One thing that is declared: how it is written, where, and how it is read."""

    def __init__(self, op: str, target: Target, write: Callable[[Fleet], Declare]) -> None:
        self.op = op
        self.target = target
        self._write = write

    def set(self, fleet: Fleet, value: bool, *, on: str | None = None, by: WriteTag | None = None) -> str:
        return self._write(fleet)(self.target, value, expected_version=on, by=by)

    def read(self, fleet: Fleet) -> tuple[bool, str]:
        if self.op == "rotation":
            view = replica(fleet)
            return view.in_rotation, view.version
        found = node(fleet)
        return found.schedulable, found.version


ROTATION = Part("rotation", REPLICA, lambda fleet: fleet.platform.set_rotation)
SCHEDULABLE = Part("schedulable", NODE, lambda fleet: fleet.platform.set_schedulable)
both = pytest.mark.parametrize("part", [ROTATION, SCHEDULABLE], ids=lambda part: part.op)


class TestDeclaring:
    @both
    def test_a_write_says_what_stands_there_and_its_version(self, fleet: Fleet, part: Part) -> None:
        seen(fleet)
        before = part.read(fleet)
        seq, tag = last_seq(fleet), fleet.tag()

        version = part.set(fleet, False, on=before[1], by=tag)

        assert before[0] is True
        assert part.read(fleet) == (False, version)
        assert version != before[1]
        (record,) = effects(fleet, seq)
        assert (record.op, record.target, record.by) == (part.op, str(part.target), tag)
        assert (record.before, record.after, record.version) == (True, False, version)

    @both
    def test_a_write_on_an_old_version_is_refused_without_effect(self, fleet: Fleet, part: Part) -> None:
        seen(fleet)
        old = part.read(fleet)[1]
        part.set(fleet, False)
        seq = last_seq(fleet)

        with pytest.raises(VersionConflict):
            part.set(fleet, True, on=old, by=fleet.tag())

        assert part.read(fleet)[0] is False
        assert effects(fleet, seq) == []

    @both
    def test_a_write_of_what_is_there_is_no_effect(self, fleet: Fleet, part: Part) -> None:
        seen(fleet)
        before, seq = part.read(fleet), last_seq(fleet)

        assert part.set(fleet, True, by=fleet.tag()) == before[1]
        assert part.read(fleet) == before
        assert effects(fleet, seq) == []

    @both
    def test_the_same_key_again_has_no_second_effect(self, fleet: Fleet, part: Part) -> None:
        seen(fleet)
        tag = fleet.tag()
        first = part.set(fleet, False, by=tag)
        part.set(fleet, True)
        seq = last_seq(fleet)

        assert part.set(fleet, False, by=tag) == first
        assert part.read(fleet)[0] is True
        assert effects(fleet, seq) == []

    @both
    def test_a_lower_fence_of_the_run_is_refused_without_effect(self, fleet: Fleet, part: Part) -> None:
        newer = fleet.tag(fence=7)
        part.set(fleet, True, by=newer)
        seq = last_seq(fleet)

        with pytest.raises(Fenced):
            part.set(fleet, False, by=fleet.tag(fence=6, run=newer.run))

        assert effects(fleet, seq) == []

    @both
    def test_a_key_that_was_used_for_something_else_is_a_conflict(self, fleet: Fleet, part: Part) -> None:
        tag = fleet.tag()
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=tag)

        with pytest.raises(Conflict):
            part.set(fleet, False, by=tag)

    @both
    @pytest.mark.parametrize(
        ("place", "error"),
        [("chat/local/zone-x/node-b2/replica-b2-1", NotFound), ("chat/local/zone-b", InvalidInput)],
    )
    def test_what_is_not_there_is_refused(
        self, fleet: Fleet, part: Part, place: str, error: type[Exception]
    ) -> None:
        target = Target.parse(place)
        if target.level == "replica":
            target = target.at(part.target.level)
        seq = last_seq(fleet)

        with pytest.raises(error):
            part._write(fleet)(target, False, expected_version=None, by=fleet.tag())

        assert effects(fleet, seq) == []

    def test_a_slot_stays_out_of_rotation_through_a_restart(self, fleet: Fleet) -> None:
        seen(fleet)
        ROTATION.set(fleet, False)

        uid = fleet.platform.restart_replica(REPLICA, expected_uid=None, reason="", by=None)
        fleet.wait(lambda: replica(fleet).uid == uid and replica(fleet).ready)

        assert replica(fleet).in_rotation is False
        assert replica(fleet).serves is False

    def test_rotation_that_cannot_be_written_is_unavailable_and_leaves_no_trace(self, fleet: Fleet) -> None:
        seq = last_seq(fleet)

        with fleet.weights_unavailable(), pytest.raises(Unavailable):
            ROTATION.set(fleet, False, by=fleet.tag())

        assert effects(fleet, seq) == []
        assert replica(fleet).in_rotation is True

    def test_the_requests_inside_a_replica_are_told(self, fleet: Fleet) -> None:
        fleet.occupy("replica-b2-1", 3)
        fleet.wait(lambda: replica(fleet).requests == 3)

        fleet.occupy("replica-b2-1", 0)
        fleet.wait(lambda: replica(fleet).requests == 0)


class TestMachines:
    def test_a_gpu_is_recycled_with_a_new_incarnation_that_becomes_ready(self, fleet: Fleet) -> None:
        seen(fleet)
        before, seq, tag = replica(fleet), last_seq(fleet), fleet.tag()

        uid = fleet.platform.recycle_gpu(REPLICA, expected_uid=before.uid, reason="XID 94", by=tag)
        again = fleet.platform.recycle_gpu(REPLICA, expected_uid=before.uid, reason="XID 94", by=tag)

        assert uid == again
        fleet.wait(lambda: replica(fleet).uid == uid and replica(fleet).ready)
        (record,) = effects(fleet, seq)
        assert (record.op, record.target, record.by) == ("recycle", str(REPLICA), tag)
        assert (record.before, record.after) == (before.uid, uid)

    def test_a_machine_is_replaced_once_though_its_node_does_not_answer(self, fleet: Fleet) -> None:
        seen(fleet)
        before, seq, tag = node(fleet), last_seq(fleet), fleet.tag()
        fleet.cut("node-b2")
        try:
            fleet.wait(lambda: not node(fleet).ready)
            uid = fleet.platform.replace_node(NODE, expected_uid=before.uid, reason="broken", by=tag)
            again = fleet.platform.replace_node(NODE, expected_uid=before.uid, reason="broken", by=tag)
        finally:
            fleet.mend("node-b2")

        assert uid == again != before.uid
        fleet.wait(lambda: node(fleet).uid == uid and node(fleet).ready)
        (record,) = effects(fleet, seq)
        assert (record.op, record.target, record.by) == ("replace", str(NODE), tag)
        assert (record.before, record.after) == (before.uid, uid)

    def test_another_machine_or_incarnation_than_expected_is_left_alone(self, fleet: Fleet) -> None:
        seq = last_seq(fleet)

        with pytest.raises(VersionConflict):
            fleet.platform.replace_node(NODE, expected_uid="long-gone", reason="", by=fleet.tag())
        with pytest.raises(VersionConflict):
            fleet.platform.recycle_gpu(REPLICA, expected_uid="long-gone", reason="", by=fleet.tag())

        assert effects(fleet, seq) == []

    def test_a_lower_fence_renews_nothing(self, fleet: Fleet) -> None:
        newer = fleet.tag(fence=2)
        fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)
        seq, late = last_seq(fleet), fleet.tag(fence=1, run=newer.run)

        with pytest.raises(Fenced):
            fleet.platform.replace_node(NODE, expected_uid=None, reason="", by=late)
        with pytest.raises(Fenced):
            fleet.platform.recycle_gpu(REPLICA, expected_uid=None, reason="", by=late)

        assert effects(fleet, seq) == []

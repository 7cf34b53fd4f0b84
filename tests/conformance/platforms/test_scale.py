"""What every platform promises about how many replicas a zone has: standby that loads, and goes again."""

import pytest

from controlplane.kernel.errors import Fenced, InvalidInput, NotFound, VersionConflict
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView, Scale, WriteRecord, WriteTag
from tests.support.fleets import Fleet

ZONE = Target("chat", "local", "zone-b")


def set_scale(fleet: Fleet, replicas: int, on: str | None = None, by: WriteTag | None = None) -> Scale:
    return fleet.platform.set_scale(ZONE, replicas, expected_version=on, by=by)


def replicas(fleet: Fleet) -> dict[str, ReplicaView]:
    return {
        view.name: view
        for target, view in fleet.platform.topology("chat").replicas()
        if ZONE.contains(target)
    }


def effects(fleet: Fleet, after: int) -> list[WriteRecord]:
    return fleet.platform.writes(after)


def last_seq(fleet: Fleet) -> int:
    return max((record.seq for record in fleet.platform.writes()), default=0)


def test_a_zone_says_how_many_it_has_usually_has_and_has_room_for(fleet: Fleet) -> None:
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 4)
    found = fleet.platform.scale(ZONE)
    assert (found.replicas, found.usual, found.most) == (4, 4, 6)


def test_more_replicas_load_and_serve_and_the_others_are_left_alone(fleet: Fleet) -> None:
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 4)
    before, seq, tag = replicas(fleet), last_seq(fleet), fleet.tag()

    answer = set_scale(fleet, 6, fleet.platform.scale(ZONE).version, tag)

    assert (answer.replicas, answer.ready) == (6, 4)
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 6)
    after = replicas(fleet)
    assert after.keys() - before.keys() == {"replica-b1-2", "replica-b2-2"}
    assert {name: view.uid for name, view in after.items() if name in before} == {
        name: view.uid for name, view in before.items()
    }
    assert all(view.ready and view.in_rotation and view.uid for view in after.values())
    (record,) = effects(fleet, seq)
    assert (record.op, record.target, record.before, record.after) == ("scale", str(ZONE), 4, 6)
    assert (record.by, record.version) == (tag, answer.version)


def test_of_those_that_are_too_many_the_last_go_and_one_that_comes_back_is_another(fleet: Fleet) -> None:
    set_scale(fleet, 6)
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 6)
    first = replicas(fleet)["replica-b1-2"].uid

    set_scale(fleet, 5)
    fleet.wait(lambda: "replica-b2-2" not in replicas(fleet))
    assert replicas(fleet)["replica-b1-2"].uid == first
    set_scale(fleet, 3)
    fleet.wait(lambda: set(replicas(fleet)) == {"replica-b1-0", "replica-b2-0", "replica-b1-1"})
    set_scale(fleet, 5)
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 5)
    assert replicas(fleet)["replica-b1-2"].uid != first


def test_a_write_on_an_old_version_is_refused_without_effect(fleet: Fleet) -> None:
    old = fleet.platform.scale(ZONE).version
    set_scale(fleet, 5)
    seq = last_seq(fleet)

    with pytest.raises(VersionConflict):
        set_scale(fleet, 6, old, fleet.tag())

    assert effects(fleet, seq) == []


def test_a_write_of_what_is_there_is_no_effect(fleet: Fleet) -> None:
    before, seq = fleet.platform.scale(ZONE), last_seq(fleet)
    after = set_scale(fleet, before.replicas, before.version, fleet.tag())
    assert (after.version, after.replicas) == (before.version, before.replicas)
    assert effects(fleet, seq) == []


def test_the_same_key_scales_once_whatever_came_after(fleet: Fleet) -> None:
    tag = fleet.tag()
    first = set_scale(fleet, 5, None, tag)
    set_scale(fleet, 6)
    seq = last_seq(fleet)

    again = set_scale(fleet, 5, None, tag)

    assert (again.version, again.replicas) == (first.version, 5)
    assert effects(fleet, seq) == []
    assert fleet.platform.scale(ZONE).replicas == 6


def test_a_lower_fence_of_the_run_is_refused_without_effect(fleet: Fleet) -> None:
    newer = fleet.tag(fence=7)
    set_scale(fleet, 5, None, newer)
    seq = last_seq(fleet)

    with pytest.raises(Fenced):
        set_scale(fleet, 4, None, fleet.tag(fence=6, run=newer.run))

    assert effects(fleet, seq) == []


@pytest.mark.parametrize("count", [0, -1, 7])
def test_none_and_more_than_there_is_room_for_are_refused_without_effect(fleet: Fleet, count: int) -> None:
    seq = last_seq(fleet)
    with pytest.raises(InvalidInput, match="is not between 1 and 6"):
        set_scale(fleet, count, None, fleet.tag())
    assert effects(fleet, seq) == []


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (Target("chat", "local", "zone-x"), NotFound),
        (Target("chta", "local", "zone-b"), NotFound),
        (Target("chat", "local", "zone-b", "node-b1"), InvalidInput),
        (Target("chat", "local"), InvalidInput),
    ],
)
def test_what_is_no_zone_here_is_refused(fleet: Fleet, target: Target, error: type[Exception]) -> None:
    with pytest.raises(error):
        fleet.platform.scale(target)
    with pytest.raises(error):
        fleet.platform.set_scale(target, 5, expected_version=None, by=fleet.tag())


def test_a_node_that_was_away_comes_to_what_is_declared(fleet: Fleet) -> None:
    fleet.cut("node-b1")
    try:
        set_scale(fleet, 6)
        fleet.wait(lambda: replicas(fleet)["replica-b2-2"].ready)
        assert replicas(fleet)["replica-b1-2"].ready is False
    finally:
        fleet.mend("node-b1")
    fleet.wait(lambda: fleet.platform.scale(ZONE).ready == 6)

"""What every platform promises about what its gateway lets in: limits by zone, tiers that are refused."""

from collections.abc import Callable

import pytest

from controlplane.kernel.errors import Fenced, InvalidInput, NotFound, Unavailable, VersionConflict
from controlplane.model.target import Target
from controlplane.model.topology import Admission, WriteRecord, WriteTag
from tests.support.fleets import Fleet

ZONE = Target("chat", "local", "zone-b")
Write = Callable[[Fleet, str | None, WriteTag | None], Admission]


def limit(fleet: Fleet, on: str | None = None, by: WriteTag | None = None) -> Admission:
    return fleet.platform.set_limit(ZONE, 7, expected_version=on, by=by)


def shed(fleet: Fleet, on: str | None = None, by: WriteTag | None = None) -> Admission:
    return fleet.platform.set_shed("chat", ["batch"], expected_version=on, by=by)


both = pytest.mark.parametrize("write", [limit, shed])


def last_seq(fleet: Fleet) -> int:
    return max((record.seq for record in fleet.platform.writes()), default=0)


def effects(fleet: Fleet, after: int) -> list[WriteRecord]:
    return fleet.platform.writes(after)


def test_a_limit_and_shed_tiers_stand_beside_each_other(fleet: Fleet) -> None:
    before = fleet.platform.admission("chat")

    limit(fleet, before.version, fleet.tag())
    after = shed(fleet, None, fleet.tag())

    assert (before.limits, before.shed) == ({}, ())
    assert (after.limits, after.shed) == ({"zone-b": 7}, ("batch",))
    assert fleet.platform.admission("chat") == after


@both
def test_a_write_on_an_old_version_is_refused_without_effect(fleet: Fleet, write: Write) -> None:
    old = fleet.platform.admission("chat").version
    fleet.platform.set_limit(ZONE, 9, expected_version=None, by=None)
    seq = last_seq(fleet)

    with pytest.raises(VersionConflict):
        write(fleet, old, fleet.tag())

    assert effects(fleet, seq) == []


@both
def test_a_write_of_what_is_there_is_no_effect(fleet: Fleet, write: Write) -> None:
    first = write(fleet, None, fleet.tag())
    seq = last_seq(fleet)

    assert write(fleet, first.version, fleet.tag()) == first
    assert effects(fleet, seq) == []


@both
def test_the_same_key_again_gets_the_first_answer_and_has_no_second_effect(
    fleet: Fleet, write: Write
) -> None:
    tag = fleet.tag()
    first = write(fleet, None, tag)
    fleet.platform.set_limit(ZONE, None, expected_version=None, by=None)
    fleet.platform.set_shed("chat", [], expected_version=None, by=None)
    seq = last_seq(fleet)

    assert write(fleet, None, tag) == first
    assert effects(fleet, seq) == []
    present = fleet.platform.admission("chat")
    assert (present.limits, present.shed) == ({}, ())


@both
def test_a_lower_fence_of_the_run_is_refused_without_effect(fleet: Fleet, write: Write) -> None:
    newer = fleet.tag(fence=7)
    fleet.platform.set_weights("chat", {"zone-a": 50}, expected_version=None, by=newer)
    seq = last_seq(fleet)

    with pytest.raises(Fenced):
        write(fleet, None, fleet.tag(fence=6, run=newer.run))

    assert effects(fleet, seq) == []


def test_the_log_says_what_stood_there_and_what_stands_there(fleet: Fleet) -> None:
    seq = last_seq(fleet)
    tag = fleet.tag()

    limit(fleet, None, tag)
    fleet.platform.set_limit(ZONE, None, expected_version=None, by=None)
    shed(fleet, None, tag.model_copy(update={"key": "another"}))

    said = [(record.op, record.target, record.before, record.after) for record in effects(fleet, seq)]
    assert said == [
        ("limit", str(ZONE), None, 7),
        ("limit", str(ZONE), 7, None),
        ("shed", "chat/local", [], ["batch"]),
    ]
    assert effects(fleet, seq)[0].by == tag


@pytest.mark.parametrize(
    ("target", "requests", "error"),
    [
        (Target("chat", "local", "zone-x"), 5, NotFound),
        (Target("chta", "local", "zone-b"), 5, NotFound),
        (Target("chat", "local"), 5, InvalidInput),
        (ZONE, 0, InvalidInput),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_without_effect(
    fleet: Fleet, target: Target, requests: int, error: type[Exception]
) -> None:
    seq = last_seq(fleet)

    with pytest.raises(error):
        fleet.platform.set_limit(target, requests, expected_version=None, by=fleet.tag())

    assert effects(fleet, seq) == []


@both
def test_a_write_that_cannot_be_made_is_unavailable_and_leaves_no_trace(fleet: Fleet, write: Write) -> None:
    seq = last_seq(fleet)

    with fleet.weights_unavailable(), pytest.raises(Unavailable):
        write(fleet, None, fleet.tag())

    assert effects(fleet, seq) == []


def test_weights_can_be_written_while_limits_stand(fleet: Fleet) -> None:
    limit(fleet)
    shed(fleet)

    after = fleet.platform.set_weights("chat", {"zone-a": 40}, expected_version=None, by=fleet.tag())

    assert after.weights["zone-a"] == 40
    assert fleet.platform.weights("chat") == after
    assert fleet.platform.admission("chat").limits == {"zone-b": 7}

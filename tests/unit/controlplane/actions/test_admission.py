"""`limits.set` and `load.shed`: written once, on what was read, and taken back only if still ours."""

from typing import Any

import pytest

from controlplane.actions.limits_set import LimitsSet
from controlplane.actions.load_shed import LoadShed
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.action import UndoStatus
from controlplane.model.outcome import Done, Failed, FailureKind
from controlplane.model.target import Target
from tests.support.steps import StepDriver

ZONE = Target("chat", "local", "zone-a")


def limit(requests: int | None = 5, zone: str = "zone-a") -> StepDriver:
    return StepDriver(LimitsSet(), zone=zone, requestsPerSecond=requests)


def shed(**with_: Any) -> StepDriver:
    return StepDriver(LoadShed(), **with_)


def writes(step: StepDriver) -> list[Any]:
    return [record.after for record in step.platform.writes()]


def test_a_limit_is_set_and_told() -> None:
    step = limit()

    assert step.run() == Done({"limit": 5, "before": None})
    assert step.platform.admission("chat").limits == {"zone-a": 5}
    assert step.action.plan(step.parameters, step.context()) == []


def test_a_limit_can_be_taken_away_by_a_step() -> None:
    step = limit(None)
    step.platform.set_limit(ZONE, 5, expected_version=None, by=None)

    assert step.run() == Done({"limit": None, "before": 5})
    assert step.platform.admission("chat").limits == {}
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert step.platform.admission("chat").limits == {"zone-a": 5}


def test_tiers_that_may_be_shed_are_shed_when_none_is_named() -> None:
    step = shed()

    assert step.run() == Done({"tiers": ["batch"], "before": []})
    assert step.platform.admission("chat").shed == ("batch",)


def test_a_step_lets_everybody_in_again() -> None:
    step = shed(tiers=[])
    step.platform.set_shed("chat", ["batch"], expected_version=None, by=None)

    assert step.run() == Done({"tiers": [], "before": ["batch"]})
    assert step.platform.admission("chat").shed == ()


@pytest.mark.parametrize(
    ("tier", "message"),
    [("interactive", "the tier `interactive` may not be shed"), ("bach", "no tier `bach`.*`batch`")],
)
def test_nobody_is_shed_who_may_not_be(tier: str, message: str) -> None:
    step = shed(tiers=[tier])

    with pytest.raises(InvalidInput, match=message):
        step.action.touches(step.parameters, step.context())
    with pytest.raises(InvalidInput, match=message):
        step.call()
    assert writes(step) == []


def test_a_zone_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="no zone `zone-x`"):
        limit(zone="zone-x").call()


@pytest.mark.parametrize("make", [limit, shed], ids=["limit", "shed"])
@pytest.mark.parametrize("calls", range(2))
def test_a_crash_at_any_call_writes_once_and_can_be_undone(make: Any, calls: int) -> None:
    step = make()
    before = step.standing()
    for _ in range(calls):
        step.call()
    step.crash()

    assert isinstance(step.run(), Done)
    assert len(writes(step)) == 1
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    assert step.standing() == before


@pytest.mark.parametrize(("make", "op"), [(limit, "limit"), (shed, "shed")])
@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_is_looked_after_and_writes_once(make: Any, op: str, when: Any) -> None:
    step = make()
    step.platform.fail_next(op, when)

    assert isinstance(step.run(), Done)
    assert len(writes(step)) == 1


def test_a_change_of_somebody_elses_is_left_alone_by_the_step() -> None:
    step = limit()
    step.call()
    step.platform.set_limit(ZONE, 9, expected_version=None, by=None)

    assert step.run() == Failed(
        FailureKind.PERMANENT, "limit of zone-a is 9: somebody else has set it", {"found": 9}
    )
    assert step.platform.admission("chat").limits == {"zone-a": 9}


def test_and_by_its_undo() -> None:
    step = limit()
    step.run()
    step.platform.set_limit(ZONE, 9, expected_version=None, by=None)

    assert [result.status for result in step.undo()] == [UndoStatus.FOREIGN]
    assert step.platform.admission("chat").limits == {"zone-a": 9}


def test_another_zones_limit_that_changes_in_between_does_not_matter() -> None:
    step = limit()
    step.call()
    step.platform.set_limit(Target("chat", "local", "zone-b"), 9, expected_version=None, by=None)

    assert isinstance(step.run(), Done)
    assert step.platform.admission("chat").limits == {"zone-a": 5, "zone-b": 9}


def test_undo_shows_its_fence_to_a_write_that_may_be_under_way() -> None:
    step = shed()
    step.call()
    step.platform.fail_next("shed", "lost")
    step.call()

    (result,) = step.undo()

    assert (result.status, result.detail) == (UndoStatus.UNDONE, "shed of chat is [] already")
    assert writes(step) == []

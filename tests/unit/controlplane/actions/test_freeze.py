"""`freeze`: raised once, bound to its incident, lifted by undo."""

from controlplane.actions.freeze import Freeze
from controlplane.model.action import UndoStatus
from controlplane.model.outcome import Done
from tests.support.steps import StepDriver


def driver(**with_: object) -> StepDriver:
    return StepDriver(Freeze(), **{"reason": "the budget is spent", "for": "1h", **with_})


def test_it_is_raised_once_whatever_happens_in_between() -> None:
    step = driver()
    step.crash()
    (first,) = step.freezes.freezes.values()
    step.clock.advance(60)
    assert isinstance(step.call(), Done)
    assert list(step.freezes.freezes.values()) == [first]
    assert first.service == "chat"
    assert (first.expires_at - first.created_at).total_seconds() == 3600


def test_undo_lifts_it_and_does_nothing_the_second_time() -> None:
    step = driver()
    step.run()
    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    (stands,) = step.freezes.freezes.values()
    assert stands.lifted_at is not None
    assert [result.detail for result in step.undo()] == [f"{stands.id} is lifted already"]

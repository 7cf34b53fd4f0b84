"""`halt` and `freeze`: raised once whatever happens, with an end, lifted by undo."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.actions.freeze import Freeze
from controlplane.actions.halt import Halt
from controlplane.kernel.clock import to_rfc3339
from controlplane.model import records
from controlplane.model.action import UndoRecord, UndoStatus
from controlplane.model.outcome import Done
from tests.support.steps import StepDriver

ACTIONS = [Halt(), Freeze()]

both = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: str(action.name))


def driver(action: Halt | Freeze, **with_: Any) -> StepDriver:
    return StepDriver(action, reason="look first", **{"for": "30m", **with_})


def standing(step: StepDriver) -> list[records.Halt | records.Freeze]:
    return [*step.halts.kept.values(), *step.freezes.kept.values()]


@both
def test_it_is_raised_for_the_service_with_a_reason_and_an_end(action: Halt | Freeze) -> None:
    step = driver(action)
    began = step.clock.now()

    outcome = step.run()

    (stands,) = standing(step)
    assert (stands.service, stands.reason, stands.by) == ("chat", "look first", "run run-1")
    assert stands.expires_at == began + timedelta(minutes=30)
    assert outcome == Done({action.name: stands.id, "until": to_rfc3339(stands.expires_at)})


@both
def test_one_without_an_end_is_refused(action: Halt | Freeze) -> None:
    with pytest.raises(ValidationError, match="for"):
        StepDriver(action, reason="look first")


@both
def test_a_crash_raises_no_second_one_and_does_not_prolong_the_first(action: Halt | Freeze) -> None:
    step = driver(action)
    step.crash()
    (first,) = standing(step)
    step.clock.advance(60)

    assert isinstance(step.run(), Done)
    assert standing(step) == [first]


@both
def test_undo_lifts_it_and_leaves_one_that_was_lifted(action: Halt | Freeze) -> None:
    step = driver(action)
    step.run()

    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    (lifted,) = standing(step)
    assert lifted.lifted_at == step.clock.now()
    assert [result.detail for result in step.undo()] == [f"{lifted.id} is lifted already"]


@both
def test_undo_of_one_that_was_never_raised_does_nothing(action: Halt | Freeze) -> None:
    step = driver(action)
    (change,) = step.action.plan(step.parameters, step.context())
    record = UndoRecord("run-1", "step", change.target, change.field, change.before, change.intended)

    result = step.action.restore(record, step.context(undoing=True))

    assert (result.status, result.detail) == (UndoStatus.UNDONE, "it was never raised")
    assert standing(step) == []


def test_a_halt_may_be_of_one_zone() -> None:
    step = driver(Halt(), zone="zone-a")
    step.run()
    (stands,) = step.halts.kept.values()
    assert stands.zone == "zone-a"
    assert [str(touch.target) for touch in step.action.touches(step.parameters, step.context())] == [
        "chat/local/zone-a"
    ]


@pytest.mark.parametrize(("more", "incident"), [({}, "inc-1"), ({"whileOpen": False}, None)])
def test_a_freeze_ends_with_its_incident_unless_it_is_told_not_to(
    more: dict[str, Any], incident: str | None
) -> None:
    step = driver(Freeze(), **more)
    context = step.context(scope={"incident": {"id": "inc-1"}})
    step.action.run(step.parameters, context)
    (stands,) = step.freezes.kept.values()
    assert stands.incident == incident

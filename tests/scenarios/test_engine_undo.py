"""How runs end badly: what is taken back, what is left alone, and who is told."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.model.action import ActionContext, UndoResult, UndoStatus
from controlplane.model.outcome import Done, Outcome
from controlplane.model.records import Run
from controlplane.model.states import RunState
from tests.support.rig import Rig
from tests.support.scripted import (
    ESCALATE,
    SHIFT,
    Scripted,
    ScriptParameters,
    failing,
    knob,
    step,
    waiting,
    write,
)


def test_a_failed_run_takes_back_what_it_did_in_reverse_order(tmp_path: Path) -> None:
    undone: list[str] = []

    def undo(record: Any) -> UndoResult:
        undone.append(record.field)
        return UndoResult(UndoStatus.UNDONE)

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        write(context, 1, 2, "a", "first")
        write(context, 1, 2, "b", "second")
        return Done()

    rig = Rig(tmp_path, Scripted("knob", behave, undo=undo), failing())
    run = rig.start(step("knob"), step("fail"))
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert undone == ["second", "first"]
    assert ended.result == {"undo": {"undone": 2}}


def test_a_ramp_undoes_to_its_beginning_and_gives_the_zone_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    run = rig.start({**SHIFT, "with": {"zone": "zone-a", "weight": 0, "over": "3s"}}, step("fail"))
    assert rig.finish(run).state == RunState.FAILED
    assert rig.weights()["zone-a"] == 100
    assert rig.out_of_service() == set()
    assert [(v.before, v.status) for v in rig.undo(run)] == [(100, UndoStatus.UNDONE)]


def test_a_change_that_somebody_made_since_is_left_alone_and_reported(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(5.0), failing())
    run = rig.start(SHIFT, step("wait"), step("fail"), **ESCALATE)
    rig.settle()
    rig.platform.set_weights("chat", {"zone-a": 40}, expected_version=None, by=None)
    assert rig.finish(run).state == RunState.FAILED
    assert rig.weights()["zone-a"] == 40
    assert rig.undo(run)[0].status == UndoStatus.FOREIGN
    assert "undo foreign" in rig.outbox.sent[0][0].text


def test_an_undo_that_would_send_users_into_harm_is_withheld_and_escalated(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    rig.signals.canary = False
    run = rig.start(SHIFT, step("fail"), **ESCALATE)
    ended = rig.finish(run)
    assert (rig.weights()["zone-a"], rig.undo(run)[0].status) == (0, UndoStatus.WITHHELD)
    assert ended.result["undo"] == {"withheld": 1}
    assert [sent[1] for sent in rig.outbox.sent] == ["oncall"]
    assert rig.out_of_service() == {"chat/local/zone-a"}


def test_an_undo_whose_platform_is_down_is_tried_again(tmp_path: Path) -> None:
    answers: list[Any] = [Unavailable("down"), Unavailable("down")]

    def undo(record: Any) -> UndoResult:
        if answers:
            raise answers.pop()
        return UndoResult(UndoStatus.UNDONE)

    rig = Rig(tmp_path, knob(undo=undo), failing())
    run = rig.start(step("knob"), step("fail"))
    assert rig.finish(run).result == {"undo": {"undone": 1}}


def test_an_undo_that_never_works_is_reported_as_failed(tmp_path: Path) -> None:
    def undo(record: Any) -> UndoResult:
        raise Unavailable("down")

    rig = Rig(tmp_path, knob(undo=undo), failing())
    run = rig.start(step("knob"), step("fail"), **ESCALATE)
    assert rig.finish(run).result["undo"] == {"failed": 1}
    assert len(rig.outbox.sent) == 1


@pytest.mark.parametrize(("traits", "more"), [({"reversible": False}, {}), ({}, {"undo": False})])
def test_what_cannot_or_shall_not_be_taken_back_is_kept(
    tmp_path: Path, traits: dict[str, Any], more: dict[str, Any]
) -> None:
    rig = Rig(tmp_path, knob(**traits), failing())
    run = rig.start(step("knob", **more), step("fail"))
    assert rig.finish(run).state == RunState.FAILED
    assert rig.undo(run)[0].status == UndoStatus.KEPT


def test_an_escalation_that_cannot_be_sent_does_not_keep_the_run_from_ending(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    rig.outbox.error = Unavailable("the pager is down")
    run = rig.start(step("fail"), **ESCALATE)
    assert rig.finish(run).state == RunState.FAILED
    assert len(rig.outbox.sent) == 5
    assert len({sent[3] for sent in rig.outbox.sent}) == 1
    assert "run.escalationFailed" in rig.events(run)


BACK = {"id": "back", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 100}}
ONE_ZONE = {"limits": {"maxZones": 1}}


def _gives_back(tmp_path: Path) -> tuple[Rig, Run]:
    """Begin a run that gives zone-a its traffic back, and will fail."""
    rig = Rig(tmp_path, waiting(5.0), failing(), policy=ONE_ZONE)
    rig.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=None)
    run = rig.start(BACK, step("wait"), step("fail"), **ESCALATE)
    rig.settle()
    assert rig.weights()["zone-a"] == 100
    return rig, run


def test_an_undo_that_takes_a_zone_out_again_claims_it(tmp_path: Path) -> None:
    rig, run = _gives_back(tmp_path)
    rig.finish(run)
    assert (rig.weights()["zone-a"], rig.undo(run)[0].status) == (0, UndoStatus.UNDONE)
    assert rig.out_of_service() == {"chat/local/zone-a"}


def test_an_undo_that_would_take_a_second_zone_out_is_withheld_with_the_numbers(tmp_path: Path) -> None:
    rig, run = _gives_back(tmp_path)
    rig.finish(rig.start({**SHIFT, "with": {"zone": "zone-b", "weight": 0}}))
    rig.finish(run)
    assert rig.weights() == {"zone-a": 100, "zone-b": 0, "zone-c": 100}
    (view,) = rig.undo(run)
    assert view.status == UndoStatus.WITHHELD
    assert "2 of 3 zones would be out of service, the limit is 1" in view.detail
    assert [sent[1] for sent in rig.outbox.sent] == ["oncall"]

"""A step for each item: worked out once, judged, claimed and taken back one by one."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.model.action import ActionContext, Dimension, Touch, UndoResult, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.states import RunState, StepState
from controlplane.model.target import Target
from tests.support.rig import Crash, Rig
from tests.support.scripted import Scripted, ScriptParameters, failing, step, write

ZONES = "service.zones"


def loop(id_: str, items: Any = ZONES, **more: Any) -> dict[str, Any]:
    """A step for each item, whose parameter is the item."""
    for_each = {"items": items, "as": "zone", **more.pop("forEach", {})}
    return step(id_, forEach=for_each, **{"with": {"value": "{{ zone }}"}, **more})


def states(rig: Rig, run: Any) -> dict[str, StepState]:
    return {id_: record.state for id_, record in rig.steps(run).items()}


def test_each_item_is_a_step_and_later_steps_see_them_all(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("each"), Scripted("last"))
    names = "{{ steps.each.outputs.each | map(attribute='outputs.value') | join(',') }}"
    run = rig.start(loop("each"), step("last", **{"with": {"value": names}}))
    assert rig.finish(run).state == RunState.SUCCEEDED
    found = rig.steps(run)
    assert list(found) == ["each", "each[0]", "each[1]", "each[2]", "last"]
    assert [found[f"each[{i}]"].item for i in range(3)] == ["zone-a", "zone-b", "zone-c"]
    assert found["each"].outputs["succeeded"] == 3
    assert found["each"].outputs["each"][1] == {
        "item": "zone-b",
        "state": "succeeded",
        "outputs": {"value": "zone-b"},
        "error": "",
    }
    assert found["last"].outputs == {"value": "zone-a,zone-b,zone-c"}


@pytest.mark.parametrize(("concurrency", "under_way"), [(1, 1), (2, 2), (9, 3)])
def test_no_more_items_are_under_way_than_allowed(tmp_path: Path, concurrency: int, under_way: int) -> None:
    action = Scripted("each", lambda _, context: Done() if context.state else Again(10.0, {"n": 1}))
    rig = Rig(tmp_path, action)
    run = rig.start(loop("each", forEach={"concurrency": concurrency}))
    rig.settle()
    assert list(states(rig, run).values()).count(StepState.WAITING) == under_way
    assert rig.finish(run).state == RunState.SUCCEEDED


def test_the_items_are_worked_out_once_whatever_happens_later(tmp_path: Path) -> None:
    crashes = [Crash()]

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if crashes:
            raise crashes.pop()
        return Done({"value": parameters.value})

    rig = Rig(tmp_path, Scripted("each", behave))
    run = rig.start(loop("each", "[now.isoformat(), 'b']"))
    with pytest.raises(Crash):
        rig.finish(run)
    before = rig.steps(run)["each[0]"].item
    rig.survive()
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["each[0]"].outputs == {"value": before}


@pytest.mark.parametrize(
    ("on_failure", "tried"), [("stop", ["zone-a", "zone-b"]), ("continue", ["zone-a", "zone-b", "zone-c"])]
)
def test_when_an_item_fails_the_others_are_tried_or_not_and_the_step_has_failed(
    tmp_path: Path, on_failure: str, tried: list[str]
) -> None:
    seen: list[Any] = []

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        seen.append(parameters.value)
        bad = parameters.value == "zone-b"
        return Failed(FailureKind.PERMANENT, "no use") if bad else Done()

    rig = Rig(tmp_path, Scripted("each", behave), Scripted("last"))
    run = rig.start(loop("each", forEach={"onItemFailure": on_failure}), step("last"))
    ended = rig.finish(run)
    assert (ended.state, seen) == (RunState.FAILED, tried)
    assert ended.reason == "step each failed: 1 of 3 items failed: each[1]: no use"
    assert rig.steps(run)["each"].outputs["failed"] == 1
    assert states(rig, run)["last"] == StepState.CANCELLED


def test_a_loop_that_may_fail_does_not_stop_the_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing(), Scripted("last"))
    run = rig.start(loop("fail", continueOnError=True), step("last"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert states(rig, run) == {
        "fail": StepState.FAILED,
        "fail[0]": StepState.FAILED,
        "fail[1]": StepState.CANCELLED,
        "fail[2]": StepState.CANCELLED,
        "last": StepState.SUCCEEDED,
    }


def test_no_items_are_nothing_to_do_and_no_failure(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("each"), Scripted("last"))
    run = rig.start(loop("each", []), step("last"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["each"].outputs == {"each": [], "succeeded": 0, "failed": 0}


def test_the_condition_is_that_of_the_whole_step(tmp_path: Path) -> None:
    action = Scripted("each")
    rig = Rig(tmp_path, action)
    run = rig.start(loop("each", **{"if": "incident.zone == 'zone-b'"}))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert (states(rig, run), action.calls) == ({"each": StepState.SKIPPED}, [])


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ("service.name", "is a str, not a list"),
        ("range(101)", "101 items, at most 100"),
        ("nothing", "'nothing' is undefined"),
        (["{{ inputs.x }}"], "no `x`"),
    ],
)
def test_items_that_are_none_fail_the_step_with_the_reason(tmp_path: Path, items: Any, why: str) -> None:
    rig = Rig(tmp_path, Scripted("each"))
    run = rig.start(loop("each", items))
    assert rig.finish(run).state == RunState.FAILED
    assert why in rig.steps(run)["each"].error


def test_items_have_undo_records_and_keys_of_their_own_and_go_back_last_first(tmp_path: Path) -> None:
    undone: list[str] = []
    keys: list[str] = []

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        keys.append(write(context, 0, 1, field="knob").key)
        return Done()

    def undo(record: Any) -> UndoResult:
        undone.append(record.step)
        return UndoResult(UndoStatus.UNDONE)

    rig = Rig(tmp_path, Scripted("each", behave, undo=undo), failing())
    run = rig.start(loop("each"), step("fail"))
    assert rig.finish(run).state == RunState.FAILED
    assert undone == ["each[2]", "each[1]", "each[0]"]
    assert keys == [f"{run.id}/each[{i}]" for i in range(3)]


def test_each_item_is_judged_against_the_blast_radius(tmp_path: Path) -> None:
    class Zone(Scripted):
        def touches(self, parameters: ScriptParameters, context: ActionContext) -> list[Touch]:
            return [Touch(Target("chat", "local", parameters.value), Dimension.TRAFFIC)]

    rig = Rig(tmp_path, Zone("each"))
    run = rig.start(loop("each", forEach={"onItemFailure": "continue"}), limits={"maxZones": 1})
    assert rig.finish(run).state == RunState.FAILED
    assert states(rig, run) == {
        "each": StepState.FAILED,
        "each[0]": StepState.SUCCEEDED,
        "each[1]": StepState.FAILED,
        "each[2]": StepState.FAILED,
    }
    assert rig.out_of_service() == {"chat/local/zone-a"}
    assert "refused by the blast radius" in rig.steps(run)["each[1]"].error


def test_outputs_of_a_loop_are_worked_out_for_each_item(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("each"))
    run = rig.start(loop("each", "[1, 2]", outputs={"more": "outputs.value + zone"}))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert [each["outputs"]["more"] for each in rig.steps(run)["each"].outputs["each"]] == [2, 4]


def test_a_cancelled_loop_takes_back_what_its_items_did(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if context.state:
            return Done()
        write(context, 0, 1)
        return Again(10.0, {"n": 1})

    rig = Rig(tmp_path, Scripted("each", behave))
    run = rig.start(loop("each", forEach={"concurrency": 2}))
    rig.settle()
    rig.cancel(run)
    assert rig.finish(run).result == {"undo": {"undone": 2}}
    assert set(states(rig, run).values()) == {StepState.CANCELLED}

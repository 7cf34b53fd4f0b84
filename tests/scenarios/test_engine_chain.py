"""A step costs one commit: it starts with the intent of its first effect, or it has only looked."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.act.pause import pause_run
from controlplane.model.action import ActionContext, Dimension, Touch
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.records import Run
from controlplane.model.states import RunState, StepState
from tests.support.rig import Crash, Fuse, Rig
from tests.support.scripted import SHIFT, ZONE_A, Scripted, ScriptParameters, step, write

WEIGHTS = (80, 60, 40, 20, 10)
SHIFTS = [{**SHIFT, "id": f"to-{weight}", "with": {"zone": "zone-a", "weight": weight}} for weight in WEIGHTS]
TOUCH = [Touch(ZONE_A, Dimension.NOTHING)]


def _ahead(behave: Callable[[ScriptParameters, ActionContext], Outcome]) -> Scripted:
    """Return an action ``ahead`` that is called ahead of its start."""
    return Scripted("ahead", behave, touches=TOUCH, looks_first=True)


def test_a_step_that_changes_one_thing_costs_one_commit(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(*SHIFTS)
    fuse = Fuse()
    rig.arm(fuse)
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.SUCCEEDED
    taken_and_ended = 2
    assert fuse.passed.count("after a commit") == taken_and_ended + len(WEIGHTS)
    assert fuse.passed.count("after an effect") == len(WEIGHTS)


def test_when_an_effect_is_made_the_step_before_has_ended_and_its_own_has_started(tmp_path: Path) -> None:
    seen: list[dict[str, StepState]] = []
    rig = Rig(tmp_path)
    run = rig.start(*SHIFTS[:2])
    rig.platform.before_effect = lambda: seen.append(
        {id_: record.state for id_, record in rig.steps(run).items()}
    )
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert seen == [
        {"to-80": StepState.RUNNING, "to-60": StepState.PENDING},
        {"to-80": StepState.SUCCEEDED, "to-60": StepState.RUNNING},
    ]


def _cancel(rig: Rig, run: Run) -> None:
    rig.cancel(run, undo=False)


def _halt(rig: Rig, run: Run) -> None:
    rig.halt()


def _pause(rig: Rig, run: Run) -> None:
    with rig.database.transaction() as tx:
        pause_run(tx, run.id, by="ada")


@pytest.mark.parametrize("come_between", [_cancel, _halt, _pause])
def test_what_stands_against_a_start_while_the_step_looks_keeps_it_from_any_effect(
    tmp_path: Path, come_between: Callable[[Rig, Run], None]
) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        come_between(rig, run)
        write(context, 1, 2)
        made.append(context.step_id)
        return Done()

    made: list[str] = []
    rig = Rig(tmp_path, _ahead(behave))
    run = rig.start(SHIFT, step("ahead"))
    rig.executor.advance(run.id)
    assert made == []
    steps = rig.steps(run)
    assert steps["shift"].state == StepState.SUCCEEDED
    assert steps["ahead"].state in {StepState.PENDING, StepState.CANCELLED}
    assert [record.step for record in rig.undo(run)] == ["shift"]


def test_an_action_that_handles_all_errors_does_not_handle_that_it_may_not_start(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        _halt(rig, run)
        try:
            write(context, 1, 2)
        except Exception:  # noqa: BLE001 - what a careless action does
            return Done({"handled": True})
        return Done()

    rig = Rig(tmp_path, _ahead(behave))
    run = rig.start(SHIFT, step("ahead"))
    rig.executor.advance(run.id)
    assert rig.steps(run)["ahead"].state == StepState.PENDING


def test_a_call_ahead_that_only_looked_is_not_made_again(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        context.note(f"call {len(action.calls)}")
        return (
            Done({"calls": len(action.calls)}) if context.state else Again(5.0, {"looked": True}, "not yet")
        )

    action = _ahead(behave)
    rig = Rig(tmp_path, action)
    run = rig.start(SHIFT, step("ahead"))
    rig.executor.advance(run.id)
    assert action.calls == [(1, {})]
    assert rig.steps(run)["ahead"].state == StepState.WAITING
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert action.calls == [(1, {}), (1, {"looked": True})]
    assert [line.message for line in rig.journal(run) if line.event == "note"] == ["call 1", "call 2"]


def test_an_action_that_does_more_than_look_is_called_when_its_start_is_written_down(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        seen.append(rig.steps(run)["call"].state)
        return Done()

    seen: list[StepState] = []
    rig = Rig(tmp_path, Scripted("call", behave, touches=TOUCH))
    run = rig.start(SHIFT, step("call"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert seen == [StepState.RUNNING]


def test_where_a_first_look_goes_on_from_is_written_down_with_the_start(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if not context.state:
            return Again(0.0, {"before": 7})
        write(context, context.state["before"], 8)
        raise Crash

    rig = Rig(tmp_path, _ahead(behave))
    run = rig.start(SHIFT, step("ahead"))
    with pytest.raises(Crash):
        rig.executor.advance(run.id)
    rig.survive()
    assert rig.steps(run)["ahead"].resume_state == {"before": 7}
    assert rig.steps(run)["ahead"].state == StepState.RUNNING
    assert [(record.step, record.intended) for record in rig.undo(run)] == [("shift", 0), ("ahead", 8)]


class Refusing(Fuse):
    """A database that refuses its ``at``-th commit."""

    def pass_(self, point: str) -> None:
        self.passed.append(point)
        if point == "before a commit" and self.passed.count(point) == self.at:
            msg = "database is locked"
            raise sqlite3.OperationalError(msg)


@pytest.mark.parametrize("nth", range(1, 6))
def test_a_database_that_refuses_one_commit_delays_the_run_and_doubles_nothing(
    tmp_path: Path, nth: int
) -> None:
    rig = Rig(tmp_path)
    run = rig.start(*SHIFTS[:3])
    rig.arm(Refusing(nth))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert [record.after["zone-a"] for record in rig.platform.writes()] == [80, 60, 40]

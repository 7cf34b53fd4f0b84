"""What keeps runs from going on: cancels, wider runs, halts, groups, other workers."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.cancel import supersede_run
from controlplane.kernel.errors import Conflict, Refused
from controlplane.model.action import ActionContext, UndoStatus
from controlplane.model.outcome import Done, Outcome
from controlplane.model.states import RunState, StepState
from tests.support.rig import Rig
from tests.support.scripted import SHIFT, Scripted, ScriptParameters, step, waiting, write


def test_cancel_stops_a_waiting_step_and_takes_back_what_was_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0), Scripted("last"))
    run = rig.start(SHIFT, step("wait"), step("last"))
    rig.settle()
    rig.cancel(run, reason="wrong zone")
    ended = rig.finish(run, seconds=5)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "cancelled by ada: wrong zone")
    assert rig.weights()["zone-a"] == 100
    states = {id_: each.state for id_, each in rig.steps(run).items()}
    assert (states["wait"], states["last"]) == (StepState.CANCELLED, StepState.CANCELLED)


def test_cancel_without_undo_leaves_what_was_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(SHIFT, step("wait"))
    rig.settle()
    rig.cancel(run, undo=False)
    assert rig.finish(run, seconds=5).state == RunState.CANCELLED
    assert (rig.weights()["zone-a"], rig.undo(run)[0].status) == (0, UndoStatus.KEPT)


def test_an_ended_run_cannot_be_cancelled(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    rig.finish(run)
    with pytest.raises(Conflict):
        rig.cancel(run)


def test_superseded_before_its_start_a_run_does_nothing(tmp_path: Path) -> None:
    action = Scripted("first")
    rig = Rig(tmp_path, action)
    run = rig.start(step("first"))
    with rig.database.transaction() as tx:
        supersede_run(tx, run.id, reason="folded into zone-a")
    assert rig.finish(run).state == RunState.SUPERSEDED
    assert action.calls == []


def test_superseded_in_a_step_a_run_finishes_it_and_stops(tmp_path: Path) -> None:
    last = Scripted("last")
    rig = Rig(tmp_path, waiting(5.0), last)
    run = rig.start(step("wait"), step("last"))
    rig.settle()
    with rig.database.transaction() as tx:
        supersede_run(tx, run.id, reason="folded into zone-a")
    rig.settle()
    assert rig.run(run).state == RunState.RUNNING
    assert rig.finish(run).state == RunState.SUPERSEDED
    assert rig.steps(run)["wait"].state == StepState.SUCCEEDED
    assert last.calls == []


@pytest.mark.parametrize("scope", [{}, {"service": "chat"}, {"service": "chat", "zone": "zone-a"}])
def test_a_halt_stops_a_run_before_its_next_step_until_it_is_lifted(
    tmp_path: Path, scope: dict[str, Any]
) -> None:
    rig = Rig(tmp_path, waiting(2.0), Scripted("last"))
    run = rig.start(step("wait"), step("last"))
    rig.settle()
    halted = rig.halt(**scope)
    rig.pass_time(20.0)
    held = rig.run(run)
    assert (held.state, held.waiting) == (RunState.RUNNING, "halted by ada: stop it")
    assert rig.steps(run)["wait"].state == StepState.SUCCEEDED
    with rig.database.transaction() as tx:
        tx.halts.lift(halted)
    assert rig.finish(run, seconds=5).state == RunState.SUCCEEDED


def test_a_halt_elsewhere_changes_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    rig.halt(service="chat", zone="zone-b")
    assert rig.finish(rig.start(step("first")), seconds=1).state == RunState.SUCCEEDED


def test_a_halt_that_expires_lets_runs_go_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    until = rig.clock.now().replace(minute=1)
    rig.halt(expires_at=until)
    rig.pass_time(50.0)
    assert rig.run(run).state == RunState.QUEUED
    assert rig.finish(run, seconds=20).state == RunState.SUCCEEDED


def test_a_halt_ends_drills_and_their_undo_runs(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(SHIFT, step("wait"), kind="drill", onFailure={"undo": False})
    rig.settle()
    assert rig.weights()["zone-a"] == 0
    rig.halt()
    ended = rig.finish(run, seconds=5)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "halted by ada: stop it")
    assert rig.weights()["zone-a"] == 100


def test_runs_of_one_group_follow_one_another(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(10.0))
    first = rig.start(step("wait"), group="service/chat")
    rig.clock.advance(0.1)
    second = rig.start(step("wait"), group="service/chat")
    rig.settle()
    assert [rig.run(first).state, rig.run(second).state] == [RunState.RUNNING, RunState.QUEUED]
    assert "waits for test" in rig.run(second).waiting
    rig.finish(first)
    rig.settle()
    assert rig.run(second).state == RunState.RUNNING


def test_on_conflict_skip_refuses_and_replace_cancels_the_one_before(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    first = rig.start(step("wait"), group="g")
    rig.settle()
    with pytest.raises(Refused):
        rig.start(step("wait"), group="g", on_conflict="skip")
    second = rig.start(step("wait"), group="g", on_conflict="replace")
    rig.pass_time(1.0)
    assert [rig.run(first).state, rig.run(second).state] == [RunState.CANCELLED, RunState.RUNNING]


def test_while_one_worker_holds_a_run_another_does_nothing(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        rig.new_executor().advance(context.run_id)
        return Done()

    action = Scripted("slow", behave)
    rig = Rig(tmp_path, action)
    run = rig.start(step("slow"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert len(action.calls) == 1


def test_a_worker_that_slept_through_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    late: list[str] = []

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if context.attempt == 1:
            rig.clock.advance(31.0)
            rig.new_executor().advance(context.run_id)
        write(context, 1, context.attempt, "late")
        late.append(f"attempt {context.attempt} had an effect")
        return Done({"by": context.attempt})

    rig = Rig(tmp_path)
    rig.actions.add("slow", Scripted("slow", behave))
    run = rig.start(step("slow"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert late == ["attempt 2 had an effect"]
    assert rig.steps(run)["slow"].outputs == {"by": 2}


def test_a_doubled_message_is_harmless(tmp_path: Path) -> None:
    action = Scripted("first")
    rig = Rig(tmp_path, action)
    run = rig.start(step("first"))
    rig.woken += [run.id] * 5
    rig.finish(run)
    rig.executor.advance(run.id)
    assert len(action.calls) == 1


def test_a_mistake_of_the_engine_is_tried_again_and_then_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))

    def broken(*_: Any) -> None:
        msg = "a bug"
        raise RuntimeError(msg)

    monkeypatch.setattr("controlplane.act.executor.next_due", broken)
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert "the engine broke: RuntimeError: a bug, 5 times in a row" in ended.reason


def test_a_worker_stopped_right_before_its_write_comes_too_late_for_an_undone_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT)

    def cancelled_by_another() -> None:
        rig.platform.before_effect = None
        rig.clock.advance(31.0)
        rig.cancel(run)
        rig.settle(rig.new_executor())

    rig.platform.before_effect = cancelled_by_another
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.CANCELLED
    assert rig.weights()["zone-a"] == 100
    assert rig.platform.writes() == []

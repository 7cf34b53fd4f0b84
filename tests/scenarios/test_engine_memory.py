"""What a worker remembers from turn to turn, and what it must see all the same."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.approve import decide_approval
from controlplane.act.pause import pause_run
from controlplane.model.action import ActionContext, Dimension, Touch
from controlplane.model.identity import Role
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.states import RunState, StepState
from tests.support.rig import Crash, Rig
from tests.support.scripted import ZONE_A, Scripted, ScriptParameters, failing, step, write

ASK: dict[str, Any] = {"text": "shall it go on?", "timeout": "1h"}


def test_a_decision_that_is_made_while_the_worker_is_busy_is_not_slept_over(tmp_path: Path) -> None:
    def decide(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        with rig.database.transaction() as tx:
            (asked,) = tx.approvals.list(run=context.run_id, waiting=True)
            decide_approval(tx, asked.id, "approved", by="grace", role=Role.ADMIN)
        return Done()

    rig = Rig(tmp_path, Scripted("decide", decide))
    ask = {"id": "ask", "uses": "approval.request", "with": ASK, "timeout": "2h", "needs": []}
    run = rig.start(ask, step("decide", needs=[]))
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.SUCCEEDED


def test_a_pause_that_comes_while_the_worker_is_busy_is_seen_before_the_next_step(tmp_path: Path) -> None:
    def be_paused(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        with rig.database.transaction() as tx:
            pause_run(tx, context.run_id, by="ada")
        return Done()

    last = Scripted("last", touches=[Touch(ZONE_A, Dimension.NOTHING)])
    rig = Rig(tmp_path, Scripted("first", be_paused), last)
    run = rig.start(step("first"), step("last"))
    rig.executor.advance(run.id)
    assert rig.steps(run)["last"].state == StepState.PENDING
    assert last.calls == []


def test_what_a_drill_writes_into_the_result_meanwhile_stays(tmp_path: Path) -> None:
    def judge(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        with rig.database.transaction() as tx:
            tx.runs.merge_result(context.run_id, verdict="passed")
        write(context, 1, 2)
        return Done()

    rig = Rig(tmp_path, Scripted("judge", judge), failing())
    ended = rig.finish(rig.start(step("judge"), step("fail")))
    assert ended.result == {"verdict": "passed", "undo": {"undone": 1}}


def test_where_an_action_goes_on_from_is_written_down_before_its_effect(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if not context.state:
            return Again(0.0, {"before": 7})
        write(context, context.state["before"], 8)
        if context.attempt == 1:
            raise Crash
        return Done(dict(context.state))

    action = Scripted("two", behave)
    rig = Rig(tmp_path, action)
    run = rig.start(step("two"))
    with pytest.raises(Crash):
        rig.finish(run)
    rig.survive()
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert action.calls == [(1, {}), (1, {"before": 7}), (2, {"before": 7})]
    assert rig.steps(run)["two"].outputs == {"before": 7}


def test_what_the_next_step_would_touch_is_looked_up_once_on_what_came_before_it(
    tmp_path: Path,
) -> None:
    seen: list[Any] = []

    class Looking(Scripted):
        def touches(self, parameters: ScriptParameters, context: ActionContext) -> list[Touch]:
            seen.append(parameters.value)
            return []

    rig = Rig(tmp_path, Scripted("first"), Looking("last"))
    value = "{{ steps.first.outputs.doubled }}"
    run = rig.start(
        step("first", outputs={"doubled": "outputs.value * 2"}, **{"with": {"value": 21}}),
        step("last", **{"with": {"value": value}}),
    )
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["last"].outputs == {"value": 42}
    assert seen == [42]


def _counting(rig_folder: Path) -> tuple[Rig, Scripted]:
    """Return a rig whose step counts its calls, one in ten seconds, in what it goes on from."""

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        count = context.state.get("count", 0) + 1
        return Done({"count": count}) if count == 4 else Again(10.0, {"count": count}, "counting")

    action = Scripted("count", behave)
    return Rig(rig_folder, action), action


def test_a_worker_that_takes_a_run_again_reads_neither_the_run_nor_its_steps(tmp_path: Path) -> None:
    rig, action = _counting(tmp_path)
    run = rig.start(step("count"))
    rig.executor.advance(run.id)
    with rig.database.transaction() as tx:  # nobody does that: it shows who reads it
        tx.steps.update(run.id, "count", resume_state={"count": 9})
        tx.runs.update(run.id, inputs={"read": "again"})
    rig.clock.advance(10)
    rig.executor.advance(run.id)
    assert [state for _, state in action.calls] == [{}, {"count": 1}]


def test_what_another_worker_did_meanwhile_is_read(tmp_path: Path) -> None:
    rig, action = _counting(tmp_path)
    run = rig.start(step("count"))
    other = rig.new_executor()
    for executor in (rig.executor, other, rig.executor, rig.executor):
        executor.advance(run.id)
        rig.clock.advance(10)
    assert [state.get("count") for _, state in action.calls] == [None, 1, 2, 3]
    assert rig.run(run).state == RunState.SUCCEEDED


def test_a_decision_about_a_run_that_nobody_holds_is_seen_by_the_worker_that_remembers_it(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path)
    run = rig.start({"id": "ask", "uses": "approval.request", "with": ASK, "timeout": "2h"})
    rig.executor.advance(run.id)
    with rig.database.transaction() as tx:
        (asked,) = tx.approvals.list(run=run.id, waiting=True)
        decide_approval(tx, asked.id, "approved", by="grace", role=Role.ADMIN)
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.SUCCEEDED

"""What people do with a run: hold it still, let it go on, do it again from where it failed."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.pause import continue_run, pause_run
from controlplane.act.retry import retry_run
from controlplane.kernel.errors import Conflict
from controlplane.model.action import ActionContext
from controlplane.model.outcome import Done, Failed, FailureKind, Outcome
from controlplane.model.records import Run
from controlplane.model.states import RunState, StepState
from tests.support.rig import Rig
from tests.support.scripted import SHIFT, Scripted, ScriptParameters, failing, knob, step, waiting

KEEP = {"onFailure": {"undo": False}}


def pause(rig: Rig, run: Run, reason: str = "") -> Run:
    with rig.database.transaction() as tx:
        return pause_run(tx, run.id, by="ada", reason=reason)


def go_on(rig: Rig, run: Run) -> Run:
    with rig.database.transaction() as tx:
        return continue_run(tx, run.id, by="ada", wake=rig.woken.append)


def retry(rig: Rig, run: Run, reason: str = "") -> Run:
    with rig.database.transaction() as tx:
        return retry_run(tx, run.id, by="ada", reason=reason, wake=rig.woken.append)


class Mended(Scripted):
    """An action ``flaky`` that fails for good until it is mended."""

    def __init__(self) -> None:
        super().__init__("flaky", self._behave)
        self.mended = False

    def _behave(self, parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if self.mended:
            return Done({"value": parameters.value})
        return Failed(FailureKind.PERMANENT, "no use")


# ── pausing ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_paused_run_finishes_its_step_and_starts_no_other_until_it_may_go_on(tmp_path: Path) -> None:
    last = Scripted("last")
    rig = Rig(tmp_path, waiting(5.0), last)
    run = rig.start(step("wait"), step("last"))
    rig.settle()
    pause(rig, run, "let me look")
    rig.pass_time(30.0)
    held = rig.run(run)
    assert (held.state, held.waiting) == (RunState.RUNNING, "paused by ada: let me look")
    assert rig.steps(run)["wait"].state == StepState.SUCCEEDED
    assert last.calls == []
    go_on(rig, run)
    assert rig.finish(run, seconds=1).state == RunState.SUCCEEDED
    assert [e for e in rig.events(run) if e in {"run.paused", "run.continued"}] == [
        "run.paused",
        "run.continued",
    ]


def test_a_paused_queued_run_does_not_start(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    pause(rig, run)
    rig.pass_time(30.0)
    assert (rig.run(run).state, rig.run(run).waiting) == (RunState.QUEUED, "paused by ada")
    go_on(rig, run)
    assert rig.finish(run, seconds=1).state == RunState.SUCCEEDED


def test_pausing_and_continuing_twice_is_doing_it_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(step("wait"))
    rig.settle()
    pause(rig, run, "first")
    assert pause(rig, run, "second").paused == "paused by ada: first"
    assert go_on(rig, run).paused is None
    assert go_on(rig, run).paused is None
    assert rig.events(run).count("run.paused") == rig.events(run).count("run.continued") == 1


def test_a_paused_run_can_be_cancelled(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("last"))
    run = rig.start(SHIFT, step("last"))
    pause(rig, run)
    rig.cancel(run)
    assert rig.finish(run, seconds=1).state == RunState.CANCELLED


def test_what_starts_nothing_more_is_not_paused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0), Scripted("first"))
    drill = rig.start(step("wait"), kind="drill")
    stopping = rig.start(step("wait"))
    rig.cancel(stopping)
    ended = rig.start(step("first"))
    proving = rig.start(
        step("first"), verify=[{"signal": "trigger", "within": "1m"}], signal="slo:x@chat/local"
    )
    rig.executor.advance(ended.id)
    rig.executor.advance(proving.id)
    assert rig.run(proving).state == RunState.VERIFYING
    for run in (drill, stopping, ended, proving):
        with pytest.raises(Conflict):
            pause(rig, run)
    with pytest.raises(Conflict):
        go_on(rig, ended)


# ── retrying ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_retry_starts_at_the_failed_step_with_what_the_earlier_ones_yielded(tmp_path: Path) -> None:
    first, flaky = Scripted("first"), Mended()
    rig = Rig(tmp_path, first, flaky)
    steps = [
        step("first", **{"with": {"value": 7}}),
        step("flaky", **{"with": {"value": "{{ steps.first.outputs.value }}"}}),
    ]
    run = rig.finish(rig.start(*steps, **KEEP))
    assert run.state == RunState.FAILED
    flaky.mended = True
    again = retry(rig, run, "the switch is back")
    assert (again.retry_of, again.pins, again.trigger, again.started_by) == (run.id, run.pins, "retry", "ada")
    assert rig.finish(again).state == RunState.SUCCEEDED
    assert rig.steps(again)["flaky"].outputs == {"value": 7}
    assert len(first.calls) == 1
    assert rig.journal(again)[0].message == f"ada retries {run.id} from step flaky: the switch is back"
    assert rig.journal(run)[-1].message == f"ada retries it as {again.id}"
    assert rig.run(run) == run


def test_a_step_that_was_taken_back_is_done_again(tmp_path: Path) -> None:
    flaky = Mended()
    rig = Rig(tmp_path, Scripted("first"), flaky)
    run = rig.finish(rig.start(step("first"), SHIFT, step("flaky")))
    assert (run.state, rig.weights()["zone-a"]) == (RunState.FAILED, 100)
    flaky.mended = True
    again = retry(rig, run)
    assert [s.state for s in rig.steps(again).values()] == ["succeeded", "pending", "pending"]
    assert rig.finish(again).state == RunState.SUCCEEDED
    assert rig.weights()["zone-a"] == 0
    assert [v.step for v in rig.undo(again)] == ["shift"]


def test_a_retry_that_fails_takes_back_only_what_it_did_itself(tmp_path: Path) -> None:
    rig = Rig(tmp_path, knob(), failing())
    run = rig.finish(rig.start(SHIFT, step("fail"), **KEEP))
    again = rig.finish(retry(rig, run))
    assert (again.state, rig.weights()["zone-a"]) == (RunState.FAILED, 0)
    assert rig.undo(again) == []


def test_an_inconclusive_run_is_proved_again_without_doing_anything(tmp_path: Path) -> None:
    first = Scripted("first")
    rig = Rig(tmp_path, first)
    verify = [{"query": "up", "successCondition": "result > 0"}]
    rig.metrics.values = [None, 1.0]
    run = rig.finish(rig.start(step("first"), verify=verify))
    assert run.state == RunState.INCONCLUSIVE
    again = retry(rig, run)
    assert "to prove it again" in rig.journal(again)[0].message
    assert rig.finish(again).state == RunState.SUCCEEDED
    assert len(first.calls) == 1


def test_asking_for_a_retry_twice_is_asking_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    run = rig.finish(rig.start(step("fail")))
    again = retry(rig, run)
    assert retry(rig, run).id == again.id
    rig.finish(again)
    with pytest.raises(Conflict, match=f"was retried as {again.id}, which is failed"):
        retry(rig, run)
    assert retry(rig, again).retry_of == again.id


def test_a_failure_that_the_playbook_excused_is_carried_over(tmp_path: Path) -> None:
    flaky = Mended()
    rig = Rig(tmp_path, failing(), flaky)
    run = rig.finish(rig.start(step("fail", continueOnError=True), step("flaky")))
    flaky.mended = True
    again = rig.finish(retry(rig, run))
    assert again.state == RunState.SUCCEEDED
    assert len(rig.actions.get("fail").calls) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("more", [{"kind": "drill"}, {}])
def test_what_did_not_fail_and_drills_are_not_retried(tmp_path: Path, more: dict[str, Any]) -> None:
    rig = Rig(tmp_path, Scripted("first"), waiting(60.0))
    ended = rig.finish(rig.start(step("first"), **more))
    active = rig.start(step("wait"), **more)
    for run in (ended, active):
        with pytest.raises(Conflict):
            retry(rig, run)


def test_a_retry_waits_for_its_group_and_heeds_a_halt(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing(), waiting(10.0))
    run = rig.finish(rig.start(step("fail"), group="g"))
    halt = rig.halt()
    again = retry(rig, run)
    rig.pass_time(5.0)
    assert rig.run(again).waiting == "halted by ada: stop it"
    with rig.database.transaction() as tx:
        tx.halts.lift(halt)
    assert rig.finish(again).state == RunState.FAILED

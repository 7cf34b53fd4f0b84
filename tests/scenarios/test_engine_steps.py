"""The life of a step: conditions, parameters, waits, retries, ambiguity, and workers that are lost in it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Ambiguous, Unavailable
from controlplane.model.action import ActionContext, UndoStatus
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.states import RunState, StepState
from tests.support.rig import Crash, Rig
from tests.support.scripted import (
    SHIFT,
    Scripted,
    ScriptParameters,
    failing,
    raising,
    step,
    waiting,
    write,
)


def test_a_run_executes_its_steps_in_order_and_succeeds(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"), Scripted("second"))
    outputs = "{{ steps.first.outputs.value + 1 }}"
    run = rig.start(step("first", **{"with": {"value": 20}}), step("second", **{"with": {"value": outputs}}))
    ended = rig.finish(run)
    assert ended.state == RunState.SUCCEEDED
    assert rig.steps(run)["second"].outputs == {"value": 21}
    assert (ended.lease_owner, ended.due_at) == (None, None)


def test_a_shift_moves_the_weight_and_claims_the_zone(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start({**SHIFT, "with": {"zone": "zone-a", "weight": 0, "over": "3s"}})
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.weights() == {"zone-a": 0, "zone-b": 100, "zone-c": 100}
    assert rig.out_of_service() == {"chat/local/zone-a"}
    assert [(view.before, view.applied, view.status) for view in rig.undo(run)] == [(100, 0, UndoStatus.KEPT)]


def test_a_step_whose_condition_is_false_is_skipped(tmp_path: Path) -> None:
    action = Scripted("first")
    rig = Rig(tmp_path, action, Scripted("second"))
    run = rig.start(step("first", **{"if": "incident.zone == 'zone-b'"}), step("second"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["first"].state == StepState.SKIPPED
    assert action.calls == []


@pytest.mark.parametrize(
    "broken",
    [
        {"with": {"value": "{{ steps.nowhere.outputs.x }}"}},
        {"with": {"unknown": 1}},
        {"if": "nonsense(1)"},
        {"uses": "no.such.action"},
    ],
)
def test_a_step_that_cannot_be_rendered_fails_the_run_with_the_reason(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start({**step("first"), **broken})
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert "first" in ended.reason
    assert rig.steps(run)["first"].error != ""


def test_again_gives_the_worker_back_and_its_state_returns(tmp_path: Path) -> None:
    action = waiting(30.0)
    rig = Rig(tmp_path, action)
    run = rig.start(step("wait"))
    rig.settle()
    held = rig.run(run)
    assert (held.lease_owner, held.due_at == rig.clock.now()) == (None, False)
    rig.pass_time(29.0)
    assert len(action.calls) == 1
    rig.pass_time(2.0)
    assert action.calls == [(1, {}), (1, {"waited": True})]
    assert rig.run(run).state == RunState.SUCCEEDED


def test_a_step_that_never_says_done_times_out(tmp_path: Path) -> None:
    action = Scripted("wait", lambda *_: Again(4.0, {"n": 1}, "still not ready"))
    rig = Rig(tmp_path, action)
    run = rig.start(step("wait", timeout="10s"))
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert rig.steps(run)["wait"].error == "not done within 10s: still not ready"
    assert (rig.clock.now() - run.created_at).total_seconds() <= 11


def test_a_transient_failure_is_retried_with_growing_waits_and_the_same_parameters(tmp_path: Path) -> None:
    action = raising(Unavailable("one"), Unavailable("two"))
    rig = Rig(tmp_path, action)
    backoff = {"duration": "2s", "factor": 2, "jitter": 0}
    retry = {"limit": 3, "backoff": backoff}
    run = rig.start(step("flaky", retry=retry, **{"with": {"value": "{{ now.isoformat() }}"}}))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["flaky"].outputs == {"attempt": 3}
    with rig.database.reading() as tx:
        attempts = tx.steps.attempts(run.id)
    assert [each.outcome for each in attempts] == ["failed", "failed", "done"]
    gaps = [(b.started_at - a.started_at).total_seconds() for a, b in pairwise(attempts)]
    assert gaps == [2.0, 4.0]
    assert {each.key for each in attempts} == {f"{run.id}/flaky"}


def test_when_the_retries_are_used_up_the_run_fails(tmp_path: Path) -> None:
    rig = Rig(tmp_path, raising(*[Unavailable("down")] * 5))
    ended = rig.finish(rig.start(step("flaky", retry={"limit": 2})))
    assert (ended.state, ended.reason) == (RunState.FAILED, "step flaky failed: down")


def test_an_action_that_breaks_fails_its_step_and_not_the_worker(tmp_path: Path) -> None:
    rig = Rig(tmp_path, raising(ZeroDivisionError("a bug")))
    ended = rig.finish(rig.start(step("flaky", retry={"limit": 2})))
    assert ended.state == RunState.FAILED
    assert "ZeroDivisionError" in ended.reason


def test_a_failed_step_that_may_fail_does_not_stop_the_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing(), Scripted("second"))
    run = rig.start(step("fail", continueOnError=True), step("second"))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["fail"].state == StepState.FAILED


def test_outputs_that_are_not_json_fail_the_step(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("odd", lambda *_: Done({"it": object()})))
    ended = rig.finish(rig.start(step("odd")))
    assert ended.state == RunState.FAILED
    assert "not JSON" in ended.reason


def test_an_ambiguous_call_is_observed_and_not_repeated(tmp_path: Path) -> None:
    action = raising(Ambiguous("no answer"))
    action.idempotent = False  # type: ignore[misc]
    action.look = lambda _: Done({"seen": True})
    rig = Rig(tmp_path, action)
    run = rig.start(step("flaky", retry={"limit": 3}))
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert (len(action.calls), action.looks) == (1, 1)
    assert rig.steps(run)["flaky"].outputs == {"seen": True}


def test_when_nobody_can_tell_a_call_that_is_not_idempotent_fails_as_ambiguous(tmp_path: Path) -> None:
    action = raising(Ambiguous("no answer"))
    action.idempotent = False  # type: ignore[misc]
    rig = Rig(tmp_path, action)
    ended = rig.finish(rig.start(step("flaky", retry={"limit": 3})))
    assert ended.state == RunState.FAILED
    assert "nobody can tell whether it happened: no answer" in ended.reason
    assert len(action.calls) == 1


def test_when_nobody_can_tell_an_idempotent_call_is_retried(tmp_path: Path) -> None:
    action = raising(Ambiguous("no answer"))
    rig = Rig(tmp_path, action)
    assert rig.finish(rig.start(step("flaky", retry={"limit": 1}))).state == RunState.SUCCEEDED
    assert len(action.calls) == 2


@pytest.mark.parametrize(
    ("seen", "state", "calls"), [(Done(), RunState.SUCCEEDED, 1), (None, RunState.FAILED, 1)]
)
def test_after_a_crash_within_an_effect_what_is_not_idempotent_is_looked_at_first(
    tmp_path: Path, seen: Outcome | None, state: RunState, calls: int
) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        write(context, 1, 2)
        raise Crash

    action = Scripted("once", behave, idempotent=False, look=lambda _: seen)
    rig = Rig(tmp_path, action)
    run = rig.start(step("once", retry={"limit": 3}))
    with pytest.raises(Crash):
        rig.finish(run)
    rig.survive()
    assert rig.finish(run).state == state
    assert (len(action.calls), action.looks) == (calls, 1)


def test_after_a_crash_before_any_effect_even_what_is_not_idempotent_is_simply_called(tmp_path: Path) -> None:
    crashes = [Crash()]

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if crashes:
            raise crashes.pop()
        write(context, 1, 2)
        return Done()

    action = Scripted("once", behave, idempotent=False)
    rig = Rig(tmp_path, action)
    run = rig.start(step("once"))
    with pytest.raises(Crash):
        rig.finish(run)
    rig.survive()
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert (len(action.calls), action.looks) == (2, 0)


def test_a_step_that_ends_every_worker_is_given_up(tmp_path: Path) -> None:
    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        raise Crash

    rig = Rig(tmp_path, Scripted("poison", behave))
    run = rig.start(step("poison"))
    for _ in range(5):
        with pytest.raises(Crash):
            rig.finish(run)
        rig.survive()
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert "5 workers were lost in the middle of it" in ended.reason


def test_a_run_that_waits_says_for_what_in_the_steps_own_words(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("last"))
    ramp = {**SHIFT, "with": {"zone": "zone-a", "weight": 0, "over": "2s"}}
    run = rig.start(
        ramp, step("last"), verify=[{"signal": "trigger", "within": "1m"}], signal="slo:tpot@chat"
    )
    rig.settle()
    assert rig.run(run).waiting == f"step shift: zone-a is at {rig.weights()['zone-a']}"
    rig.pass_time(3.0)
    waiting = rig.run(run)
    assert (waiting.state, waiting.waiting) == (RunState.VERIFYING, "proving: slo:tpot@chat is not measured")
    assert rig.finish(run).waiting == ""

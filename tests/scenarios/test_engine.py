"""Runs from start to end on a virtual clock: what they do, and what they leave in the rows."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from controlplane.act.cancel import cancel_run, supersede_run
from controlplane.kernel.errors import Ambiguous, Conflict, Refused, Unavailable
from controlplane.kernel.ids import new_id
from controlplane.model.action import ActionContext, Dimension, Touch, UndoResult, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.records import Halt, Run
from controlplane.model.states import RunState, StepState
from controlplane.model.target import Target
from tests.support.rig import ZONE_A, Crash, Rig, Scripted, ScriptParameters, write

SHIFT: dict[str, Any] = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0}}
ESCALATE = {"onFailure": {"undo": True, "escalate": [{"notify": "oncall"}]}}


def step(id_: str, **more: Any) -> dict[str, Any]:
    """A step whose action is called like itself."""
    return {"id": id_, "uses": id_, **more}


def raising(*errors: Exception) -> Scripted:
    """An action ``flaky`` that raises these in turn, then succeeds."""
    left = list(errors)

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if left:
            raise left.pop(0)
        return Done({"attempt": context.attempt})

    return Scripted("flaky", behave)


def knob(**traits: Any) -> Scripted:
    """An action ``knob`` that makes one effect."""

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        write(context, 1, 2)
        return Done()

    return Scripted("knob", behave, **traits)


def failing() -> Scripted:
    return Scripted("fail", lambda *_: Failed(FailureKind.PERMANENT, "no use"))


def waiting(seconds: float) -> Scripted:
    """An action ``wait`` that is done when it has waited once."""

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        return Done() if context.state else Again(seconds, {"waited": True}, "not yet")

    return Scripted("wait", behave)


def halt(rig: Rig, **scope: Any) -> str:
    with rig.database.transaction() as tx:
        values = {"id": new_id("halt"), "reason": "stop it", "by": "ada", "created_at": rig.clock.now()}
        return tx.halts.add(Halt(**{**values, **scope})).id


def cancel(rig: Rig, run: Run, **more: Any) -> None:
    with rig.database.transaction() as tx:
        cancel_run(tx, run.id, by="ada", wake=rig.woken.append, **more)


# ── Steps ──────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── Ambiguity and crashes in the middle of a call ──────────────────────────────────────────────────────────


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


# ── Undo ───────────────────────────────────────────────────────────────────────────────────────────────────


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
    assert rig.finish(run).result == {"undo": {"failed": 1}}
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


# ── Cancel, supersede, halts, groups ───────────────────────────────────────────────────────────────────────


def test_cancel_stops_a_waiting_step_and_takes_back_what_was_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0), Scripted("last"))
    run = rig.start(SHIFT, step("wait"), step("last"))
    rig.settle()
    cancel(rig, run, reason="wrong zone")
    ended = rig.finish(run, seconds=5)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "cancelled by ada: wrong zone")
    assert rig.weights()["zone-a"] == 100
    states = {id_: each.state for id_, each in rig.steps(run).items()}
    assert (states["wait"], states["last"]) == (StepState.CANCELLED, StepState.CANCELLED)


def test_cancel_without_undo_leaves_what_was_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(SHIFT, step("wait"))
    rig.settle()
    cancel(rig, run, undo=False)
    assert rig.finish(run, seconds=5).state == RunState.CANCELLED
    assert (rig.weights()["zone-a"], rig.undo(run)[0].status) == (0, UndoStatus.KEPT)


def test_an_ended_run_cannot_be_cancelled(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    rig.finish(run)
    with pytest.raises(Conflict):
        cancel(rig, run)


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
    halted = halt(rig, **scope)
    rig.pass_time(20.0)
    held = rig.run(run)
    assert (held.state, held.waiting) == (RunState.RUNNING, "halted by ada: stop it")
    assert rig.steps(run)["wait"].state == StepState.SUCCEEDED
    with rig.database.transaction() as tx:
        tx.halts.lift(halted)
    assert rig.finish(run, seconds=5).state == RunState.SUCCEEDED


def test_a_halt_elsewhere_changes_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    halt(rig, service="chat", zone="zone-b")
    assert rig.finish(rig.start(step("first")), seconds=1).state == RunState.SUCCEEDED


def test_a_halt_that_expires_lets_runs_go_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    until = rig.clock.now().replace(minute=1)
    halt(rig, expires_at=until)
    rig.pass_time(50.0)
    assert rig.run(run).state == RunState.QUEUED
    assert rig.finish(run, seconds=20).state == RunState.SUCCEEDED


def test_a_halt_ends_drills_and_their_undo_runs(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(SHIFT, step("wait"), kind="drill", onFailure={"undo": False})
    rig.settle()
    assert rig.weights()["zone-a"] == 0
    halt(rig)
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


# ── Blast radius ───────────────────────────────────────────────────────────────────────────────────────────


def out(*targets: str) -> list[Touch]:
    return [Touch(Target.parse(target), Dimension.CAPACITY) for target in targets]


def test_a_step_that_takes_too_much_is_refused_with_the_numbers(tmp_path: Path) -> None:
    action = Scripted("break", touches=out("chat/local/zone-a", "chat/local/zone-b"))
    rig = Rig(tmp_path, action, policy={"limits": {"maxZones": 1}})
    run = rig.start(step("break"))
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert "2 of 3 zones" in ended.reason
    assert action.calls == []
    assert rig.out_of_service() == set()


def test_what_others_hold_makes_a_step_wait_and_not_fail(tmp_path: Path) -> None:
    action = Scripted("break", touches=out("chat/local/zone-a"))
    rig = Rig(tmp_path, action, policy={"limits": {"maxZones": 1}})
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    run = rig.start(step("break"))
    rig.pass_time(10.0)
    assert action.calls == []
    assert "waits for blast radius" in rig.run(run).waiting
    with rig.database.transaction() as tx:
        assert len(tx.ledger.reconcile({Target("chat", "local", "zone-b")})) == 1
    assert rig.finish(run, seconds=5).state == RunState.SUCCEEDED


def test_a_step_that_waited_for_its_whole_time_fails_with_the_reason(tmp_path: Path) -> None:
    rig = Rig(
        tmp_path, Scripted("break", touches=out("chat/local/zone-a")), policy={"limits": {"maxZones": 1}}
    )
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    ended = rig.finish(rig.start(step("break", timeout="20s")))
    assert ended.state == RunState.FAILED
    assert "could not start within 20s" in ended.reason


def test_a_fault_within_a_zone_and_the_failover_that_answers_it_are_one_zone(tmp_path: Path) -> None:
    rig = Rig(tmp_path, policy={"limits": {"maxZones": 1}})
    with rig.database.transaction() as tx:
        tx.ledger.claim(ZONE_A, Dimension.CAPACITY, "fault-1")
        tx.ledger.claim("chat/local/zone-a/node-a1", Dimension.CAPACITY, "fault-2")
    assert rig.finish(rig.start(SHIFT)).state == RunState.SUCCEEDED


def test_what_a_step_gives_back_is_released_whoever_took_it(tmp_path: Path) -> None:
    action = Scripted("return", touches=[Touch(ZONE_A, Dimension.TRAFFIC, returns=True)])
    rig = Rig(tmp_path, action)
    rig.finish(rig.start(SHIFT))
    assert rig.out_of_service() == {"chat/local/zone-a"}
    rig.finish(rig.start(step("return")))
    assert rig.out_of_service() == set()


# ── Leases ─────────────────────────────────────────────────────────────────────────────────────────────────


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

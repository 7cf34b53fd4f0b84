"""Steps as a graph: branches go on beside each other, a failure stops what needs it, undo goes backwards."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.model.action import ActionContext, Dimension, Touch, UndoResult, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.states import RunState, StepState
from controlplane.model.target import Target
from tests.support.rig import Rig
from tests.support.scripted import ZONE_A, Scripted, ScriptParameters, failing, raising, step, write


class Log:
    """What was called and taken back, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.undone: list[str] = []

    def slow(self, name: str, seconds: float) -> Scripted:
        """An action that writes once, waits, and is done."""

        def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
            if not context.state:
                write(context, 0, 1, field=name)
                return Again(seconds, {"waited": True})
            self.done.append(name)
            return Done()

        def undo(record: Any) -> UndoResult:
            self.undone.append(record.field)
            return UndoResult(UndoStatus.UNDONE)

        return Scripted(name, behave, undo=undo)


def test_a_step_that_waits_does_not_hold_its_sibling_back(tmp_path: Path) -> None:
    log = Log()
    rig = Rig(tmp_path, log.slow("slow", 30.0), log.slow("quick", 5.0), log.slow("last", 1.0))
    run = rig.start(step("slow"), step("quick", needs=[]), step("last", needs=["slow", "quick"]))
    rig.settle()
    assert {id_: record.state for id_, record in rig.steps(run).items()} == {
        "slow": StepState.WAITING,
        "quick": StepState.WAITING,
        "last": StepState.PENDING,
    }
    rig.pass_time(10.0)
    assert log.done == ["quick"]
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert log.done == ["quick", "slow", "last"]


def test_steps_that_are_due_at_once_share_a_turn(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("a"), Scripted("b"), Scripted("c"))
    run = rig.start(step("a", needs=[]), step("b", needs=[]), step("c", needs=["a", "b"]))
    rig.woken.clear()
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.SUCCEEDED


def test_a_failed_step_stops_what_needs_it_and_what_is_under_way_ends_before_the_run(tmp_path: Path) -> None:
    log = Log()
    rig = Rig(tmp_path, log.slow("slow", 20.0), failing(), Scripted("after"), Scripted("later"))
    run = rig.start(
        step("slow", needs=[]),
        step("fail", needs=[]),
        step("after", needs=["fail"]),
        step("later", needs=["slow"]),
    )
    rig.settle()
    assert rig.run(run).state == RunState.RUNNING
    ended = rig.finish(run)
    assert (ended.state, ended.reason) == (RunState.FAILED, "step fail failed: no use")
    assert {id_: record.state for id_, record in rig.steps(run).items()} == {
        "slow": StepState.SUCCEEDED,
        "fail": StepState.FAILED,
        "after": StepState.CANCELLED,
        "later": StepState.CANCELLED,
    }
    assert log.undone == ["slow"]


def test_after_a_failure_that_may_be_and_after_a_skip_the_dependants_run(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing(), Scripted("skip"), Scripted("last"))
    run = rig.start(
        step("fail", continueOnError=True),
        step("skip", needs=[], **{"if": "false"}),
        step("last", needs=["fail", "skip"], **{"with": {"value": "{{ steps.fail.state }}"}}),
    )
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["last"].outputs == {"value": "failed"}


def test_undo_goes_in_the_reverse_order_of_completion(tmp_path: Path) -> None:
    log = Log()
    rig = Rig(tmp_path, log.slow("long", 9.0), log.slow("short", 3.0), log.slow("next", 1.0), failing())
    run = rig.start(
        step("long", needs=[]),
        step("short", needs=[]),
        step("next", needs=["short"]),
        step("fail", needs=["long", "next"]),
    )
    assert rig.finish(run).state == RunState.FAILED
    assert log.done == ["short", "next", "long"]
    assert log.undone == ["long", "next", "short"]


def test_a_step_is_taken_back_before_what_it_needed_though_both_ended_at_one_moment(tmp_path: Path) -> None:
    log = Log()
    rig = Rig(tmp_path, log.slow("first", 0.0), log.slow("second", 0.0), failing())
    run = rig.start(step("second", needs=["first"]), step("first", needs=[]), step("fail", needs=["second"]))
    assert rig.finish(run).state == RunState.FAILED
    assert log.undone == ["second", "first"]


def test_a_superseded_run_ends_what_is_under_way_and_starts_nothing(tmp_path: Path) -> None:
    log = Log()
    rig = Rig(tmp_path, log.slow("slow", 20.0), log.slow("quick", 5.0), log.slow("last", 1.0))
    run = rig.start(step("slow", needs=[]), step("quick", needs=[]), step("last", needs=["quick"]))
    rig.settle()
    rig.supersede(run)
    assert rig.finish(run).state == RunState.SUPERSEDED
    assert log.done == ["quick", "slow"]
    assert log.undone == []


def test_outputs_of_the_playbook_are_added_to_those_of_the_action(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"), Scripted("second"))
    run = rig.start(
        step("first", outputs={"double": "outputs.value * 2"}, **{"with": {"value": 21}}),
        step("second", **{"with": {"value": "{{ steps.first.outputs.double }}"}}),
    )
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.steps(run)["first"].outputs == {"value": 21, "double": 42}
    assert rig.steps(run)["second"].outputs == {"value": 42}


def test_an_output_that_cannot_be_worked_out_fails_the_step_once_and_keeps_what_there_is(
    tmp_path: Path,
) -> None:
    action = Scripted("first")
    rig = Rig(tmp_path, action)
    retry = {"limit": 3, "on": ["transient", "permanent"]}
    run = rig.start(step("first", outputs={"x": "outputs.nothing"}, retry=retry, **{"with": {"value": 1}}))
    assert rig.finish(run).state == RunState.FAILED
    assert "it is done, but its outputs" in rig.steps(run)["first"].error
    assert (rig.steps(run)["first"].outputs, len(action.calls)) == ({"value": 1}, 1)


@pytest.mark.parametrize(
    ("on", "kind", "calls"),
    [
        (["transient"], FailureKind.TRANSIENT, 3),
        (["transient"], FailureKind.PERMANENT, 1),
        (["permanent"], FailureKind.PERMANENT, 3),
        (["permanent"], FailureKind.TRANSIENT, 1),
        (["transient", "permanent"], FailureKind.AMBIGUOUS, 1),
    ],
)
def test_a_step_is_retried_after_the_failures_that_it_names_only(
    tmp_path: Path, on: list[str], kind: FailureKind, calls: int
) -> None:
    action = Scripted("bad", lambda *_: Failed(kind, "no"), idempotent=False)
    rig = Rig(tmp_path, action)
    assert rig.finish(rig.start(step("bad", retry={"limit": 2, "on": on}))).state == RunState.FAILED
    assert len(action.calls) == calls


def test_a_branch_that_waits_for_its_retry_does_not_hold_the_other_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, raising(Unavailable("not now")), Scripted("other"))
    backoff = {"duration": "20s", "jitter": 0}
    run = rig.start(step("flaky", retry={"limit": 1, "backoff": backoff}), step("other", needs=[]))
    rig.settle()
    assert rig.steps(run)["other"].state == StepState.SUCCEEDED
    assert rig.finish(run).state == RunState.SUCCEEDED


def test_each_branch_says_once_what_it_is_held_back_by(tmp_path: Path) -> None:
    def taking(zone: str) -> Scripted:
        return Scripted(zone, touches=[Touch(Target("chat", "local", zone), Dimension.TRAFFIC)])

    rig = Rig(tmp_path, taking("zone-b"), taking("zone-c"), policy={"limits": {"maxZones": 1}})
    with rig.database.transaction() as tx:
        tx.ledger.claim(ZONE_A, Dimension.TRAFFIC, "drill")
    run = rig.start(step("zone-b"), step("zone-c", needs=[]))
    rig.pass_time(12.0)
    assert rig.events(run).count("step.blocked") == 2
    assert (
        rig.run(run).waiting == "waits for blast radius: 2 of 3 zones would be out of service, the limit is 1"
    )
    with rig.database.transaction() as tx:
        tx.ledger.release(holder="drill")
    rig.pass_time(2.0)
    assert rig.steps(run)["zone-b"].state == StepState.SUCCEEDED
    assert "waits for blast radius" not in rig.run(run).waiting

"""What is due next for a run, by its state: the whole life of a run on one page.

Each handler looks at the rows as they are in this transaction, and returns work to do
outside, a wait, or `CONTINUE` after it has changed something itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from controlplane.act.calls import deadline, interrupted, resume
from controlplane.act.ending import begin_ending, go_on_ending
from controlplane.act.engine import CONTINUE, Continue, Next, Turn, Wait, Work
from controlplane.act.prepare import BLOCKED_SECONDS, halted, hold_back, prepare
from controlplane.act.verify import verify
from controlplane.model.playbook import Step
from controlplane.model.records import StepRecord
from controlplane.model.states import RunState, StepState, is_final

GROUP_SECONDS = 5.0
"""How often a queued run looks at its group, beside being woken when its turn has come."""

PAUSED_SECONDS = 600.0
"""How often a paused run looks whether it still is, beside being woken when it may go on."""


def next_due(turn: Turn) -> Work | Wait | None:
    """Return what is due for the run now; None when it has ended."""
    while not is_final(turn.run.state):
        if turn.run.ending is not None:
            found = go_on_ending(turn)
        else:
            found = _stopped(turn) or _HANDLERS[turn.run.state](turn)
        if not isinstance(found, Continue):
            return found
    return None


def _stopped(turn: Turn) -> Next | None:
    """Act on a request to end, or on a halt that covers a drill; None when there is neither."""
    run = turn.run
    if run.stop is None and run.kind == "drill":
        halt = halted(turn)
        if halt is not None:
            return begin_ending(turn, RunState.CANCELLED, f"halted by {halt.by}: {halt.reason}", undo=True)
    if run.stop == "cancel":
        return begin_ending(turn, RunState.CANCELLED, run.stop_reason, undo=run.stop_undo)
    if run.stop == "supersede":
        open_step = _current(turn.steps)
        if open_step is None or open_step.state is StepState.PENDING or run.state is not RunState.RUNNING:
            return begin_ending(turn, RunState.SUPERSEDED, run.stop_reason, undo=False)
    return None


def _queued(turn: Turn) -> Next:
    if turn.run.paused is not None:
        return _wait(turn, PAUSED_SECONDS, turn.run.paused)
    halt = halted(turn)
    if halt is not None:
        return _wait(turn, BLOCKED_SECONDS, f"halted by {halt.by}: {halt.reason}")
    ahead = turn.tx.runs.ahead_in_group(turn.run)
    if ahead is not None:
        return _wait(turn, GROUP_SECONDS, f"waits for {ahead.name} ({ahead.id}) of group {turn.run.group}")
    turn.move(RunState.RUNNING, f"{turn.parts.owner} starts it")
    return CONTINUE


def _running(turn: Turn) -> Next:
    for step in turn.steps:
        if step.state is StepState.FAILED and not turn.pinned.plan.step(step.id).continue_on_error:
            undo = turn.pinned.plan.on_failure.undo or turn.run.kind == "drill"
            return begin_ending(turn, RunState.FAILED, f"step {step.id} failed: {step.error}", undo=undo)
    current = _current(turn.steps)
    if current is None:
        return _steps_are_over(turn)
    planned = turn.pinned.plan.step(current.id)
    if current.state is StepState.RUNNING:
        return interrupted(turn, planned, current) or CONTINUE
    if current.state is StepState.WAITING:
        due = min(current.due_at or turn.now, deadline(planned, current))
        if due > turn.now:
            return Wait(due, turn.run.waiting)
        return resume(turn, planned, current) or CONTINUE
    return _pending(turn, planned, current)


def _pending(turn: Turn, planned: Step, current: StepRecord) -> Next:
    if turn.run.paused is not None:
        return _wait(turn, PAUSED_SECONDS, turn.run.paused)
    if current.due_at is not None and current.due_at > turn.now:
        return Wait(current.due_at, turn.run.waiting)
    halt = halted(turn)
    if halt is not None:
        hold_back(turn, current, halt)
        return CONTINUE
    if turn.run.waiting:
        turn.update(waiting="")
    return prepare(turn, planned, current) or CONTINUE


def _steps_are_over(turn: Turn) -> Next:
    if turn.pinned.plan.verify:
        turn.move(RunState.VERIFYING, "all steps are over: proving that it helped")
    else:
        turn.move(RunState.SUCCEEDED, "all steps are over")
    return CONTINUE


def _undoing_without_end(turn: Turn) -> Next:
    """Only reached when rows were changed by hand: end what is undone as failed."""
    return begin_ending(turn, RunState.FAILED, turn.run.reason, undo=True)


def _current(steps: Sequence[StepRecord]) -> StepRecord | None:
    return next((step for step in steps if not is_final(step.state)), None)


def _wait(turn: Turn, seconds: float, why: str) -> Wait:
    if turn.run.waiting != why:
        turn.journal("run.waits", why)
        turn.update(waiting=why)
        turn.tx.emit("run", turn.run.id)
    return Wait(turn.now + timedelta(seconds=seconds), why)


_HANDLERS: Mapping[RunState, Callable[[Turn], Next]] = {
    RunState.QUEUED: _queued,
    RunState.RUNNING: _running,
    RunState.VERIFYING: verify,
    RunState.UNDOING: _undoing_without_end,
}

"""What is due next for a run, by its state: the whole life of a run on one page.

Each handler looks at the rows as they are in this transaction, and returns work to do
outside, a wait, or `CONTINUE` after it has changed something itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from controlplane.act import loops, order
from controlplane.act.calls import deadline, interrupted, resume
from controlplane.act.ending import begin_ending, go_on_ending
from controlplane.act.engine import CONTINUE, Continue, Next, Turn, Wait, Work
from controlplane.act.fencing import fence_due
from controlplane.act.gate import approval_due
from controlplane.act.late import nothing_left
from controlplane.act.prepare import BLOCKED_SECONDS, halted, hold_back, prepare, unblock
from controlplane.act.take_back import not_taken_back
from controlplane.act.verify import verify
from controlplane.model.records import StepRecord
from controlplane.model.states import RunState, StepState, is_final

GROUP_SECONDS = 600.0
"""How often a queued run looks at its group, beside being woken when its turn has come."""

PAUSED_SECONDS = 600.0
"""How often a paused run looks whether it still is, beside being woken when it may go on."""


def next_due(turn: Turn) -> Work | Wait | None:
    """Return what is due for the run now; None when it has ended."""
    while not is_final(turn.run.state):
        found = fence_due(turn) or _by_state(turn)
        if not isinstance(found, Continue):
            return found
    return None


def _by_state(turn: Turn) -> Next:
    if turn.run.ending is not None:
        return go_on_ending(turn)
    return _stopped(turn) or _HANDLERS[turn.run.state](turn)


def _stopped(turn: Turn) -> Next | None:
    """Act on a request to end, or on a halt that covers a drill; None when there is neither."""
    run = turn.run
    if run.stop is None and run.kind == "drill":
        halt = halted(turn)
        if halt is not None:
            return begin_ending(turn, RunState.CANCELLED, f"halted by {halt.by}: {halt.reason}", undo=True)
    if run.stop == "cancel":
        return begin_ending(turn, RunState.CANCELLED, run.stop_reason, undo=run.stop_undo)
    idle = run.state is not RunState.RUNNING or not order.under_way(turn.pinned.plan, turn.steps)
    if run.stop == "supersede" and idle:
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
    gone = nothing_left(turn)
    if gone is not None:
        return begin_ending(turn, RunState.SUPERSEDED, gone, undo=False)
    asked = approval_due(turn)
    if asked is not None:
        return asked
    turn.move(RunState.RUNNING, f"{turn.parts.owner} starts it")
    return CONTINUE


def _running(turn: Turn) -> Next:
    """Start what may start, then call again what is due: the one that has waited longest first."""
    if loops.close(turn):
        return CONTINUE
    plan = turn.pinned.plan
    open_ = order.under_way(plan, turn.steps)
    failed = order.failed(plan, turn.steps)
    if failed is not None and not open_:
        undo = plan.on_failure.undo or turn.run.kind == "drill"
        return begin_ending(turn, RunState.FAILED, f"step {failed.id} failed: {failed.error}", undo=undo)
    if all(is_final(step.state) for step in turn.steps):
        return _steps_are_over(turn)
    for step in open_:
        if step.state is StepState.RUNNING:
            return interrupted(turn, plan.step(step.id), step) or CONTINUE
    starts = failed is None and turn.run.stop is None and turn.run.paused is None
    for step in order.startable(plan, turn.steps, turn.now) if starts else ():
        return _start(turn, step)
    waiting = sorted(open_, key=lambda step: _due(turn, step))
    if waiting and _due(turn, waiting[0]) <= turn.now:
        return resume(turn, plan.step(waiting[0].id), waiting[0]) or CONTINUE
    if turn.run.paused is not None and not waiting:
        return _wait(turn, PAUSED_SECONDS, turn.run.paused)
    held_back = order.next_due(turn.steps, turn.now) if starts else ()
    return Wait(min([*(_due(turn, step) for step in waiting), *held_back]), _what_for(turn, waiting))


def _what_for(turn: Turn, waiting: Sequence[StepRecord]) -> str:
    """Say what the run waits for: what stands in its way, or the step that goes on next, in its own words."""
    if turn.run.progress.get("blocked") or not waiting:
        return turn.run.waiting
    step = waiting[0]
    said = turn.said.get(step.id)
    return f"step {step.id}: {said}" if said else f"step {step.id} goes on at {_due(turn, step):%H:%M:%S}"


def _start(turn: Turn, step: StepRecord) -> Next:
    gone = nothing_left(turn) if turn.run.progress.get("blocked") else None
    if gone is not None:
        return begin_ending(turn, RunState.SUPERSEDED, gone, undo=False)
    planned = turn.pinned.plan.step(step.id)
    if turn.run.waiting and not turn.run.progress.get("blocked"):
        turn.update(waiting="")
    halt = halted(turn)
    if halt is not None:
        hold_back(turn, step, halt)
        return CONTINUE
    if order.is_loop(turn.pinned.plan, step):
        unblock(turn, step)
        loops.begin(turn, planned, step)
        return CONTINUE
    return prepare(turn, planned, step) or CONTINUE


def _due(turn: Turn, step: StepRecord) -> datetime:
    """Return when a waiting step is called again, or has run out of time."""
    return min(step.due_at or turn.now, deadline(turn.pinned.plan.step(step.id), step))


def _steps_are_over(turn: Turn) -> Next:
    left = not_taken_back(turn)
    if left is not None:
        return begin_ending(turn, RunState.FAILED, left, undo=False)
    if turn.pinned.plan.verify:
        turn.move(RunState.VERIFYING, "all steps are over: proving that it helped")
    else:
        turn.move(RunState.SUCCEEDED, "all steps are over")
    return CONTINUE


def _undoing_without_end(turn: Turn) -> Next:
    """Only reached when rows were changed by hand: end what is undone as failed."""
    return begin_ending(turn, RunState.FAILED, turn.run.reason, undo=True)


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

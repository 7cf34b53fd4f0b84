"""How a run ends: what must be taken back, who must be told, and the final state.

The end is decided once (`begin_ending`) and reached over several turns: undo records in
reverse order, each by its action's `restore`; then the escalation; then the final state.
An undo that somebody's change stands against, or that would send users into harm, is
reported and never forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from controlplane.act import escalation
from controlplane.act.calls import validated
from controlplane.act.claims import claim, takes_out
from controlplane.act.context import StepContext, context_for
from controlplane.act.engine import CONTINUE, Next, Parts, Turn, Wait, Work
from controlplane.act.fencing import undo_begins, undo_rests
from controlplane.act.outcomes import backoff_seconds
from controlplane.act.prepare import judge
from controlplane.kernel.errors import (
    Ambiguous,
    Fenced,
    FleetwardError,
    InvalidInput,
    Unavailable,
    VersionConflict,
)
from controlplane.model.action import Action, Touch, UndoRecord, UndoResult, UndoStatus
from controlplane.model.playbook import Backoff
from controlplane.model.ports import Notification, Notifier
from controlplane.model.records import Verdict
from controlplane.model.states import RunState
from controlplane.model.topology import Topology
from controlplane.platforms.port import Platform

log = structlog.get_logger(__name__)

TRIES = 5
"""How often an undo or a notification is tried while its other side does not answer."""

BACKOFF = Backoff()
TROUBLE = (UndoStatus.FOREIGN, UndoStatus.WITHHELD, UndoStatus.FAILED)

Reach = tuple[Sequence[Touch], Topology | None] | FleetwardError
"""What an undo would touch, and the fleet to judge it on if it takes something out; or an error."""


def begin_ending(turn: Turn, final: RunState, reason: str, *, undo: bool) -> Next:
    """Decide the end. What is to be taken back is taken back first."""
    turn.update(ending=final, reason=reason)
    turn.remember(undo=undo)
    return CONTINUE


def go_on_ending(turn: Turn) -> Next:
    """Return what is next on the way to the end that was decided."""
    final = turn.run.ending
    assert final is not None, "only an ending run is ended"  # noqa: S101
    retry_at = turn.run.progress.get("retry_at")
    if retry_at is not None and turn.now < datetime.fromisoformat(retry_at):
        return Wait(datetime.fromisoformat(retry_at), turn.run.waiting)
    if turn.run.state is not RunState.UNDOING and turn.run.progress.get("undo"):
        _spare(turn)
        if turn.tx.undo.pending(turn.run.id):
            why = turn.run.reason
            turn.move(RunState.UNDOING, f"taking back what it did: {why}")
            turn.update(reason=why)
            undo_begins(turn)
            return CONTINUE
    if turn.run.state is RunState.UNDOING:
        left = turn.tx.undo.pending(turn.run.id)
        if left:
            return _undo(turn, _last(turn, left))
    tried = _escalation(turn, final)
    if tried is not None:
        return tried
    _finish(turn, final)
    return CONTINUE


@dataclass(slots=True)
class LookBack:
    """Work: look what taking a change back would take out of service: what a step has given back goes again.

    That is judged by the blast radius and claimed as what a step does; but it waits for nothing.
    """

    change: UndoChange
    parameters: Mapping[str, Any]

    def perform(self) -> Reach:
        action, context = self.change.action, self.change.context
        try:
            given = validated(action, self.parameters)
            touches = action.undo_touches(self.change.record_, given, context)
            if not any(takes_out(touch) for touch in touches):
                return (), None
            return touches, context.port(Platform).topology(context.service.name)
        except Fenced:
            raise
        except FleetwardError as error:
            return error
        except Exception as error:
            log.exception("an undo broke before it began", action=action.name)
            return InvalidInput(f"{action.name} broke: {type(error).__name__}: {error}")

    def record(self, turn: Turn, result: Reach) -> Work | None:
        if isinstance(result, Unavailable | Ambiguous | VersionConflict):
            return self.change.record(turn, result)
        if isinstance(result, FleetwardError):
            return self.change  # whatever is wrong there, taking it back says itself
        touches, topology = result
        if topology is not None:
            judged = judge(turn, touches, topology)
            step = self.change.record_.step
            turn.journal(f"guard.{judged.verdict}", judged.message, step=step, **judged.values)
            if judged.verdict is not Verdict.ALLOW:
                why = f"refused by the blast radius: {judged.message}"
                settle(turn, self.change.record_, UndoResult(UndoStatus.WITHHELD, why))
                return None
            claim(turn.tx, turn.run.id, touches, f"undo of step {step}")
            self.change.takes_out = True
        return self.change


@dataclass(slots=True)
class UndoChange:
    """Work: take one recorded change back. ``takes_out``: its target goes out of service by that."""

    record_: UndoRecord
    action: Action[Any]
    context: StepContext
    takes_out: bool = False

    def perform(self) -> UndoResult | FleetwardError:
        try:
            return self.action.restore(self.record_, self.context)
        except Fenced:
            raise
        except FleetwardError as error:
            return error
        except Exception as error:
            log.exception("an undo broke", action=self.action.name)
            return InvalidInput(f"{self.action.name} broke: {type(error).__name__}: {error}")

    def record(self, turn: Turn, result: UndoResult | FleetwardError) -> Work | None:
        self.context.settle(turn)
        if isinstance(result, Unavailable | Ambiguous | VersionConflict):
            tries = turn.run.progress.get("tries", 0) + 1
            if tries < TRIES:
                _try_later(turn, tries, f"undo of {_name(self.record_)}: {result}", step=self.record_.step)
                return None
        if isinstance(result, FleetwardError):
            result = UndoResult(UndoStatus.FAILED, str(result))
        settle(turn, self.record_, result, takes_out=self.takes_out)
        return None


def settle(turn: Turn, record: UndoRecord, result: UndoResult, *, takes_out: bool = False) -> None:
    """Write down what came of one record; what is back in service gives its claim up."""
    turn.remember(tries=0, retry_at=None)
    target = str(record.target)
    turn.tx.undo.settle(record.run, record.step, target, record.field, result.status, result.detail)
    message = f"{_name(record)}: {result.status}" + (f" ({result.detail})" if result.detail else "")
    turn.journal(f"undo.{result.status}", message, step=record.step, target=target, before=record.before)
    if result.status is UndoStatus.UNDONE and not takes_out:
        turn.tx.ledger.release(holder=turn.run.id, target=record.target)


@dataclass(slots=True)
class Notify:
    """Work: tell a channel that a run did not succeed."""

    notification: Notification
    rung: escalation.Rung
    channel: str
    parts: Parts

    def perform(self) -> FleetwardError | None:
        try:
            self.parts.port(Notifier).send(self.notification, channel=self.channel, key=self.rung.key)
        except FleetwardError as error:
            return error
        return None

    def record(self, turn: Turn, result: FleetwardError | None) -> Work | None:
        tries = turn.run.progress.get("tries", 0) + 1
        if isinstance(result, Unavailable) and tries < TRIES:
            _try_later(turn, tries, f"notifying {self.channel}: {result}")
            return None
        event, said = "run.escalated", "told"
        if result is not None:
            event, said = "run.escalationFailed", f"not told: {result}"
        turn.journal(event, f"{self.channel} was {said}", channel=self.channel)
        escalation.tried(turn, self.rung, said)
        turn.remember(tries=0, retry_at=None)
        return None


def _spare(turn: Turn) -> None:
    """What cannot be taken back, or shall not be, stays; said before anything is undone."""
    for view in turn.tx.undo.list(turn.run.id):
        if view.status is not UndoStatus.PENDING:
            continue
        step = turn.pinned.plan.step(view.step)
        known = step.uses in turn.parts.actions
        if not step.undo:
            why = f"step {step.id} says undo: false"
        elif known and not turn.parts.actions.get(step.uses).reversible:
            why = f"{step.uses} cannot be taken back"
        else:
            continue
        turn.tx.undo.settle(turn.run.id, view.step, view.target, view.field, UndoStatus.KEPT, why)
        turn.journal("undo.kept", f"{view.field} of {view.target}: kept ({why})", step=view.step)


def _last(turn: Turn, left: Sequence[UndoRecord]) -> UndoRecord:
    """Return what is taken back next: the newest change of the step that ended last.

    What a step needs ended before it; at one and the same moment the order of the plan decides.
    """
    steps = {step.id: step for step in turn.steps}

    def age(place: int) -> tuple[datetime, int, int, int]:
        step = steps[left[place].step]
        rank = turn.pinned.plan.ranks[turn.pinned.plan.step(step.id).id]
        return (step.ended_at or turn.now, rank, step.item_index or 0, place)

    return left[max(range(len(left)), key=age)]


def _undo(turn: Turn, record: UndoRecord) -> Next:
    step = turn.pinned.plan.step(record.step)
    if step.uses not in turn.parts.actions:
        detail = f"this worker does not know the action `{step.uses}`"
        settle(turn, record, UndoResult(UndoStatus.FAILED, detail))
        return CONTINUE
    done = turn.step(record.step)
    attempt = max(1, done.attempt)
    context = context_for(
        turn, done, attempt, started_at=done.started_at, state=done.resume_state, undoing=True
    )
    change = UndoChange(record, turn.parts.actions.get(step.uses), context)
    return LookBack(change, done.parameters)


def _escalation(turn: Turn, final: RunState) -> Next | None:
    """Return what is tried before the end, if there is something left; None starts no other playbook."""
    troubles = [view for view in turn.tx.undo.list(turn.run.id) if view.status in TROUBLE]
    rung = escalation.next_rung(turn, final, trouble=bool(troubles))
    if rung is None:
        return None
    if rung.says.playbook is not None:
        return None if escalation.start_rung(turn, rung) else CONTINUE
    assert rung.says.notify is not None, "a rung is a playbook or a channel"  # noqa: S101
    run, origin = turn.run, rung.origin
    text = "\n".join(
        [*escalation.story(turn, rung), *(f"undo {view.status}: {view.detail}" for view in troubles)]
    )
    state = final if origin.id == run.id else origin.state
    notification = Notification(
        title=f"{origin.name} {state} on {origin.target or origin.service}"[:200],
        text=text[:4000],
        severity="critical",
        facts={"run": origin.id, "service": run.service, "state": state.value, "trigger": origin.trigger},
    )
    return Notify(notification, rung, rung.says.notify, turn.parts)


def _finish(turn: Turn, final: RunState) -> None:
    counts: dict[str, int] = {}
    for view in turn.tx.undo.list(turn.run.id):
        status = UndoStatus.KEPT if view.status is UndoStatus.PENDING else view.status
        counts[status.value] = counts.get(status.value, 0) + 1
    result = {**turn.run.result, **({"undo": counts} if counts else {})}
    turn.move(final, turn.run.reason, result=result)
    log.info("run ended", run=turn.run.id, name=turn.run.name, state=final.value, reason=turn.run.reason)


def _try_later(turn: Turn, tries: int, what: str, step: str | None = None) -> None:
    seconds = backoff_seconds(BACKOFF, turn.run.id, what, tries)
    turn.remember(tries=tries, retry_at=(turn.now + timedelta(seconds=seconds)).isoformat())
    undo_rests(turn)
    turn.update(waiting=what)
    turn.journal("retry", f"{what}; try {tries + 1} of {TRIES} follows", step=step)


def _name(record: UndoRecord) -> str:
    return f"{record.field} of {record.target}"

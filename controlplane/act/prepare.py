"""May a step start? Its condition, its parameters, what it would touch, and the blast radius.

What the step touches is looked up outside of any transaction; the budget is judged, and the
targets are claimed, in the transaction that starts the step, so that two steps can never
both see the last free place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from controlplane.act.calls import CallStep, call, validated
from controlplane.act.claims import Budget, claim, takes_out
from controlplane.act.context import StepContext, context_for
from controlplane.act.engine import Turn, Work
from controlplane.act.halts import standing_in_way
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import Fenced, FleetwardError, InvalidInput, Unavailable
from controlplane.kernel.templating import evaluate, render
from controlplane.model.action import Action, ActionRegistry, Touch, stays_within
from controlplane.model.playbook import Step
from controlplane.model.records import GuardVerdict, Halt, StepRecord, Verdict
from controlplane.model.states import StepState
from controlplane.model.topology import Topology
from controlplane.platforms.port import Platform

log = structlog.get_logger(__name__)

BLOCKED_SECONDS = 2.0
"""How often a step looks whether what stands in its way is gone."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What looking before the start found: the parameters with what they touch, a skip, or an error."""

    parameters: dict[str, Any] | None = None
    touches: Sequence[Touch] = ()
    topology: Topology | None = None
    skip: bool = False
    error: FleetwardError | None = None


@dataclass(slots=True)
class PrepareStep:
    """Work: find out whether a step runs at all, with which parameters, and what it would touch."""

    step: Step
    action: Action[Any]
    context: StepContext

    def perform(self) -> Prepared:
        try:
            return self._look()
        except Fenced:
            raise
        except FleetwardError as error:
            return Prepared(error=error)
        except Exception as error:
            log.exception("an action broke before its start", action=self.step.uses)
            return Prepared(error=InvalidInput(f"{self.step.uses} broke: {type(error).__name__}: {error}"))

    def _look(self) -> Prepared:
        scope = self.context.scope
        if self.step.for_each is None and self.step.if_ is not None and not evaluate(self.step.if_, scope):
            return Prepared(skip=True)
        rendered = render(self.step.with_, scope)
        touches = self.action.touches(validated(self.action, rendered), self.context)
        reach = self.action.reach_with(self.step.with_)
        if not stays_within(reach, touches):
            msg = f"{self.step.uses} promises reach `{reach}`, and would take more out"
            raise InvalidInput(msg, hint="this is an error of the action: its `reach` must be `out`")
        topology = None
        if any(takes_out(touch) for touch in touches):
            topology = self.context.port(Platform).topology(self.context.service.name)
        return Prepared(rendered, touches, topology)

    def record(self, turn: Turn, result: Prepared) -> Work | None:
        record = turn.step(self.context.step_id)
        if isinstance(result.error, Unavailable):
            _block(turn, self.step, record, f"cannot look before the start: {result.error}")
            return None
        if result.error is not None:
            _refuse(turn, record, str(result.error))
            return None
        if result.skip:
            unblock(turn, record)
            turn.move_step(record, StepState.SKIPPED, f"`{self.step.if_}` is false")
            return None
        halt = halted(turn, [touch.target for touch in result.touches])
        if halt is not None:
            hold_back(turn, record, halt)
            return None
        return self._start(turn, record, result)

    def _start(self, turn: Turn, record: StepRecord, prepared: Prepared) -> CallStep | None:
        verdict, message = _judge(turn, record, prepared)
        if verdict is Verdict.REFUSE:
            _refuse(turn, record, f"refused by the blast radius: {message}")
            return None
        if verdict is Verdict.WAIT:
            _block(turn, self.step, record, f"waits for blast radius: {message}")
            return None
        claim(turn.tx, turn.run.id, prepared.touches, f"step {record.id}")
        returned = [[str(t.target), t.dimension.value] for t in prepared.touches if t.returns]
        if returned:
            turn.remember(returned={**turn.run.progress.get("returned", {}), record.id: returned})
        unblock(turn, record)
        values: dict[str, Any] = {"attempt": 1, "parameters": prepared.parameters or {}, "blocked_at": None}
        begun = None if turn.ahead is None else turn.ahead.begun(record.id)
        values |= {"resume_state": begun} if begun else {}
        record = turn.move_step(record, StepState.RUNNING, f"{self.step.uses} starts", **values)
        return call(turn, self.step, record, fresh=True, effects=int(begun is not None))


def prepare(turn: Turn, step: Step, record: StepRecord) -> Work | None:
    """Return the work that starts a pending step; what touches nothing starts in this turn."""
    if step.uses not in turn.parts.actions:
        _refuse(turn, record, f"this worker does not know the action `{step.uses}`")
        return None
    work = PrepareStep(step, turn.parts.actions.get(step.uses), context_for(turn, record, 1))
    if not looks_outside(turn.parts.actions, step):
        return work.record(turn, work.perform())
    found = None if turn.ahead is None else turn.ahead.of(record.id, work.context.scope)
    return work if found is None else work.record(turn, found)


def looks_outside(actions: ActionRegistry, step: Step) -> bool:
    """Tell whether what a step touches must be looked up outside of any transaction."""
    return step.uses in actions and type(actions.get(step.uses)).touches is not Action.touches


def halted(turn: Turn, touched: Sequence[Any] = ()) -> Halt | None:
    """Return the halt that stands in the run's way now, if there is one."""
    return standing_in_way(turn.halts, turn.run, touched)


def hold_back(turn: Turn, record: StepRecord, halt: Halt) -> None:
    """Keep a step from starting for as long as the halt is in force; that is not the step's own time."""
    _wait(turn, record, f"halted by {halt.by}: {halt.reason}")


def judge(turn: Turn, touches: Sequence[Touch], topology: Topology) -> GuardVerdict:
    """Judge what is about to be touched by the one budget, as it is in this transaction."""
    return Budget.of(turn.pinned).judge(turn.tx, turn.run.id, touches, topology)


def _judge(turn: Turn, record: StepRecord, prepared: Prepared) -> tuple[Verdict, str]:
    if prepared.topology is None:
        return Verdict.ALLOW, ""
    judged = judge(turn, prepared.touches, prepared.topology)
    if judged.verdict is not Verdict.WAIT or record.blocked_at is None:
        turn.journal(f"guard.{judged.verdict}", judged.message, step=record.id, **judged.values)
    return judged.verdict, judged.message


def _refuse(turn: Turn, record: StepRecord, why: str) -> None:
    """Fail a step that may not start."""
    unblock(turn, record)
    record = turn.move_step(record, StepState.RUNNING, quiet=True)
    turn.move_step(record, StepState.FAILED, why)


def _block(turn: Turn, step: Step, record: StepRecord, why: str) -> None:
    """Keep a step waiting for its start, at most for its time-out."""
    since = record.blocked_at or turn.now
    if turn.now >= since + timedelta(seconds=step.timeout):
        _refuse(turn, record, f"could not start within {format_duration(step.timeout)}: {why}")
        return
    record = turn.change_step(record, blocked_at=since)
    _wait(turn, record, why)


def _wait(turn: Turn, record: StepRecord, why: str) -> None:
    due = turn.now + timedelta(seconds=BLOCKED_SECONDS)
    turn.change_step(record, due_at=due)
    blocked = turn.run.progress.get("blocked", {})
    if blocked.get(record.id) != why:
        turn.journal("step.blocked", why, step=record.id)
        turn.tx.emit("run", turn.run.id)
        _say_blocked(turn, {**blocked, record.id: why})


def unblock(turn: Turn, record: StepRecord) -> None:
    """Forget why a step was kept from its start."""
    blocked = turn.run.progress.get("blocked", {})
    if record.id in blocked:
        _say_blocked(turn, {id_: why for id_, why in blocked.items() if id_ != record.id})


def _say_blocked(turn: Turn, blocked: dict[str, str]) -> None:
    """Keep why steps wait for their start; together they are what the run waits for."""
    turn.remember(blocked=blocked)
    turn.update(waiting="; ".join(dict.fromkeys(blocked.values())))

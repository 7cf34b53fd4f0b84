"""``drill.exercise``: a playbook that is run under traffic, instead of a fault.

It is started as a person would start it, judged by every guard, and once: whoever comes after a
crash finds the run by who started it. What the drill takes back is the run: a cancelled run takes
back what it did.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drills.case import Case, Exercised, Reverted, case_of, exercise_of, starter
from chaos.drills.children import stop, stop_and_wait, told
from chaos.drills.conclude import conclude_cut_short
from chaos.drills.preconditions import EVERY, NoParameters
from controlplane.act.byhand import Ask, Hand
from controlplane.kernel.errors import NotFound, Refused
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Model
from controlplane.model.drill import Exercise
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.states import is_final
from controlplane.store.transaction import Transaction

STEP = "exercise"
FIELD = "exercise"
END_WITHIN = 90.0
"""Seconds for which the drill waits for an exercise that was cancelled to take back what it did."""


class StartExercise(Action[NoParameters]):
    """Starts the drill's playbook. One that a guard refuses is not started, and the drill is aborted."""

    name: ClassVar[str] = "drill.exercise"
    parameters: ClassVar[type[Model]] = NoParameters
    reversible: ClassVar[bool] = True
    outputs: ClassVar[dict[str, str]] = {
        "run": "the playbook's run; null when it was not started",
        "reason": "why it was not started",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        wanted = _wanted(case)
        if case.exercise is not None:
            return _done(Exercised(run=case.exercise.id))
        target = wanted.target or str(case.service.target)
        ask = Ask(wanted.playbook, target, starter(case.run.id), wanted.inputs, f"drill {case.drill.name}")
        try:
            with context.effect(Change(case.service.target, FIELD, None, ask.by)):
                run = context.port(Hand).start(ask)
        except (NotFound, Refused) as error:
            return _done(Exercised(reason=str(error)))
        context.note(f"{wanted.playbook} was started as {run.id}", exercise=run.id)
        return _done(Exercised(run=run.id))

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        drill = context.run_id
        run = stop_and_wait(context, lambda tx: exercise_of(tx, drill), starter(drill))
        case = case_of(context)
        conclude_cut_short(case.database, case.ports, case.run.id)
        return UndoResult(UndoStatus.UNDONE, told(run))


def wait_ended(case: Case, context: ActionContext) -> Outcome:
    """See to it that the exercise has ended; one that has not by now is cancelled, and waited for."""
    drill = case.run.id
    run = stop(
        case.database, lambda tx: exercise_of(tx, drill), starter(drill), "its time in the drill is over"
    )
    going = run is not None and not is_final(run.state)
    now = context.clock.now()
    if going and (now - context.started_at).total_seconds() < END_WITHIN:
        return Again(EVERY, reason=told(run))
    with case.database.transaction() as tx:
        settle_undo(tx, case)
    ended = None if going else now if run is None or run.ended_at is None else run.ended_at
    reverted = Reverted(
        cleared_at=None if ended is None else ended.timestamp(), standing=(told(run),) if going else ()
    )
    return Done(reverted.model_dump(mode="json", by_alias=True))


def settle_undo(tx: Transaction, case: Case) -> None:
    """Note that the drill has nothing left to take back of an exercise that has ended."""
    for view in tx.undo.list(case.run.id):
        if view.field == FIELD and view.status is UndoStatus.PENDING:
            detail = "it has ended"
            tx.undo.settle(case.run.id, STEP, view.target, FIELD, UndoStatus.UNDONE, detail)


def _wanted(case: Case) -> Exercise:
    if case.drill.spec.exercise is None:
        raise NotFound(f"{case.drill.name} runs no playbook")
    return case.drill.spec.exercise


def _done(found: Exercised) -> Done:
    return Done(found.model_dump(mode="json", by_alias=True))

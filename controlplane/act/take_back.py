"""Taking back, by hand, what a run did that has ended.

It is a run of its own, one step for each record, newest first: so halts, the concurrency
group, the blast radius, retries and crashes are the engine's as ever, and its journal says
who did it. A record is taken back by its own action, only if what stands there is still as
the run left it, and never into harm. What came of it is written on the record in the
transaction that ends the step. It refuses drills: their ledger has a way back of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from controlplane.act.context import StepContext
from controlplane.act.engine import Turn
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.registry import Registry
from controlplane.model.action import (
    Action,
    ActionContext,
    ActionRegistry,
    Touch,
    UndoRecord,
    UndoStatus,
)
from controlplane.model.base import Model
from controlplane.model.outcome import Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import OnFailure, Step
from controlplane.model.records import Run, StepRecord, UndoView
from controlplane.model.states import StepState, is_final
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

MAX_STEPS = 200
"""So many records are taken back by one run: the newest; the rest when one asks again."""

STANDING = frozenset({UndoStatus.KEPT, UndoStatus.WITHHELD, UndoStatus.FAILED})
"""What may still stand of a run that has ended. What somebody else changed since is not ours any more."""


def undo_run(
    tx: Transaction, run_id: str, *, by: str, reason: str = "", wake: Callable[[str], None] | None = None
) -> Run:
    """Start a run that takes back what this one did, and return it; while it is active, asking
    again returns the same.

    Raises `NotFound`, and `Conflict` where there is nothing to take back.
    """
    run = tx.runs.get(run_id)
    under_way = tx.runs.list(RunQuery(undo_of=run_id, active=True), limit=1)
    if under_way:
        return under_way[0]
    standing = _standing(tx, run)
    name = f"undo-{run.name}"
    why = f"{by} takes back {len(standing)} of what {run_id} did" + (f": {reason}" if reason else "")
    request = StartRequest(
        kind="playbook",
        name=name,
        service=run.service,
        plan=_plan(RunPlan.read(tx.runs.plan(run_id)), standing),
        pins=run.pins,
        target=run.target,
        trigger="undo",
        started_by=by,
        reason=why,
        scope=run.scope,
        group=run.group,
        undo_of=run_id,
    )
    made = start_run(tx, request, wake)
    tx.journal.write(run_id, "run.undoRequested", f"{by} takes it back by {made.id}", by=by, undo=made.id)
    tx.emit("run", run_id)
    return made


def _standing(tx: Transaction, run: Run) -> Sequence[UndoView]:
    """Return the records to take back, newest first; raise `Conflict` when there is none."""
    if run.kind == "drill":
        raise Conflict(f"{run.id} is a drill", hint="fleetward chaos revert takes back what still stands")
    if not is_final(run.state):
        raise Conflict(f"{run.id} is {run.state}", hint="cancel it: that takes back what it did")
    retries = tx.runs.list(RunQuery(retry_of=run.id), limit=1)
    if retries and not is_final(retries[0].state):
        raise Conflict(f"{retries[0].id} goes on where {run.id} failed", hint="cancel that first")
    views = tx.undo.list(run.id)
    standing = [view for view in reversed(views) if view.status in STANDING]
    if not standing:
        found = Counter(view.status.value for view in views)
        what = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        raise Conflict(f"nothing of {run.id} is left to take back: {what or 'it changed nothing'}")
    return standing[:MAX_STEPS]


def _plan(plan: RunPlan, standing: Sequence[UndoView]) -> RunPlan:
    """Return a plan that takes each record back, also when another one cannot be."""
    steps = [
        Step.model_validate(
            {
                "id": f"undo-{number}",
                "name": f"{view.field} of {view.target}, as it was before {view.step}",
                "uses": TakeBack.name,
                "with": {"run": view.run, "step": view.step, "target": view.target, "field": view.field},
                "retry": {"limit": 4},
                "continueOnError": True,
            }
        )
        for number, view in enumerate(standing, start=1)
    ]
    told = tuple(each for each in plan.on_failure.escalate if each.notify is not None)
    return RunPlan(steps=tuple(steps), on_failure=OnFailure(undo=False, escalate=told), limits=plan.limits)


class TakeBackParameters(Model):
    """Which record: of which run and step, of which field of which target."""

    run: str
    step: str
    target: str
    field: str


class TakeBack(Action[TakeBackParameters]):
    """The engine's own action that takes back one record of another run. No playbook can name it."""

    name = "run.undo"
    parameters = TakeBackParameters
    outputs: ClassVar = {"status": "what came of the record", "detail": "why"}

    def __init__(self, database: Database, actions: ActionRegistry) -> None:
        self._database = database
        self._actions = actions

    def touches(self, parameters: TakeBackParameters, context: ActionContext) -> list[Touch]:
        record, step = self._look(parameters)
        action = self._actions.get(step.uses)
        doing = action.parameters.model_validate(step.parameters)
        return action.undo_touches(record, doing, self._as_undo(context, step))

    def run(self, parameters: TakeBackParameters, context: ActionContext) -> Outcome:
        record, step = self._look(parameters)
        action = self._actions.get(step.uses)
        if not action.reversible:
            return _failed(UndoStatus.KEPT, f"{step.uses} cannot be taken back")
        result = action.restore(record, self._as_undo(context, step))
        if result.status is not UndoStatus.UNDONE:
            return _failed(result.status, result.detail)
        return Done({"status": result.status.value, "detail": result.detail})

    def _look(self, parameters: TakeBackParameters) -> tuple[UndoRecord, StepRecord]:
        with self._database.reading() as tx:
            record = tx.undo.find(parameters.run, parameters.step, parameters.target, parameters.field)
            steps = {step.id: step for step in tx.steps.list(parameters.run)}
        if record is None:
            msg = f"{parameters.run} did nothing to {parameters.field} of {parameters.target}"
            raise NotFound(msg)
        return record, steps[parameters.step]

    @staticmethod
    def _as_undo(context: ActionContext, step: StepRecord) -> StepContext:
        """Return the context as the action knows it from its own run's undo."""
        assert isinstance(context, StepContext)  # noqa: S101  only the engine calls this action
        started = step.started_at or context.started_at
        return replace(context, state=step.resume_state, started_at=started, undoing=True)


class EngineActions(Registry[Action[Any]]):
    """The installed actions, and the engine's own beside them, which are not offered to playbooks."""

    def __init__(self, installed: ActionRegistry, *own: Action[Any]) -> None:
        super().__init__(installed.what)
        self._installed = installed
        for action in own:
            self.add(action.name, action)

    def get(self, name: str) -> Action[Any]:
        return super().get(name) if super().__contains__(name) else self._installed.get(name)

    def names(self) -> list[str]:
        return self._installed.names()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._installed


def write_back(turn: Turn, step: Step) -> None:
    """Write what came of taking a record back on the record itself, and into its run's journal."""
    record = turn.step(step.id)
    status = record.outputs.get("status")
    if turn.run.undo_of is None or step.uses != TakeBack.name or status is None or not is_final(record.state):
        return
    where = TakeBackParameters.model_validate(record.parameters)
    detail = f"{record.outputs.get('detail', '')} ({turn.run.started_by}, {turn.run.id})".strip()
    turn.tx.undo.settle(where.run, where.step, where.target, where.field, UndoStatus(status), detail)
    message = f"{where.field} of {where.target}: {status}: {detail}"
    turn.tx.journal.write(where.run, f"undo.{status}", message, step=where.step, target=where.target)
    turn.tx.emit("run", where.run)


def not_taken_back(turn: Turn) -> str | None:
    """Say what a run that takes another one back had to leave; None when it left nothing, or is another."""
    if turn.run.undo_of is None:
        return None
    statuses = [step.outputs.get("status", UndoStatus.KEPT.value) for step in turn.steps]
    turn.update(result={**turn.run.result, "undo": dict(Counter(statuses))})
    left = [step for step in turn.steps if step.state is not StepState.SUCCEEDED]
    if not left:
        return None
    return f"{len(left)} of {len(turn.steps)} could not be taken back: {left[0].error}"


def _failed(status: UndoStatus, detail: str) -> Failed:
    outputs = {"status": status.value, "detail": detail}
    return Failed(FailureKind.PERMANENT, f"{status}: {detail}", outputs)

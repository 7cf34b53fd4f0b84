"""Doing a run again from where it failed, by hand.

A retry is a run of its own, on the same revisions and the same plan. The one that failed
stays as it ended: its state is final, its journal tells one story, and the platform knows
its effects by its id, so that an effect of the same run would be taken for done already.
Steps that are over, and whose effects still stand, are carried over with their outputs; the
first other one is where it starts. What was carried belongs to the run that did it: when the
retry fails, it takes back only what it did itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.kernel.errors import Conflict
from controlplane.model.action import UndoStatus
from controlplane.model.graph import dependencies, ranks
from controlplane.model.records import Run, StepRecord, UndoView
from controlplane.model.states import RunState, StepState, is_final
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

RETRIABLE = frozenset({RunState.FAILED, RunState.INCONCLUSIVE, RunState.CANCELLED})

_GONE = frozenset({UndoStatus.UNDONE, UndoStatus.FOREIGN})
"""What became of an effect that no longer stands as its step left it."""


def retry_run(
    tx: Transaction, run_id: str, *, by: str, reason: str = "", wake: Callable[[str], None] | None = None
) -> Run:
    """Start a run that goes on where this one failed, and return it; asking twice returns the same.

    Raises `NotFound`, and `Conflict` when there is nothing to do again.
    """
    run = tx.runs.get(run_id)
    already = tx.runs.list(RunQuery(retry_of=run_id), limit=1)
    if already and not is_final(already[0].state):
        return already[0]
    if already:
        msg = f"{run_id} was retried as {already[0].id}, which is {already[0].state}"
        raise Conflict(msg, hint="retry that one" if already[0].state in RETRIABLE else None)
    _check(tx, run)
    plan = RunPlan.read(tx.runs.plan(run_id))
    carried = carried_steps(plan, tx.steps.list(run_id), tx.undo.list(run_id))
    made = start_run(tx, _request(run, plan, carried, by, reason), wake)
    tx.journal.write(run_id, "run.retried", f"{by} retries it as {made.id}", by=by, retry=made.id)
    tx.emit("run", run_id)
    return made


def carried_steps(plan: RunPlan, steps: Sequence[StepRecord], undo: Iterable[UndoView]) -> list[StepRecord]:
    """Return the steps that are over, whose effects still stand, and which need only such steps."""
    gone = {plan.step(view.step).id for view in undo if view.status in _GONE}
    records = {record.id: record for record in steps}
    needed = dependencies(plan.steps)
    carried: dict[str, StepRecord] = {}
    for step_id in ranks(plan.steps):
        record = records[step_id]
        passed = record.state in {StepState.SUCCEEDED, StepState.SKIPPED}
        excused = record.state is StepState.FAILED and plan.step(step_id).continue_on_error
        if (passed or excused) and step_id not in gone and all(each in carried for each in needed[step_id]):
            carried[step_id] = record
    return list(carried.values())


def _check(tx: Transaction, run: Run) -> None:
    """Raise `Conflict` when the run is nothing to do again, or is being taken back."""
    if run.kind == "drill":
        hint = f"fleetward drill run {run.name} begins it anew"
        raise Conflict(f"{run.id} is a drill, which is not begun in its middle", hint=hint)
    if run.undo_of is not None:
        hint = f"undo {run.undo_of} again: it takes back what still stands"
        raise Conflict(f"{run.id} takes back {run.undo_of}", hint=hint)
    if not is_final(run.state):
        raise Conflict(f"{run.id} is {run.state}: it has not ended yet")
    if run.state not in RETRIABLE:
        raise Conflict(f"{run.id} is {run.state}: there is nothing to do again")
    undoing = tx.runs.list(RunQuery(undo_of=run.id, active=True), limit=1)
    if undoing:
        raise Conflict(f"{undoing[0].id} is taking {run.id} back", hint="retry when that has ended")


def _request(run: Run, plan: RunPlan, carried: list[StepRecord], by: str, reason: str) -> StartRequest:
    kept = {record.id: record for record in carried}
    left = [step for step in plan.steps if step.id not in kept]
    where = f"from step {left[0].id}" if left else "to prove it again: all of its steps stand"
    return StartRequest(
        kind=run.kind,
        name=run.name,
        service=run.service,
        plan=plan,
        pins=run.pins,
        target=run.target,
        signal=run.signal,
        incident=run.incident,
        trigger="retry",
        started_by=by,
        reason=f"{by} retries {run.id} {where}" + (f": {reason}" if reason else ""),
        inputs=run.inputs,
        scope=run.scope,
        group=run.group,
        retry_of=run.id,
        carried=kept,
        effect_at=run.effect_at if carried else None,
    )

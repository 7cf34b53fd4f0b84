"""Looking ahead: what the next step would touch, and its call, before the end of this one is written down.

So the end of a step, the start of the next and the intent of its first effect can be one commit
(`controlplane.act.chain`). Nothing is begun here: it only reads, as any look before a start does, and
the turn that follows judges, claims and starts on what was found. A look that was made on other
values than that turn has is not used. A drill is not looked ahead in: its actions read its rows,
and those do not know yet how the step came out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controlplane.act import order
from controlplane.act.calls import CallStep
from controlplane.act.context import context_for
from controlplane.act.engine import Ahead, Turn, Work
from controlplane.act.prepare import Prepared, PrepareStep, looks_outside
from controlplane.model.outcome import Done
from controlplane.model.records import StepRecord
from controlplane.model.states import StepState


def look_ahead(turn: Turn, work: Work, result: Any) -> Ahead | None:
    """Return what was found for the step that starts when this result is written down, if one does."""
    if turn.run.kind != "playbook":
        return None
    if isinstance(work, PrepareStep):
        held_up = turn.step(work.context.step_id).blocked_at is not None
        return None if held_up else _ahead(work, result)
    if not isinstance(work, CallStep) or not isinstance(result, Done):
        return None
    outputs = work.outputs(result)
    if not isinstance(outputs, dict):
        return None
    then = replace(turn, _steps=_supposed(turn, work.context.step_id, outputs))
    plan, now = turn.pinned.plan, turn.parts.database.now()
    for record in order.startable(plan, then.steps, now)[:1]:
        step = plan.step(record.id)
        if order.is_loop(plan, record) or not looks_outside(turn.parts.actions, step):
            return None
        context = replace(context_for(then, record, 1), scope={**then.scope_of(record), "now": now})
        look = PrepareStep(step, turn.parts.actions.get(step.uses), context)
        return _ahead(look, look.perform())
    return None


def _ahead(look: PrepareStep, found: Prepared) -> Ahead:
    call = None
    if found.parameters is not None and look.action.looks_first:
        call = CallStep(look.step, look.action, look.context.of_call(), found.parameters)
    return Ahead(look.context.step_id, look.context.scope, found, call)


def _supposed(turn: Turn, step_id: str, outputs: dict[str, Any]) -> list[StepRecord]:
    """Return the steps as they will be, if the step's end is written down."""
    end = {"state": StepState.SUCCEEDED, "outputs": outputs}
    return [step.model_copy(update=end) if step.id == step_id else step for step in turn.steps]

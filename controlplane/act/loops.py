"""``forEach``: one step becomes a row for each item, and the rows become the step's outcome again.

The items are worked out once, in the transaction that starts the step, and kept with their
rows: a crash never works them out again. Each item is a step of its own to guards, claims,
undo, journal and keys; this file only begins and closes what is around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from controlplane.act.engine import Turn
from controlplane.act.order import is_loop, items_of
from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.kernel.templating import evaluate, render
from controlplane.model.playbook import ForEach, Step
from controlplane.model.records import StepRecord
from controlplane.model.states import StepState, is_final

MAX_ITEMS = 100
"""A playbook that would do something to more targets than this is a mistake."""


def begin(turn: Turn, step: Step, record: StepRecord) -> None:
    """Start a ``forEach``: write its items down, or skip it, or fail it with the reason."""
    assert step.for_each is not None, "only a forEach has items"  # noqa: S101
    scope = turn.scope
    try:
        if step.if_ is not None and not evaluate(step.if_, scope):
            turn.move_step(record, StepState.SKIPPED, f"`{step.if_}` is false")
            return
        items = worked_out(step.for_each, scope)
    except FleetwardError as error:
        record = turn.move_step(record, StepState.RUNNING, quiet=True)
        turn.move_step(record, StepState.FAILED, str(error))
        return
    record = turn.move_step(record, StepState.RUNNING, f"{step.uses} for each of {len(items)} items")
    turn.add_items(record, items)


def close(turn: Turn) -> bool:
    """Close a loop whose items are over; True if there was one."""
    plan = turn.pinned.plan
    running = [step for step in turn.steps if step.state is StepState.RUNNING and is_loop(plan, step)]
    return any(_close(turn, plan.step(loop.id).for_each, loop) for loop in running)


def _close(turn: Turn, for_each: ForEach | None, loop: StepRecord) -> bool:
    assert for_each is not None, "only a forEach has items"  # noqa: S101
    items = items_of(loop, turn.steps)
    broken = [item for item in items if item.state is StepState.FAILED]
    left = [item for item in items if not is_final(item.state)]
    if broken and for_each.on_item_failure == "stop":
        for item in left:
            if item.state is StepState.PENDING:
                turn.move_step(item, StepState.CANCELLED, f"{broken[0].id} failed")
        left = [item for item in left if item.state is not StepState.PENDING]
    if left:
        return False
    outputs = _outputs(items_of(loop, turn.steps))
    if broken:
        why = f"{len(broken)} of {len(items)} items failed: " + "; ".join(
            f"{item.id}: {item.error}" for item in broken[:3]
        )
        turn.move_step(loop, StepState.FAILED, why, outputs=outputs)
    else:
        turn.move_step(loop, StepState.SUCCEEDED, f"all {len(items)} items are done", outputs=outputs)
    return True


def worked_out(for_each: ForEach, scope: Mapping[str, Any]) -> list[Any]:
    """Return the items as plain JSON."""
    written = for_each.items
    found = evaluate(written, scope) if isinstance(written, str) else render(written, scope)
    if not isinstance(found, list | tuple | range | set | frozenset):
        msg = f"forEach: `{written}` is a {type(found).__name__}, not a list"
        raise InvalidInput(msg, hint="end the expression with `| list`")
    if len(found) > MAX_ITEMS:
        msg = f"forEach: {len(found)} items, at most {MAX_ITEMS} are allowed"
        raise InvalidInput(msg)
    ordered = sorted(found, key=str) if isinstance(found, set | frozenset) else list(found)
    try:
        return list(to_jsonable_python(ordered))
    except PydanticSerializationError as error:
        msg = f"forEach: an item is not JSON: {error}"
        raise InvalidInput(msg) from error


def _outputs(items: Sequence[StepRecord]) -> dict[str, Any]:
    """Return what later steps know of a ``forEach``: ``each`` item with its end, and the counts."""
    each = [
        {"item": item.item, "state": item.state.value, "outputs": item.outputs, "error": item.error}
        for item in items
    ]
    done = sum(item.state is StepState.SUCCEEDED for item in items)
    return {"each": each, "succeeded": done, "failed": sum(item.state is StepState.FAILED for item in items)}

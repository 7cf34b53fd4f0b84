"""Which steps of a run are under way, which may start, and what keeps the rest from it.

Pure: from the plan and the rows alone. A step may start when all that it needs is over:
succeeded, skipped, or failed with ``continueOnError``. Any other failure lets nothing new
start; what is under way goes on to its own end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from controlplane.act.plan import RunPlan
from controlplane.model.records import StepRecord
from controlplane.model.states import StepState, is_final

_UNDER_WAY = {StepState.RUNNING, StepState.WAITING}


def is_loop(plan: RunPlan, record: StepRecord) -> bool:
    """Tell whether a record stands for a whole ``forEach``: it calls nothing itself, its items do."""
    return record.item_index is None and record.id in plan.loops


def items_of(record: StepRecord, steps: Iterable[StepRecord]) -> list[StepRecord]:
    """Return the items of a ``forEach``, in their order."""
    return [step for step in steps if step.item_index is not None and step.position == record.position]


def under_way(plan: RunPlan, steps: Iterable[StepRecord]) -> list[StepRecord]:
    """Return what has started and is not over, the ``forEach`` around it left out."""
    return [step for step in steps if step.state in _UNDER_WAY and not is_loop(plan, step)]


def failed(plan: RunPlan, steps: Iterable[StepRecord]) -> StepRecord | None:
    """Return the failed step that makes the run fail, if there is one."""
    for step in steps:
        fails = step.state is StepState.FAILED and step.item_index is None
        if fails and not plan.step(step.id).continue_on_error:
            return step
    return None


def startable(plan: RunPlan, steps: Sequence[StepRecord], now: datetime) -> list[StepRecord]:
    """Return the pending steps and items whose turn it is now, in their order."""
    states = {step.id: step.state for step in steps if step.item_index is None}
    found: list[StepRecord] = []
    for step in steps:
        if step.item_index is None and step.state is StepState.PENDING:
            if _is_due(step, now) and all(_is_met(plan, id_, states[id_]) for id_ in plan.needs[step.id]):
                found.append(step)
        elif step.state is StepState.RUNNING and is_loop(plan, step):
            found += _startable_items(plan, step, items_of(step, steps), now)
    return found


def next_due(steps: Iterable[StepRecord], now: datetime) -> Iterator[datetime]:
    """Yield the times at which those that were held back are looked at again."""
    for step in steps:
        if step.state is StepState.PENDING and step.due_at is not None and step.due_at > now:
            yield step.due_at


def _startable_items(
    plan: RunPlan, loop: StepRecord, items: Sequence[StepRecord], now: datetime
) -> list[StepRecord]:
    for_each = plan.step(loop.id).for_each
    assert for_each is not None, "only a forEach has items"  # noqa: S101
    if for_each.on_item_failure == "stop" and any(item.state is StepState.FAILED for item in items):
        return []
    free = for_each.concurrency - sum(item.state in _UNDER_WAY for item in items)
    ready = [item for item in items if item.state is StepState.PENDING and _is_due(item, now)]
    return ready[: max(0, free)]


def _is_due(step: StepRecord, now: datetime) -> bool:
    return step.due_at is None or step.due_at <= now


def _is_met(plan: RunPlan, step_id: str, state: StepState) -> bool:
    if state is StepState.FAILED:
        return plan.step(step_id).continue_on_error
    return is_final(state) and state is not StepState.CANCELLED

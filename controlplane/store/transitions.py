"""The one function that changes a state, and the ordered rules it goes by.

`move` checks the move, lets each rule refuse it or add to it, writes the row on condition
that the state is still the one it was judged on, and records it: an event always, a line
of the journal for runs and steps, a line of the log for incidents. Nothing else assigns a
state, in code or tests; the tables of allowed moves are `controlplane.model.states`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar, cast

from sqlalchemy import Table, bindparam, func, or_, select

from controlplane.kernel.errors import Conflict
from controlplane.model.records import FaultRecord, Incident, Record, Run, StepRecord
from controlplane.model.states import (
    FaultState,
    IncidentState,
    RunState,
    State,
    StepState,
    check_move,
    is_final,
)
from controlplane.store import tables
from controlplane.store.columns import as_stored
from controlplane.store.transaction import Transaction

R = TypeVar("R", bound=Run | StepRecord | Incident | FaultRecord)

_OPEN_STEPS = (
    select(func.count())
    .select_from(tables.steps)
    .where(
        tables.steps.c.run == bindparam("b_run"),
        or_(*(tables.steps.c.state == state.value for state in StepState if not is_final(state))),
    )
)


@dataclass(slots=True)
class Move:
    """One move under judgement. Rules read it, may raise `Conflict`, and may add to ``values``."""

    tx: Transaction
    record: Any
    new: State
    reason: str
    at: datetime
    values: dict[str, Any]

    def stamp(self, column: str, *, again: bool = False) -> None:
        """Note the time of the move in a column; the first time only, unless ``again``."""
        if again or getattr(self.record, column) is None:
            self.values.setdefault(column, self.at)


def move(
    tx: Transaction,
    record: R,
    new: State,
    reason: str = "",
    at: datetime | None = None,
    *,
    quiet: bool = False,
    **values: Any,
) -> R:
    """Move ``record`` to the state ``new``, set ``values`` with it, and return it as it is then.

    ``quiet`` writes no event and no line: for a step that is called again and again.
    Raises `Conflict` when the move is not allowed, when a rule refuses it, or when the
    record's state has changed since it was read.
    """
    check_move(record.state, new)
    entry = next(entry for kind, entry in _ENTRIES.items() if isinstance(record, kind))
    judged = Move(tx, record, new, reason, at or tx.now, dict(values))
    for rule in entry.rules:
        rule(judged)
    stands = {name: getattr(record, name) for name in entry.key} | {"state": record.state.value}
    if not tx.change(entry.table, stands, {**judged.values, "state": new.value}):
        msg = f"{entry.what} {record.id} is no longer {record.state}"
        raise Conflict(msg)
    if isinstance(record, Run):
        tx.runs.has_moved(record.id, RunState(new))
    if not quiet:
        entry.tell(judged)
    kept = {name: value for name, value in judged.values.items() if name in type(record).model_fields}
    return cast("R", record.model_copy(update={**as_stored(entry.table, kept), "state": new}))


# ── Rules of runs ──────────────────────────────────────────────────────────────────────────────────────────


def success_needs_finished_steps(move: Move) -> None:
    """A run whose steps are not all over can neither be verified nor succeed."""
    if move.new not in {RunState.VERIFYING, RunState.SUCCEEDED}:
        return
    left = move.tx.scalar(_OPEN_STEPS, {"b_run": move.record.id})
    if left:
        msg = f"run {move.record.id} cannot be {move.new}: {left} of its steps are not over"
        raise Conflict(msg)


def run_times(move: Move) -> None:
    """A run starts once, and ends once."""
    if move.new is RunState.RUNNING:
        move.stamp("started_at")
    if is_final(move.new):
        move.stamp("ended_at")


def run_reason(move: Move) -> None:
    """The reason of the latest move is the run's; what it waited for is over."""
    if move.reason:
        move.values.setdefault("reason", move.reason)
    move.values.setdefault("waiting", "")


def ending_leaves_nothing_open(move: Move) -> None:
    """With the end, or when undo begins, no step can still start."""
    if not (is_final(move.new) or move.new is RunState.UNDOING):
        return
    for step in move.tx.steps.list(move.record.id):
        if not is_final(step.state):
            _step_cancelled(move, step)


def _step_cancelled(judged: Move, step: StepRecord) -> None:
    if step.state is StepState.RUNNING:
        judged.tx.steps.end_attempt(step.run, step.id, step.attempt, "interrupted", judged.reason)
    move(judged.tx, step, StepState.CANCELLED, f"the run is {judged.new}", judged.at)


def ending_is_not_due(move: Move) -> None:
    """Nobody looks at an ended run again, and the next of its group need not wait."""
    if not is_final(move.new):
        return
    move.values.update(due_at=None, sent_at=None, lease_owner=None, lease_until=None)
    if move.record.group is not None:
        move.tx.runs.wake_next(move.record.group, move.record.id)


def ending_is_told_to_its_cause(move: Move) -> None:
    """A run that another one's failure started says there how it ended."""
    if not is_final(move.new) or move.record.cause is None:
        return
    message = f"{move.record.name} ({move.record.id}) is {move.new}: {move.reason}"
    move.tx.journal.write(move.record.cause, "run.escalationEnded", message, follower=move.record.id)
    move.tx.emit("run", move.record.cause)


def ending_keeps(move: Move) -> None:
    """What a run did stays, unless it was taken back."""
    if is_final(move.new):
        detail = f"the run is {move.new}"
        move.tx.undo.keep(move.record.id, detail)


def ending_withdraws_questions(move: Move) -> None:
    """Nobody decides for a run that has ended."""
    if is_final(move.new):
        move.tx.approvals.withdraw(move.record.id, f"the run is {move.new}")


# ── Rules of steps ─────────────────────────────────────────────────────────────────────────────────────────


def steps_run_in_running_runs(move: Move) -> None:
    """A step starts only while its run is running."""
    if move.new is not StepState.RUNNING:
        return
    state = move.tx.runs.state(move.record.run)
    if state is not RunState.RUNNING:
        msg = f"step {move.record.id} cannot start: its run is {state}"
        raise Conflict(msg)


def step_times(move: Move) -> None:
    """A step starts once, ends once, and is due only while it waits."""
    if move.new is StepState.RUNNING:
        move.stamp("started_at")
    if is_final(move.new):
        move.stamp("ended_at")
    if move.new is not StepState.WAITING:
        move.values.setdefault("due_at", None)


def step_error(move: Move) -> None:
    """A failed step says why."""
    if move.new is StepState.FAILED:
        move.values.setdefault("error", move.reason)


# ── Rules of incidents and faults ──────────────────────────────────────────────────────────────────────────


def incident_times(move: Move) -> None:
    """An incident notes when it first fired, and when it was last mitigated and resolved."""
    move.stamp("changed_at", again=True)
    match move.new:
        case IncidentState.FIRING:
            move.stamp("fired_at")
            move.values.setdefault("mitigated_at", None)
        case IncidentState.MITIGATED:
            move.stamp("mitigated_at")
        case IncidentState.RESOLVED:
            move.stamp("resolved_at")


def incident_detail(move: Move) -> None:
    """What moved an incident is what it shows."""
    if move.reason:
        move.values.setdefault("detail", move.reason)


def fault_times(move: Move) -> None:
    """A fault notes when it was injected, seen in effect, and seen gone."""
    match move.new:
        case FaultState.INJECTED:
            move.stamp("injected_at")
        case FaultState.VERIFIED:
            move.stamp("verified_at")
        case FaultState.VERIFIED_CLEAR:
            move.stamp("cleared_at")


def fault_detail(move: Move) -> None:
    """What moved a fault is what it shows."""
    if move.reason:
        move.values.setdefault("detail", move.reason)


# ── Telling ────────────────────────────────────────────────────────────────────────────────────────────────


def _tell_run(move: Move) -> None:
    message = move.reason or f"the run is {move.new}"
    move.tx.journal.write(move.record.id, f"run.{move.new}", message)
    move.tx.emit("run", move.record.id)


def _tell_step(move: Move) -> None:
    message = move.reason or f"the step is {move.new}"
    move.tx.journal.write(move.record.run, f"step.{move.new}", message, step=move.record.id)
    move.tx.emit("run", move.record.run)


def _tell_incident(move: Move) -> None:
    line = {"at": move.at, "state": move.new.value, "message": move.reason}
    move.tx.add(tables.incident_log, incident=move.record.id, **line)
    move.tx.emit("incident", move.record.id)


def _tell_fault(move: Move) -> None:
    move.tx.emit("fault", move.record.id)


@dataclass(frozen=True)
class _Entry:
    """What `move` needs to know of one kind of record."""

    what: str
    table: Table
    rules: tuple[Callable[[Move], None], ...]
    tell: Callable[[Move], None]

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The names of what tells its rows apart."""
        return tuple(column.name for column in self.table.primary_key)


_ENTRIES: dict[type[Record], _Entry] = {
    Run: _Entry(
        "run",
        tables.runs,
        (
            success_needs_finished_steps,
            run_times,
            run_reason,
            ending_leaves_nothing_open,
            ending_keeps,
            ending_is_told_to_its_cause,
            ending_withdraws_questions,
            ending_is_not_due,
        ),
        _tell_run,
    ),
    StepRecord: _Entry(
        "step",
        tables.steps,
        (steps_run_in_running_runs, step_times, step_error),
        _tell_step,
    ),
    Incident: _Entry(
        "incident",
        tables.incidents,
        (incident_times, incident_detail),
        _tell_incident,
    ),
    FaultRecord: _Entry("fault", tables.faults, (fault_times, fault_detail), _tell_fault),
}

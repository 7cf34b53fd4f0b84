"""Holding a run still by hand, and letting it go on.

A paused run finishes the step it is in and starts no other one; what it did stands as it is.
It refuses to pause a drill: a fault ends in its time, whoever is thinking.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.kernel.errors import Conflict
from controlplane.model.records import Run
from controlplane.model.states import RunState, is_final
from controlplane.store.transaction import Transaction

_STARTS_STEPS = frozenset({RunState.QUEUED, RunState.RUNNING})


def pause_run(tx: Transaction, run_id: str, *, by: str, reason: str = "") -> Run:
    """Keep a run from starting its next step; one that is paused already stays as it is.

    Raises `NotFound`, and `Conflict` where there is nothing to keep from starting.
    """
    run = tx.runs.get(run_id)
    if run.kind == "drill":
        raise Conflict(f"{run_id} is a drill: its faults end in their time", hint="cancel it instead")
    if is_final(run.state):
        raise Conflict(f"{run_id} has ended: {run.state}")
    if run.state not in _STARTS_STEPS or run.stop is not None:
        what = run.stop_reason if run.stop is not None else f"it is {run.state}"
        raise Conflict(f"{run_id} starts no further step: {what}")
    why = f"paused by {by}" + (f": {reason}" if reason else "")
    if tx.runs.pause(run_id, why):
        tx.journal.write(run_id, "run.paused", why, by=by, reason=reason)
    return tx.runs.get(run_id)


def continue_run(
    tx: Transaction, run_id: str, *, by: str, reason: str = "", wake: Callable[[str], None] | None = None
) -> Run:
    """Let a paused run go on; one that is not paused stays as it is.

    Raises `NotFound`, and `Conflict` when it has ended.
    """
    run = tx.runs.get(run_id)
    if is_final(run.state):
        raise Conflict(f"{run_id} has ended: {run.state}")
    if tx.runs.unpause(run_id):
        why = f"{by} lets it go on" + (f": {reason}" if reason else "")
        tx.journal.write(run_id, "run.continued", why, by=by, reason=reason)
        if wake is not None:
            tx.runs.mark_sent([run_id])
            tx.after_commit(lambda: wake(run_id))
    return tx.runs.get(run_id)

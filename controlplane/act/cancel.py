"""Asking a run to end before its time: cancel, supersede, and what a halt does to drills.

Asking is a mark on the run; the worker that holds it, or the next one, acts on it between
two calls. A cancelled run takes back what it did (unless told not to); a superseded one
finishes its step, keeps what it did and leaves the rest to its successor.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.act.halts import standing_in_way
from controlplane.kernel.errors import Conflict
from controlplane.model.records import Run, StopRequest
from controlplane.model.states import RunState, is_final
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction


def cancel_run(
    tx: Transaction,
    run_id: str,
    *,
    by: str,
    reason: str = "",
    undo: bool = True,
    wake: Callable[[str], None] | None = None,
) -> Run:
    """Ask a run to stop, and to take back what it did if ``undo``; returns it as it is now.

    Asking again changes nothing, also when it is cancelled by now. Raises `NotFound`, and
    `Conflict` when it has ended otherwise. A drill always undoes.
    """
    run = tx.runs.get(run_id)
    if run.state is RunState.CANCELLED:
        return run
    if is_final(run.state):
        msg = f"{run_id} has ended: {run.state}"
        raise Conflict(msg)
    why = f"cancelled by {by}" + (f": {reason}" if reason else "")
    request_stop(tx, run_id, "cancel", why, undo=undo or run.kind == "drill", wake=wake)
    return tx.runs.get(run_id)


def supersede_run(
    tx: Transaction, run_id: str, *, reason: str, wake: Callable[[str], None] | None = None
) -> bool:
    """Ask a run to give way to a wider one; False if it has ended or was asked to stop before."""
    return request_stop(tx, run_id, "supersede", reason, undo=False, wake=wake)


def cancel_halted_drills(tx: Transaction, wake: Callable[[str], None] | None = None) -> list[str]:
    """Cancel the drills that a halt in force covers, and return their runs' ids."""
    halts = tx.halts.in_force()
    if not halts:
        return []
    cancelled = []
    for run in tx.runs.list(RunQuery(kind="drill", active=True)):
        halt = standing_in_way(halts, run)
        if halt is not None and run.stop != "cancel":
            request_stop(tx, run.id, "cancel", f"halted by {halt.by}: {halt.reason}", undo=True, wake=wake)
            cancelled.append(run.id)
    return cancelled


def request_stop(
    tx: Transaction,
    run_id: str,
    stop: StopRequest,
    reason: str,
    *,
    undo: bool,
    wake: Callable[[str], None] | None,
) -> bool:
    """Mark the run, write it into its journal, and wake whoever works after the commit."""
    if not tx.runs.request_stop(run_id, stop, reason, undo=undo):
        return False
    tx.journal.write(run_id, f"run.{stop}Requested", reason, undo=undo)
    if wake is not None:
        tx.runs.mark_sent([run_id])
        tx.after_commit(lambda: wake(run_id))
    return True
